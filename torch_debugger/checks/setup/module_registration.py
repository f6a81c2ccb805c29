"""Layers, weights and buffers that PyTorch does not know as such."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable

from torch_debugger.checks.base import Check, RunState, at_line
from torch_debugger.checks.call_edits import as_buffer, edit_line
from torch_debugger.checks.optimization import call_at
from torch_debugger.records import (
    Edit,
    Finding,
    FreshParameter,
    LedgerFact,
    Place,
    PlainTensor,
    Record,
    StrayModuleFact,
)

_HOLDERS = {"list": "ModuleList", "tuple": "ModuleList", "dict": "ModuleDict"}


class ModuleInPythonList(Check):
    """Layers are kept in a plain Python list, tuple or dict.

    Symptom:
        The model trains, but some layers never learn; `model.parameters()`, `state_dict()`,
        `.to(device)` and `train()`/`eval()` leave them out, and a loaded checkpoint gives other results.
    Evidence:
        forward() calls modules with trainable parameters that `named_modules()` of their owner does
        not reach, and no optimizer holds those parameters.
    Fix:
        Use `nn.ModuleList` instead of a list, `nn.ModuleDict` instead of a dict (its keys are strings).
    Known limits:
        Modules in containers of the script's own making are not traced. A plain list whose parameters
        are handed to an optimizer one by one is not reported. A list of one module is only noted: that is
        also the usual way to keep a teacher out of state_dict().
    """

    id = "TD103"
    name = "module-in-python-list"
    title = "layers in a plain list or dict are not part of the model"
    reads = (StrayModuleFact, LedgerFact)
    explains = ("parameters-not-in-optimizer", "tensor-on-wrong-device", "lr-too-high")

    def __init__(self) -> None:
        self._strays: dict[tuple[str, str], StrayModuleFact] = {}  # (owner, attribute), told last
        self._reported: set[tuple[str, str]] = set()

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        if isinstance(record, StrayModuleFact):
            self._strays[record.owner, record.attribute] = record
        elif isinstance(record, LedgerFact) and record.optimizers:
            # By now every optimizer of a step has told what it holds.
            for key, stray in self._strays.items():
                if key not in self._reported and _is_left_out(stray, state):
                    self._reported.add(key)
                    yield self._judge(stray, state.step)

    def finish(self, state: RunState) -> Iterable[Finding]:
        for stray in self._strays.values():
            if state.optimizers and _is_left_out(stray, state):
                yield self._judge(stray, state.step)

    def _judge(self, record: StrayModuleFact, step: int) -> Finding:
        holder = _HOLDERS[record.container]
        attribute = f"{record.owner}.{record.attribute}"
        line = at_line(record.place)
        kinds = ", ".join(dict.fromkeys(record.kinds))
        return self.finding(
            severity="error" if len(record.kinds) > 1 else "note",
            confidence=0.95 if len(record.kinds) > 1 else 0.5,
            message=f"`{attribute}` is a plain {record.container} of layers ({kinds}), so {record.parameters:,} "
            f"trainable values are not part of the model and no optimizer holds them.",
            why=f"A module finds its children by its attributes; it does not look into a {record.container}. "
            "So parameters(), state_dict() and to(device) leave these layers out, and they keep their "
            "random start values.",
            fix=f"Make `self.{record.attribute}` an `nn.{holder}`{line}.",
            where=Place(record.place.file, record.place.line, attribute, record.place.code),
            steps=(record.step, max(record.step, step)),
            evidence={
                "container": record.container,
                "parameters": float(record.parameters),
                "in_optimizer": float(record.in_optimizer),
                "kinds": kinds,
            },
            edit=_edit(record, holder),
        )


def _is_left_out(stray: StrayModuleFact, state: RunState) -> bool:
    if stray.container not in _HOLDERS or stray.parameters <= 0 or stray.in_optimizer > 0:
        return False
    start = f"{stray.owner}.{stray.attribute}["
    held = (name for one in state.optimizers.values() for name in one.parameters)
    return not any(name.startswith(start) for name in held)


def _edit(record: StrayModuleFact, holder: str) -> Edit | None:
    """`self.x = [...]` complete on one line becomes `self.x = nn.ModuleList([...])`."""
    code = record.place.code or ""
    written = re.fullmatch(rf"(self\.{re.escape(record.attribute)}\s*(?::[^=]+)?=\s*)([\[({{].*[\])}}])", code)
    if written is None:
        return None
    start, value = written.groups()
    namespace = "torch.nn" if "torch.nn." in value else "nn"
    inside = "" if value in ("[]", "()", "{}") else value
    return edit_line(record.place, f"{start}{namespace}.{holder}({inside})")


class ParameterNotRegistered(Check):
    """A module keeps a weight as a plain tensor that needs a gradient, not as an nn.Parameter.

    Symptom:
        The loss falls more slowly than it should: a weight keeps its random start values, and it is missing
        in `parameters()`, `state_dict()` and `.to(device)`.
    Evidence:
        On several looks the attribute, or a plain list or dictionary in it, held the same tensor, which needs a
        gradient and is no parameter of the module; no optimizer holds it and its values never changed.
    Fix:
        `self.w = nn.Parameter(torch.randn(...))`; whatever scales or moves the values goes inside the brackets.
    Known limits:
        A tensor that the script updates by hand, or gives to an optimizer itself, is not reported.
    """

    id = "TD121"
    name = "parameter-not-registered"
    title = "a weight is a plain tensor and not a parameter"
    reads = (PlainTensor,)
    explains = ("lr-too-high", "posterior-collapse")  # what is not trained keeps the loss where it was

    # Identity and values, for any optimizer.
    looks_needed = 2  # after the first

    def __init__(self) -> None:
        self._last: dict[str, PlainTensor] = {}

    def see(self, record: PlainTensor, state: RunState) -> Iterable[Finding]:
        if not record.trained:
            return
        name = f"{record.owner}.{record.attribute}"
        self._last[name] = record
        if record.looks == self.looks_needed and self._is_left_alone(record) and state.optimizers:
            yield self._judge(name, record, min(record.step, state.step or record.step))

    def finish(self, state: RunState) -> Iterable[Finding]:
        for name, record in self._last.items():
            if record.looks > self.looks_needed and self._is_left_alone(record) and state.optimizers:
                yield self._judge(name, record, min(record.step, state.step or record.step))

    def _is_left_alone(self, record: PlainTensor) -> bool:
        in_use = record.reached or not record.is_leaf
        return in_use and not record.held and not record.changed

    def _judge(self, name: str, record: PlainTensor, step: int) -> Finding:
        what = "a plain tensor" if record.is_leaf else "the result of a calculation with a parameter"
        what = "kept in a plain list or dict" if "[" in record.attribute else what
        written = re.fullmatch(r"(self\.\w+\s*=\s*)(.+?),\s*requires_grad=True\)", record.place.code or "")
        return self.finding(
            severity="error",
            confidence=0.95 if record.is_leaf else 0.85,
            message=f"`{name}` ({record.elements:,} values) needs a gradient but is {what}{at_line(record.place)}: "
            f"no optimizer holds it, and it has kept its first values until step {step}.",
            why="A module knows only attributes that are nn.Parameter objects, not what lies in a list. parameters(), "
            "and with it the optimizer, state_dict() and to(device) leave all other tensors out.",
            fix=_fix(record),
            where=dataclasses.replace(record.place, module=name),
            steps=(1, step),
            evidence={"values": float(record.elements), "looks": float(record.looks)},
            edit=edit_line(record.place, f"{written[1]}nn.Parameter({written[2]}))") if written else None,
        )


def _fix(record: PlainTensor) -> str:
    held, _, key = record.attribute.partition("[")
    if key:
        kind = "nn.ParameterDict" if key[0] in "'\"" else "nn.ParameterList"
        return f"Put what `self.{held}` holds{at_line(record.place)} into an `{kind}`."
    return (
        f"Make `self.{held}` an `nn.Parameter`{at_line(record.place)}, with the whole calculation of its start "
        "values inside the brackets."
    )


class BufferNotRegistered(Check):
    """A module keeps a running state (a mean, a memory, counts) in a plain tensor instead of a buffer.

    Symptom:
        The model works until it is saved and loaded: then it gives other results, because the state is back
        at its start values. On another device forward() fails.
    Evidence:
        The attribute is a plain tensor, a method makes it anew from its own last value, forward() reads it
        for something else, its values changed during the run, and the script saves a state_dict().
    Fix:
        `self.register_buffer("mean", torch.zeros(n))` in `__init__`; updates stay as they are.
    Known limits:
        States that a method also resets, or that a recurrent layer computes, belong to a sequence and are not
        reported. In a script that saves nothing it is only noted.
    """

    id = "TD122"
    name = "buffer-not-registered"
    title = "a running state is missing in state_dict()"
    reads = (PlainTensor,)

    def __init__(self) -> None:
        self._last: dict[str, PlainTensor] = {}

    def see(self, record: PlainTensor, state: RunState) -> None:
        if record.update and not record.trained:
            self._last[f"{record.owner}.{record.attribute}"] = record

    def finish(self, state: RunState) -> Iterable[Finding]:
        for name, record in self._last.items():
            if record.changed:
                written = as_buffer(record.place.code or "")
                edit = edit_line(record.place, written.replace(", persistent=False", "")) if written else None
                yield self.finding(
                    severity="warning" if record.saved else "note",
                    confidence=0.85 if record.saved else 0.6,
                    message=f"`{name}` ({record.elements:,} values) is a running state, updated by "
                    f"{call_at(record.update, 'a line of the class')}, that state_dict() leaves out: it is a plain "
                    f"tensor{at_line(record.place)}.",
                    why="state_dict() saves parameters and buffers. A plain tensor is neither: after loading it has "
                    "its start values again, and `.to(device)` leaves it behind.",
                    fix=(
                        f"Write `{edit.after}`{at_line(record.place)}."
                        if edit is not None
                        else f'Register it{at_line(record.place)}: `self.register_buffer("{record.attribute}", ...)`.'
                    ),
                    where=dataclasses.replace(record.place, module=name),
                    steps=(1, record.step),
                    evidence={"values": float(record.elements), "looks": float(record.looks)},
                    edit=edit,
                )


class ParameterCreatedInForward(Check):
    """A layer or parameter is made inside forward(), so every pass has another one, at random.

    Symptom:
        The loss falls a little and stays noisy; two passes over the same input give different results; the
        model behaves differently after it has been saved and loaded.
    Evidence:
        On several sampled steps in a row the loss depended on parameters that no optimizer holds and that were
        other objects each time, and the forward() of a class of the model makes some.
    Fix:
        Make the layer once, in `__init__`, and call it in `forward`.
    Known limits:
        Only classes of the user's own are read. A layer that is made at its first use and kept is not
        reported here: it is the same object afterwards.
    """

    id = "TD120"
    name = "parameter-created-in-forward"
    title = "forward makes new parameters at every pass"
    reads = (FreshParameter,)
    explains = ("parameter-replaced", "parameters-not-in-optimizer", "module-in-python-list", "lr-too-high")

    def see(self, record: FreshParameter, state: RunState) -> Iterable[Finding]:
        return [
            self.finding(
                severity="error",
                confidence=0.95,
                message=f"forward() of {record.owner} makes new parameters at every pass: "
                f"{call_at(record.place, record.maker)} gave {record.elements:,} values that were "
                f"other objects on each of {record.looks} looks.",
                why="What forward() makes is random, used once and thrown away. No optimizer can hold it, so "
                "it never learns, and each pass computes another function.",
                fix=f"Move `{record.maker}(...)`{at_line(record.place)} to `{record.owner}.__init__`, as "
                "`self.<name> = ...`, and only call it in forward.",
                where=record.place,
                steps=(max(1, record.step - record.looks + 1), record.step),
                evidence={
                    "owner": record.owner,
                    "maker": record.maker,
                    "values": float(record.elements),
                    "looks": float(record.looks),
                },
            )
        ]
