"""What all checks of crashes share: the first explainer that recognises the crash speaks."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import ClassVar

from torch_debugger.checks.base import Check, RunState
from torch_debugger.checks.crashes import pasted_tracebacks as autograd
from torch_debugger.checks.crashes.explanation import Blame
from torch_debugger.checks.crashes.pasted_shapes_and_dtypes import DTYPE_TEXTS, LAYER_TEXTS, LOSS_TEXTS, OPERATION_TEXTS
from torch_debugger.records import CrashFact, Finding

Explainer = Callable[[CrashFact], Blame | None]


class CrashCheck(Check):
    """A check that reads a CrashFact and says nothing about crashes it does not know."""

    reads = (CrashFact,)
    explainers: ClassVar[tuple[Explainer, ...]]

    def see(self, record: CrashFact, state: RunState) -> Iterable[Finding]:
        found = ((crash, explain(crash)) for crash in _with_causes(record) for explain in self._asked(crash))
        crash, blame = next((pair for pair in found if pair[1] is not None), (record, None))
        if blame is not None:
            yield self.finding(
                severity="error",
                confidence=blame.confidence,
                message=blame.message,
                why=blame.why,
                fix=blame.fix,
                where=blame.where or crash.place,
                steps=(record.step, record.step),
                evidence=blame.evidence,
                edit=blame.edit,
            )

    def _asked(self, crash: CrashFact) -> tuple[Explainer, ...]:
        """A pasted traceback has no tensors: the text itself must do."""
        return (*self.explainers, *TEXTS.get(self.name, ())) if crash.pasted else self.explainers


def _with_causes(crash: CrashFact) -> Iterable[CrashFact]:
    """The crash, then those it only passes on: raised from them, or by the user's `raise` in a handler."""
    yield crash
    for cause in crash.causes:
        last = crash.frames[-1] if crash.frames else None
        own = last is not None and last.user and last.code.startswith("raise")
        if not (crash.raised_from or own or _reports_on_a_device(crash)):
            return
        yield cause
        crash = cause


def _reports_on_a_device(crash: CrashFact) -> bool:
    """A handler's look at the memory of a GPU that is not there: the error it handled is the one."""
    devices = crash.evidence.devices
    return devices is not None and bool(devices.asked) and "/torch/" in crash.frames[-1].file.replace("\\", "/")


# What the checks of crashes can tell from the text of a traceback alone, by the name of the check.
TextExplainer = Callable[[CrashFact], Blame | None]

TEXTS: dict[str, tuple[TextExplainer, ...]] = {
    "shape-mismatch": (*LAYER_TEXTS, *OPERATION_TEXTS, *LOSS_TEXTS),
    "dtype-mismatch": (*DTYPE_TEXTS, autograd.explain_message_scalar_type),
    "device-mismatch": (autograd.explain_text_devices, autograd.explain_message_devices),
    "out-of-memory": (autograd.explain_text_memory, autograd.explain_message_memory),
    "index-out-of-range": (autograd.explain_text_indices,),
    "loss-without-graph": (autograd.explain_text_no_graph,),
    "backward-twice": (autograd.explain_text_twice,),
    "loss-not-scalar": (autograd.explain_text_not_scalar,),
    "modified-in-place": (autograd.explain_text_in_place,),
    "leaf-modified-in-place": (autograd.explain_text_leaf,),
    "tensor-needs-detach": (autograd.explain_text_detach, autograd.explain_message_numpy),
    "name-does-not-exist": (autograd.explain_message_variable, autograd.explain_message_attribute),
    "cuda-kernel-error": (autograd.explain_message_kernel,),
    "worker-killed": (autograd.explain_message_worker,),
    "ranks-disagree": (autograd.explain_message_collective,),
    "checkpoint-keys": (autograd.explain_text_keys,),
    "checkpoint-shapes": (autograd.explain_text_sizes,),
    "checkpoint-device": (autograd.explain_text_cuda_file,),
    "checkpoint-refused": (autograd.explain_text_refused,),
}
