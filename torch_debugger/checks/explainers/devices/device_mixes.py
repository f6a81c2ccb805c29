"""Tensors of two devices in one operation: which one is odd, and where it should have been moved."""

from __future__ import annotations

from dataclasses import replace

from torch_debugger.checks.explainers.blame import Blame, first_of, line_text, place_text, shape_text
from torch_debugger.checks.explainers.calls import one_line
from torch_debugger.checks.explainers.devices.device_edits import line_edit, moved_in, moved_value
from torch_debugger.checks.explainers.devices.device_words import (
    device_literal,
    line_of_use,
    origin_words,
    raised_by_the_user,
    tensor_words,
    verb,
    written_at,
)
from torch_debugger.checks.explainers.entries import change_input
from torch_debugger.checks.factory_line import as_buffer, made_on, maker
from torch_debugger.records import CrashFact, Edit, Place
from torch_debugger.records.evidence import DeviceEvidence
from torch_debugger.records.evidence.devices import MetTensor

_ONE_DEVICE = "An operation takes tensors of one device, and none is moved by itself"


def explain_mixed_devices(crash: CrashFact) -> Blame | None:
    held = crash.evidence.devices
    if held is None or not held.met or crash.kind == "TypeError" or raised_by_the_user(crash):
        return None
    # A tensor without dimensions on the CPU may meet any device.
    odd = [each for each in held.met if each.tensor.device != held.accelerator and each.tensor.shape]
    others = [each for each in held.met if each.tensor.device == held.accelerator]
    if not odd:
        return _made_in_the_line(crash, others)
    roles = {role: [each for each in odd if each.role == role] for role in _BY_ROLE}
    return first_of(_BY_ROLE[role](crash, held, found, others) for role, found in roles.items() if found)


def _message(crash: CrashFact, odd: list[MetTensor], others: list[MetTensor], accelerator: str) -> str:
    what = " and ".join(tensor_words(each, crash) for each in odd)
    other = f"{tensor_words(others[0], crash)} {verb(others[0])}" if others else "the tensor it meets is"
    return (
        f"{what[0].upper()}{what[1:]} {verb(*odd)} on {odd[0].tensor.device}, but {other} on {accelerator} "
        f"at {place_text(crash.place)}."
    )


def _blame(
    crash: CrashFact,
    held: DeviceEvidence,
    odd: list[MetTensor],
    others: list[MetTensor],
    *,
    why: str,
    fix: str,
    where: Place,
    edit: Edit | None = None,
) -> Blame:
    told: dict[str, float | str] = {
        each.tensor.name: f"{each.tensor.dtype} {shape_text(each.tensor.shape)} on {each.tensor.device}"
        for each in (*odd, *others[:2])
    }
    return Blame(
        message=_message(crash, odd, others, held.accelerator),
        why=why,
        fix=fix,
        where=replace(where, module=odd[0].module or where.module),
        evidence=told | {"line": line_text(crash.place)},
        confidence=0.97 if others else 0.9,
        edit=edit,
    )


def _weights(crash: CrashFact, held: DeviceEvidence, odd: list[MetTensor], others: list[MetTensor]) -> Blame:
    """A layer that stayed behind: in a plain list, set after the move, or with the whole model."""
    odd, model = odd[:1], held.model
    device = odd[0].beside_made or device_literal(held.accelerator)
    if "[" in (odd[0].module or ""):
        attribute = (odd[0].module or "").partition("[")[0].rpartition(".")[2]
        why = f"`self.{attribute}` is a plain list: `.to()` moves only layers that the model knows of."
        fix = f"Make it an `nn.ModuleList`{written_at(odd[0].made)}."
        edit = _module_list(odd[0].made)
        where = odd[0].made or line_of_use(crash)
        return _blame(crash, held, odd, others, why=why, fix=fix, where=where, edit=edit)
    if model is not None and held.accelerator in model.devices:
        made = odd[0].made
        edit = moved_value(made, device)
        why = f"The rest of `{model.name}` is on {held.accelerator}: this layer was set after the move."
        what = f"At {place_text(made)} write `{edit.after}`" if edit else f"Move it too: `.to({device})`"
        fix = f"{what}, or move the model after its last layer is set."
        return _blame(crash, held, odd, others, why=why, fix=fix, where=made or line_of_use(crash), edit=edit)
    return _whole_model(crash, held, odd, others)


def _whole_model(
    crash: CrashFact, held: DeviceEvidence, odd: list[MetTensor], others: list[MetTensor]
) -> Blame:
    model = held.model
    made = model.made if model is not None else Place()
    device = (model.beside_made if model is not None else "") or device_literal(held.accelerator)
    name = model.name if model is not None and model.name else "the model"
    edit = moved_value(made, device)
    fix = f"At {place_text(made)} write `{one_line(edit.after)}`" if edit else f"Write `{name}.to({device})`"
    why = f"`{name}` was never moved: all of its parameters are on {odd[0].tensor.device}."
    fix += ", before an optimizer is made of its parameters."
    return _blame(crash, held, odd, others, why=why, fix=fix, where=made or line_of_use(crash), edit=edit)


def _module_list(made: Place) -> Edit | None:
    code = made.code or ""
    start, equals, value = code.partition(" = ")
    whole = equals and value[:1] in "[(" and value[-1:] in "])" and "\n" not in code
    return line_edit(made, f"{start} = nn.ModuleList({value})") if whole and "nn." in value else None


def _state(crash: CrashFact, held: DeviceEvidence, odd: list[MetTensor], others: list[MetTensor]) -> Blame:
    return _blame(
        crash,
        held,
        odd[:1],
        others,
        why="The model was moved after the optimizer had stepped or its state had been loaded; `.to()` moves "
        "the model's tensors and not the optimizer's.",
        fix=f"Call `.to({device_literal(held.accelerator)})` on the model before the optimizer is made, or "
        "give the optimizer its state again with `optimizer.load_state_dict(optimizer.state_dict())`, which "
        "moves it to the parameters.",
        where=line_of_use(crash),
    )


def _buffer(crash: CrashFact, held: DeviceEvidence, odd: list[MetTensor], others: list[MetTensor]) -> Blame:
    """The class weights of a loss: buffers of a module that nobody moved."""
    model = held.model
    made = model.made if model is not None and model.name == odd[0].module else Place()
    device = (model.beside_made if model is not None else "") or device_literal(held.accelerator)
    edit = moved_value(made, device)
    fix = f"At {place_text(made)} write `{one_line(edit.after)}`." if edit else f"Move it with `.to({device})`."
    why = f"A loss that holds a tensor is moved like a model; `{odd[0].module}` was not."
    return _blame(crash, held, odd, others, why=why, fix=fix, where=made or line_of_use(crash), edit=edit)


def _attribute(crash: CrashFact, held: DeviceEvidence, odd: list[MetTensor], others: list[MetTensor]) -> Blame:
    first = odd[0]
    after = as_buffer(first.made.code or "") if first.module and first.maker == "__init__" else None
    if after is None or len(odd) > 1 or "\n" in (first.made.code or "") or "[" in first.tensor.name:
        return _variable(crash, held, odd, others)
    return _blame(
        crash,
        held,
        odd,
        others,
        why=f"`.to()` moves parameters and buffers. `{first.tensor.name}` is a plain attribute, set at "
        f"{place_text(first.made)}, and stays where it was made.",
        fix=f"At {place_text(first.made)} write `{after}`: a buffer moves with the model.",
        where=first.made,
        edit=line_edit(first.made, after),
    )


def _variable(crash: CrashFact, held: DeviceEvidence, odd: list[MetTensor], others: list[MetTensor]) -> Blame:
    """Made without a device here, or brought in and never moved."""
    first, device = odd[0], odd[0].beside_use or device_literal(held.accelerator)
    made = made_on(first.made.code or "", first.beside_made) if first.beside_made else None
    if made is not None and len(odd) == 1 and first.use.file == first.made.file:
        why = f"{_ONE_DEVICE}. `{maker(first.made.code)}` works on the CPU unless it is given a device."
        fix = f"At {place_text(first.made)} write `{made}`."
        return _blame(
            crash, held, odd, others, why=why, fix=fix, where=first.made, edit=line_edit(first.made, made)
        )
    names = [each.tensor.name for each in odd]
    edit = moved_in(first.use, names, device) if all(each.use == first.use for each in odd) else None
    moves = " and ".join(f"`{name}.to({device})`" for name in names)
    fix = (
        f"At {place_text(first.use)} write `{edit.after}`."
        if edit
        else f"Move it: {moves}{written_at(first.use)}."
    )
    why = f"{_ONE_DEVICE}{origin_words(first)}."
    return _blame(crash, held, odd, others, why=why, fix=fix, where=first.use, edit=edit)


def _nameless(
    crash: CrashFact, held: DeviceEvidence, odd: list[MetTensor], others: list[MetTensor]
) -> Blame | None:
    """A temporary: only its place in the call is known."""
    device = odd[0].beside_use or device_literal(held.accelerator)
    layer = crash.layer
    if layer is None or len(odd) > 1:
        return None
    names = [tensor.name for tensor in layer.inputs]
    position = names.index(odd[0].tensor.name) if odd[0].tensor.name in names else 0
    change = change_input(crash, layer, f"{{}}.to({device})", position, odd[0].tensor.name)
    fix = f"Move it: {change.text}."
    return _blame(
        crash, held, odd, others, why=f"{_ONE_DEVICE}.", fix=fix, where=change.where, edit=change.edit
    )


def _made_in_the_line(crash: CrashFact, others: list[MetTensor]) -> Blame | None:
    """x + torch.ones(8): the other tensor is made by the very expression that raised."""
    if not others or crash.layer is not None:
        return None
    use = others[0].use
    device = f"{others[0].tensor.name}.device" if others[0].role == "variable" else others[0].beside_use
    frame = next((frame for frame in reversed(crash.frames) if frame.user), None)
    made = maker(frame.failing or frame.code) if frame is not None else None
    after = made_on(use.code or "", device) if device and made else None
    if after is None or made is None:
        return None
    other = tensor_words(others[0], crash)
    return Blame(
        message=f"`{made}` at {place_text(crash.place)} makes its tensor on the CPU, but {other} is on "
        f"{others[0].tensor.device}.",
        why=f"{_ONE_DEVICE}. Torch makes tensors on the CPU unless it is given a device.",
        fix=f"At {place_text(use)} write `{after}`.",
        where=crash.place,
        evidence={others[0].tensor.name: others[0].tensor.device, "line": line_text(crash.place)},
        confidence=0.95,
        edit=line_edit(use, after),
    )


_BY_ROLE = {
    "weights": _weights,
    "state": _state,
    "buffer": _buffer,
    "attribute": _attribute,
    "variable": _variable,
    "entry": _variable,
    "nameless": _nameless,
}
