"""The sentences of a rehearsal: what was rehearsed, where its peak is, whether it fits."""

from __future__ import annotations

from collections.abc import Iterator

from torch_debugger.records import StepRehearsal
from torch_debugger.records.rehearsal import CONTEXT_BYTES
from torch_debugger.records.units import bytes_text
from torch_debugger.report.printable import one_line
from torch_debugger.report.source import shown_path

_ORDER = (
    "parameters", "buffers", "weight copies", "gradients", "optimizer state", "activations", "inputs",
    "temporaries", "workspace",
)  # fmt: skip
_MEANINGS = {
    "weight copies": "for autocast",
    "activations": "for backward",
    "temporaries": "within the step",
    "workspace": "a guess",
}


def subject(result: StepRehearsal) -> str:
    """A training step of net (4,170 parameters), batch of 64, AdamW, bf16 autocast."""
    batch = f"batch of {result.batch:,}" if result.batch else "the batch as it is"
    more = f", {result.accumulate} backwards a step" if result.accumulate > 1 else ""
    precision = f", {result.dtype}" if result.dtype else ""
    optimizer = result.optimizer or "no optimizer"
    return one_line(
        f"A step of {result.model} ({result.parameters:,} parameters), {batch}, {optimizer}{precision}{more}"
    )


def peak_sentence(result: StepRehearsal, folder: str | None = None) -> str:
    """Peak 5.91 GB, in the backward pass of blocks.13 (net.py:38)."""
    place = result.place
    phase = {
        "forward": "the forward pass",
        "backward": "the backward pass",
        "optimizer step": "the optimizer's step",
    }
    at = f", in {phase[result.phase]}" if result.phase in phase else ""
    module = f" of {place.module}" if place.module and result.phase != "optimizer step" else ""
    line = f" ({shown_path(place.file, folder)}:{place.line})" if place.file else ""
    return one_line(f"Peak {bytes_text(result.peak_bytes)}{at}{module}{line}.")


def parts(result: StepRehearsal) -> Iterator[tuple[str, str, int, float]]:
    """Each category with its meaning, its bytes and its share of the peak."""
    known = [name for name in _ORDER if result.by_category.get(name)]
    others = [name for name in result.by_category if name not in _ORDER]
    for name in [*known, *others]:
        size = result.by_category[name]
        yield name, _MEANINGS.get(name, ""), size, size / max(result.peak_bytes, 1)


def need_sentence(result: StepRehearsal) -> str:
    return (
        f"With what torch keeps in reserve that is {bytes_text(result.reserved_bytes)}, and CUDA itself takes "
        f"about {bytes_text(CONTEXT_BYTES)}."
    )


def fit_sentence(result: StepRehearsal) -> str:
    """Empty where no GPU was named."""
    if not result.gpu_bytes:
        return ""
    has = one_line(f"{result.gpu}") + ("" if _is_size(result.gpu) else f" ({bytes_text(result.gpu_bytes)})")
    if result.fits:
        return f"It fits into {has}.{_largest(result)}"
    return f"It does not fit into {has}: {bytes_text(result.needed_bytes)} are needed.{_largest(result)}"


def _largest(result: StepRehearsal) -> str:
    if result.no_largest_batch:
        return f" The largest batch that fits is not known: {_lower(result.no_largest_batch)}"
    if result.largest_batch == 0:
        return " Not even a batch of 1 fits."
    guess = " about" if result.on_real_data else ""
    return f" The largest batch that fits is{guess} {result.largest_batch:,}." if result.largest_batch else ""


def notes(result: StepRehearsal) -> list[str]:
    found = []
    if result.on_real_data:
        found.append(
            "The step needs numbers, not shapes alone: it was made twice on the CPU, in a process of its own."
        )
    if not result.optimizer:
        found.append("No optimizer was rehearsed: gradients are counted, an optimizer's state is not.")
    if result.others:
        several = " and ".join(f"`{name}`" for name in result.others)
        found.append(f"The script trains {several} as well: what that takes is not counted.")
    forward = result.forward
    if forward is not None and forward.outcome in ("failed", "timeout"):
        needs_numbers = forward.error.startswith(("DataDependent", "DynamicOutput"))
        why = (
            "the forward needs numbers, not shapes alone"
            if needs_numbers
            else forward.error or "it did not end"
        )
        found.append(f"Device bugs were not looked for: {_lower(why)}")
    return [one_line(f"{each.rstrip('.')}.") for each in found]


def device_sentence(result: StepRehearsal) -> str:
    """Empty where the forward was not rehearsed to its end, or has a bug."""
    passed = result.forward is not None and result.forward.outcome == "passed"
    return "The forward pass meets tensors of one device only." if passed else ""


def _is_size(gpu: str) -> bool:
    return gpu[:1].isdigit() and gpu[-1:].isalpha()


def _lower(sentence: str) -> str:
    """As it goes on after a colon; the name of an exception stays as it is."""
    first = sentence.split(":")[0]
    named = " " not in first and first.endswith(("Error", "Exception"))
    return sentence if named else sentence[:1].lower() + sentence[1:]
