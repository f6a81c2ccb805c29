"""Tensors on the CPU that must meet the accelerator's."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

from torch_debugger.checks.base import Check, RunState
from torch_debugger.checks.call_edits import as_buffer, as_module_list, assigned, made_on, maker, names_in, with_device
from torch_debugger.records import Edit, Finding, LocalTensor, Place, Rehearsal


class TensorOnWrongDevice(Check):
    """A tensor stays on the CPU while the model is on the accelerator.

    Symptom:
        The script runs on the CPU, and stops on a GPU with "Expected all tensors to be on the same
        device".
    Evidence:
        The forward pass was rehearsed once, in a process of its own, with the model and the batch on
        a pretended accelerator; nothing was computed. So were, from the first backward on, the lines that the
        script still had ahead of it: its step, the rest of its loop, its evaluation and what follows the
        training, of each long loop a few turns. One line mixed two devices there. The numbers are the shape of
        the tensor that stayed on the CPU and what the rehearsal cost the training.
    Fix:
        Make the tensor where the others are: `torch.randn(n, device=x.device)`, `torch.randn_like(x)`.
        A tensor that belongs to the module goes into `self.register_buffer(...)`, which `.to(device)`
        moves along. A batch is moved at the top of its loop: `x, y = x.to(device), y.to(device)`.
    Known limits:
        Only scripts that choose or name an accelerator are judged, and lines outside of a forward pass only
        where the script moves its model by `.to(device)` or `.cuda()` and calls backward() itself. A batch
        counts as left on the CPU where all that leads to its loader is known not to move it. A forward pass
        that depends on values (`.item()`, boolean masks) ends its rehearsal without a finding, and so does a
        tensor that another branch of the script may move.
    """

    id = "TD104"
    name = "tensor-on-wrong-device"
    title = "a tensor stays on the CPU while the model is on the accelerator"
    reads = (Rehearsal,)

    # Shapes and devices are exact in the rehearsal; what may differ on the real machine is the path taken.
    confidence = 0.95
    confidence_in_a_script = 0.9

    def __init__(self) -> None:
        self._reported: set[tuple[str | None, int | None]] = set()  # files and lines

    def see(self, record: Rehearsal, state: RunState) -> Iterable[Finding]:
        named = state.run is not None and state.run.names_accelerator
        if record.outcome != "mismatch" or not named:
            return
        finding = self._judge_script(record) if record.of_script else self.judge(record)
        # A model's forward is part of the script, and rehearsed with it; what is known of the module differs.
        lines = {(place.file, place.line) for place in (record.origin, finding.where) if place}
        if not lines & self._reported:
            yield finding
        self._reported |= lines

    def _judge_script(self, record: Rehearsal) -> Finding:
        edit, fix = model_fix(record) if record.model_stays else unmoved_fix(record, _reference(record))
        return self.finding(
            severity="error",
            confidence=self.confidence_in_a_script,
            message=model_message(record) if record.model_stays else unmoved_message(record),
            why=_WHY_OF_A_MODEL
            if record.model_stays
            else (
                f"The lines ahead of the script were gone through with the model on {record.device}, where an "
                "operation takes tensors of one device only. On the CPU everything is in one place, so the run "
                "here does not show it."
            ),
            fix=fix,
            where=record.place if record.taken_from else record.origin,
            steps=(record.step, record.step),
            evidence=_evidence(record, record.brought or None),
            edit=edit,
        )

    def judge(self, record: Rehearsal) -> Finding:
        """Of a mismatch, whether or not the script names an accelerator."""
        origin = record.origin or record.place
        odd = _odd_name(record)
        edit, fix = _remedy(record, odd)
        return self.finding(
            severity="error",
            confidence=self.confidence,
            message=_message(record, odd),
            why=f"The model and the batch are on {record.device} there, and an operation takes tensors of one "
            "device only. On the CPU everything is in one place, so the run here does not show it.",
            fix=fix,
            where=Place(origin.file, origin.line, record.module, origin.code),
            steps=(record.step, record.step),
            evidence=_evidence(record, odd),
            edit=edit,
        )


_WHY_OF_A_MODEL = (
    "No line of the script moves the model, and an operation takes tensors of one device only. On the CPU "
    "everything is in one place, so the run here does not show it."
)


def _message(record: Rehearsal, odd: str | None) -> str:
    inside = f" in `{record.module}`" if record.module else ""
    what = f"`{odd}`" if odd else "a tensor"
    made = maker(record.origin.code)
    by = f" by `{made}`" if made else ""
    if record.origin and record.origin.line != record.place.line:
        by += f" at {_line(record.origin)}"
    return (
        f"{_line(record.place)}{inside} mixes {record.device} and cpu: {what} is made on the CPU{by}. "
        f"On a GPU this line raises an error."
    )


def _line(place: Place) -> str:
    return f"{os.path.basename(place.file or '?')}:{place.line}"


def _evidence(record: Rehearsal, odd: str | None) -> dict[str, float | str]:
    named = [tensor for tensor in record.tensors if tensor.name == odd]
    return {
        "devices": " and ".join(record.devices),
        **({"shape": str(named[0].shape)} if named else {}),
        "rehearsal_cost_s": record.cost_s,
    }


def _odd_name(record: Rehearsal) -> str | None:
    """The name of the tensor that stayed behind: what its line assigns, or the frame's only CPU tensor."""
    left = [tensor.name for tensor in record.tensors if _stays(tensor)]
    made = assigned(record.origin.code)
    if made in left or not left:
        return made
    if made and left[0].startswith(f"{made}["):  # a layer that a plain list holds
        return left[0]
    return left[0] if len(left) == 1 else None


def _stays(tensor: LocalTensor) -> bool:
    return tensor.device == "cpu" and bool(tensor.shape)  # without dimensions it may meet any device


def _remedy(record: Rehearsal, odd: str | None) -> tuple[Edit | None, str]:
    """The edit, where the line is simple enough to write it, and the same in words."""
    code = record.origin.code or ""
    after = _changed(record, code, odd)
    where = _line(record.origin or record.place)
    if after is None or record.origin.file is None or record.origin.line is None:
        return None, (
            f"Give the tensor made at {where} the device of the tensors it meets: `device=x.device`, or "
            "`device=next(self.parameters()).device` in a module."
        )
    edit = Edit(record.origin.file, record.origin.line, code, after)
    if _in_plain_list(odd):
        rule = "what a plain list or dictionary holds does not move with the model"
        return edit, f"At {where} write `{after}`: {rule}."
    if "." in (odd or ""):
        return edit, f"At {where} write `{after}`: a buffer moves with the model."
    return edit, f"At {where} write `{after}`."


def _changed(record: Rehearsal, code: str, odd: str | None) -> str | None:
    if _in_plain_list(odd):
        return as_module_list(code)
    return as_buffer(code) if "." in (odd or "") else with_device(code, _reference(record))


def _in_plain_list(odd: str | None) -> bool:
    return "[" in (odd or "")


def _reference(record: Rehearsal) -> str | None:
    """A tensor that is on the accelerator and known where the odd one is made; one in that line comes first."""
    known = {tensor.name for tensor in record.tensors}
    here = record.origin.line == record.place.line or assigned(record.origin.code) in known
    if record.origin.file != record.place.file or not here:
        return None
    names = [tensor.name for tensor in record.tensors if tensor.device != "cpu" and "." not in tensor.name]
    used = names_in(record.origin.code)
    return min(names, key=lambda name: name not in used, default=None)


# A tensor that the script's own lines leave on the CPU: what brings it there, and the line that moves it.
def unmoved_message(record: Rehearsal) -> str:
    where = _line(record.place)
    name = record.brought or assigned(record.origin.code)
    what = f"`{name}`" if name else "a tensor"
    if record.taken_from:
        source = f"{what} comes from `{record.taken_from}` on the CPU and is not moved"
    else:
        made = maker(record.origin.code)
        source = f"{what} is made on the CPU" + (f" by `{made}`" if made else "")
        if record.origin.line != record.place.line:
            source += f" at {_line(record.origin)}"
    mixed = f"{where} mixes {record.device} and cpu"
    return f"{mixed}: {source}, while {_other(record)}. On a GPU this line raises an error."


def _other(record: Rehearsal) -> str:
    tensor, _, attribute = record.device_text.rpartition(".")
    if attribute == "device" and any(each.name == tensor for each in record.tensors):
        return f"`{tensor}` is on {record.device}"
    return f"the model is on {f'`{record.device_text}`' if record.device_text else record.device}"


def model_message(record: Rehearsal) -> str:
    moved = f"`{record.place.code}` at {_line(record.place)}"
    return (
        f"`{record.root}`, made at {_line(record.origin)}, stays on the CPU, while {moved} moves what it is "
        "given. On a GPU its first call raises an error."
    )


def model_fix(record: Rehearsal) -> tuple[Edit | None, str]:
    place, code = record.origin, record.origin.code or ""
    is_plain = code.startswith(f"{record.root} = ") and code.endswith(")") and code.count("(") == code.count(")")
    move = ".cuda()" if record.device_text == '"cuda"' else f".to({record.device_text})"
    if not is_plain or "\n" in code or place.file is None or place.line is None:
        return None, f"Write `{record.root} = {record.root}{move}` behind {_line(place)}."
    return Edit(place.file, place.line, code, f"{code}{move}"), f"At {_line(place)} write `{code}{move}`."


def unmoved_fix(record: Rehearsal, reference: str | None) -> tuple[Edit | None, str]:
    device = record.device_text or (f"{reference}.device" if reference else "")
    found = _moved(record, device) if device else None
    if found is None:
        target = device or "the device of the model"
        name = record.brought or assigned(record.origin.code)
        what = f"`{name}`" if name else "the tensor"
        return None, f"Move {what} to `{target}` before {_line(record.place)}, or make it there."
    place, after, added = found
    assert place.file is not None and place.line is not None
    edit = Edit(place.file, place.line, place.code or "", after)
    before = " before the rest of the loop" if record.taken_from and record.moved_kind != "argument" else ""
    return edit, f"At {_line(place)} write `{added}`{before}."


def _moved(record: Rehearsal, device: str) -> tuple[Place, str, str] | None:
    """Where to edit, how the line should read, and what is new of it."""
    place = record.moved_at
    if not place or not place.code or not record.moved:
        made = made_on(record.origin.code or "", device)
        return (record.origin, made, made) if made is not None and record.origin else None
    if record.moved_kind == "argument":
        given = re.compile(rf"(?<![\w.]){re.escape(record.moved[0])}\b(?!\s*=[^=])")
        after = given.sub(f"{record.moved[0]}.to({device})", place.code)
        return (place, after, after) if len(given.findall(place.code)) == 1 else None
    line = _moving(record, device)
    if record.taken_from:
        return place, f"{line}\n{place.code}", line
    made = made_on(place.code, device) if len(record.moved) == 1 and place.line == record.origin.line else None
    if made is not None:
        return place, made, made
    if place.code.count("(") != place.code.count(")"):  # the first line of several
        return None
    return place, f"{place.code}\n{line}", line


def _moving(record: Rehearsal, device: str) -> str:
    names = record.moved
    if len(names) == 1 and record.moved_kind == "dict":
        return f"{names[0]} = {{key: each.to({device}) for key, each in {names[0]}.items()}}"
    if len(names) == 1 and record.moved_kind == "list":
        return f"{names[0]} = [each.to({device}) for each in {names[0]}]"
    return f"{', '.join(names)} = {', '.join(f'{name}.to({device})' for name in names)}"
