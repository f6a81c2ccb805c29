"""TD900: the honest general form, for a crash that no other check knows."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from torch_debugger.checks.base import Check, RunState
from torch_debugger.records import (
    CrashFact,
    CrashFrame,
    Edit,
    Finding,
    LayerFact,
    LocalTensor,
    Place,
    Record,
)

_OURS = "torch_debugger.runner.anomalies.AnomalyError"


class UnexplainedCrash(Check):
    """The script stopped with an exception whose cause no check recognised.

    Symptom:
        An exception that no check of this catalog knows, or one whose frames and tensors did not
        confirm the cause that its message suggests.
    Evidence:
        The innermost line of your own code, the module it belongs to, and the tensors and values that
        line had in reach. No cause is guessed.
    Fix:
        None is offered. Read the line with the shapes and values beside it; the whole traceback follows.
    Known limits:
        Only what the frames of the traceback hold is shown. Objects are named by their class and never
        asked to print themselves.
    """

    id = "TD900"
    name = "unexplained-crash"
    title = "a crash that no check recognises"
    reads = (CrashFact,)
    last_resort = True

    tensors_shown = 8
    values_shown = 6

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        assert isinstance(record, CrashFact)
        if record.qualified == _OURS:
            return  # its text is the explanation
        # Of a compiled call that fails without the compiler too: that failure.
        compiled = record.evidence.processes.compiled if record.evidence.processes is not None else None
        crash = record.causes[0] if compiled is not None and compiled.eager == "fails" and record.causes else record
        frame = user_frame(crash)
        line = next((line.strip() for line in crash.message.splitlines() if line.strip()), "")
        told = line if len(line) <= 300 else f"{line[:300]} ..."
        compiler = f" (torch.compile turned it into {record.kind})" if crash is not record else ""
        yield self.finding(
            severity="error",
            confidence=1.0,
            message=f"The script stopped with {crash.kind}{f': {told}' if told else ''}{compiler}",
            why=_why(crash),
            fix=_advice(crash, frame),
            where=crash.place,
            steps=(record.step, record.step),
            evidence=self._in_reach(crash, frame),
        )

    def _in_reach(self, crash: CrashFact, frame: CrashFrame | None) -> dict[str, float | str]:
        seen: dict[str, float | str] = {"line": line_text(crash.place)} if crash.place.file else {}
        if crash.layer is not None:
            seen["layer"] = f"{crash.layer.path or ''} ({crash.layer.kind})".strip()
        if frame is None:
            return seen
        nearest = sorted(frame.tensors, key=lambda tensor: tensor.name.split("[")[0] not in frame.code)
        for tensor in nearest[: self.tensors_shown]:
            spread = f", values {tensor.lowest} to {tensor.highest}" if tensor.lowest is not None else ""
            seen[tensor.name] = f"{tensor.dtype} {shape_text(tensor.shape)} on {tensor.device}{spread}"
        values = [value for value in frame.values if value.text or value.size is not None]
        for value in values[: self.values_shown]:
            size = f" of {value.size}" if value.size is not None else ""
            seen[value.name] = f"{value.text} ({value.kind})" if value.text else f"{value.kind}{size}"
        return seen


def _why(crash: CrashFact) -> str:
    entry = crash.evidence.entry
    if crash.pasted and not crash.frames:
        return "No check knows this message by itself, so no cause is claimed."
    if entry is None:
        basis = "the evidence is what was in reach"
        if crash.pasted:
            basis = "from the text alone the shapes, dtypes and values that met are not known"
        return f"No check recognised the cause, so none is claimed; {basis}."
    held = f": it has {entry.keys}" if entry.keys else ""
    return f"`{entry.container}` ({entry.kind} of {entry.size}) does not hold {entry.key}{held}."


def _advice(crash: CrashFact, frame: CrashFrame | None) -> str:
    if crash.pasted and not crash.frames:
        return (
            "Paste the whole traceback, from `Traceback (most recent call last):` to the exception, or run the "
            "script under `torch-debugger run`: its lines and tensors say more than the message."
        )
    if frame is None:
        return "Read the traceback: none of its lines is in your own files."
    if crash.pasted:
        return f"Look at `{frame.failing or frame.code}`; `torch-debugger run` on the script shows what met there."
    entry = crash.evidence.entry
    if entry is not None and entry.near:
        return (
            f"`{frame.failing or frame.code}` asks for {entry.key}, and `{entry.container}` has {entry.near}: "
            "make the two the same."
        )
    return f"Read `{frame.failing or frame.code}` with the values above; the traceback is complete."


# What an explainer found: the parts of a finding that do not depend on the check.
@dataclass(frozen=True, slots=True)
class Blame:
    message: str
    why: str
    fix: str
    where: Place | None = None  # the line that crashed, unless it is another
    evidence: dict[str, float | str] = field(default_factory=dict)
    confidence: float = 0.97  # of what the frames confirm
    edit: Edit | None = None


def shape_text(shape: Sequence[int]) -> str:
    return f"[{', '.join(str(size) for size in shape)}]"


def product_text(sizes: Sequence[int]) -> str:
    """6 x 24 x 24"""
    return " x ".join(str(size) for size in sizes)


def place_text(place: Place) -> str:
    """net.py:14"""
    return f"{os.path.basename(place.file)}:{place.line}" if place.file else "an unknown line"


def line_text(place: Place) -> str:
    """net.py:14: self.fc1 = nn.Linear(100, 10)"""
    return f"{place_text(place)}: {place.code}" if place.code else place_text(place)


def layer_name(layer: LayerFact) -> str:
    return f"`{layer.path}`" if layer.path else f"the {layer.kind} layer"


def shape_evidence(layer: LayerFact, expected: float | str) -> dict[str, float | str]:
    """What came in, what was wanted, and the lines of the layer."""
    return layer_evidence(layer, input=shape_text(layer.inputs[0].shape), expected=expected)


def target_place(layer: LayerFact) -> Place:
    """The line to edit: the constructor where it is known, else the call."""
    return layer.place if layer.place.file else layer.call


def layer_evidence(layer: LayerFact, **numbers: float | str) -> dict[str, float | str]:
    evidence: dict[str, float | str] = dict(numbers)
    if layer.place.file:
        evidence["constructor"] = line_text(layer.place)
    if layer.call.file:
        evidence["call"] = line_text(layer.call)
    return evidence


def tensor_evidence(crash: CrashFact, *tensors: LocalTensor) -> dict[str, float | str]:
    shapes: dict[str, float | str] = {tensor.name: shape_text(tensor.shape) for tensor in tensors}
    return shapes | {"line": line_text(crash.place)}


def user_frame(crash: CrashFact) -> CrashFrame | None:
    """The innermost frame of the user's."""
    return next((frame for frame in reversed(crash.frames) if frame.user), None)


def ended_in_torch(crash: CrashFact) -> bool:
    """Whether nothing but torch lies between the user's line and the error."""
    for frame in reversed(crash.frames):
        if frame.user:
            return True
        if f"{os.sep}torch{os.sep}" not in frame.file:
            return False
    return False


def first_of(explanations: Iterable[Blame | None]) -> Blame | None:
    return next((blame for blame in explanations if blame is not None), None)


# Small matters of English that several explainers share.
_NAMES = {"ndarray": "numpy array", "numpy.ndarray": "numpy array", "NoneType": "None"}


def a_kind(kind: str) -> str:
    """an int, a numpy array, None"""
    name = _NAMES.get(kind, kind)
    if name == "None":
        return name
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"


def as_sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def listed(names: tuple[str, ...] | list[str]) -> str:
    """`x`, `y` and `mask`"""
    told = [f"`{name}`" for name in names]
    return " and ".join([", ".join(told[:-1]), told[-1]] if len(told) > 1 else told)
