"""TD714: the garbage collector or the memory cache is emptied by hand in every step."""

from __future__ import annotations

import re

from torch_debugger.checks.line_cost import Advice, LineCost
from torch_debugger.checks.state import RunState
from torch_debugger.checks.step_lines import DearLine, StepSample, without

_CLEANS = re.compile(r"\bgc\.collect\(|^collect\(|\bempty_cache\(|\bmalloc_trim\(")


class MemoryCleanedEachStep(LineCost):
    """`gc.collect()` or `torch.cuda.empty_cache()` runs in every step and takes a large part of the time.

    Symptom:
        Every step takes longer by the same time, whatever the model; the GPU is idle in between.
    Evidence:
        The share of sampled stacks in such a line, and the source around it: the loop that makes the steps, and
        no condition in between.
    Fix:
        Delete the line. Tensors are freed the moment the last variable lets go of them, without the collector,
        and the cache is there so that the next step finds memory without asking the driver.
    Known limits:
        A script that makes reference cycles around large tensors needs a collection now and then; then run it
        once an epoch. While Python collects, no sample can be taken: the share is rather too low.
    """

    id = "TD714"
    name = "memory-cleaned-each-step"
    title = "memory is cleaned by hand in every step"

    def fits(self, sample: StepSample) -> bool:
        return _CLEANS.search(sample.place.code or "") is not None

    def advise(self, line: DearLine, state: RunState) -> Advice:
        edit = without(line)
        collects = "collect(" in (line.place.code or "")
        why = (
            "gc.collect() goes through all objects of the process, hundreds of thousands with torch imported, "
            "and finds only cycles: tensors are freed without it, when the last variable lets go of them."
            if collects
            else "It gives the cached memory back to the driver and waits for the device; the next step has to "
            "ask for the same memory again."
        )
        return Advice(
            what="Cleaning memory in every step",
            why=why,
            fix=("Delete the line" if edit else "Leave the call out") + ", or run it once an epoch.",
            edit=edit,
        )
