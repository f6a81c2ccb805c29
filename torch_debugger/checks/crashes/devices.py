"""TD904: tensors on two devices, or a device that is not there."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import replace

from torch_debugger.checks.call_edits import as_buffer, made_on, maker
from torch_debugger.checks.crash_check import CrashCheck
from torch_debugger.checks.crashes.explanation import Blame, line_text, place_text, shape_text, user_frame
from torch_debugger.checks.crashes.layers_and_losses import change_input
from torch_debugger.checks.crashes.user_code import (
    Change,
    argument_of,
    first_statement,
    line_changed,
    nodes_of,
    one_line,
    statement_of,
    with_argument,
    write_instead,
)
from torch_debugger.records import CrashFact, Edit, Place
from torch_debugger.records.crash import DeviceEvidence, MetTensor

# Tensors of two devices in one operation: which one is odd, and where it should have been moved.
_ONE_DEVICE = "An operation takes tensors of one device, and none is moved by itself"


def explain_mixed_devices(crash: CrashFact) -> Blame | None:
    devices = crash.evidence.devices
    if devices is None or not devices.met or crash.kind == "TypeError" or raised_by_the_user(crash):
        return None
    # A tensor without dimensions on the CPU may meet any device.
    odd = [each for each in devices.met if each.tensor.device != devices.accelerator and each.tensor.shape]
    others = [each for each in devices.met if each.tensor.device == devices.accelerator]
    if not odd:
        # x + torch.ones(8): the other tensor is made by the very expression that raised.
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
            evidence={others[0].tensor.name: others[0].tensor.device, "line": line_text(crash.place)},
            confidence=0.95,
            edit=line_changed(use, after),
        )
    for role, explain in _BY_ROLE.items():
        found = [each for each in odd if each.role == role]
        advice = explain(crash, devices, found) if found else None
        if advice is not None:
            return _met(crash, devices, found[:1] if role in ("weights", "state") else found, others, advice)
    return None


Advice = tuple[str, str, Place, Edit | None]  # why, the fix, where it is made, and its edit


def _met(
    crash: CrashFact, devices: DeviceEvidence, odd: list[MetTensor], others: list[MetTensor], advice: Advice
) -> Blame:
    why, fix, where, edit = advice
    what = " and ".join(tensor_words(each, crash) for each in odd)
    other = f"{tensor_words(others[0], crash)} {verb(others[0])}" if others else "the tensor it meets is"
    evidence: dict[str, float | str] = {
        each.tensor.name: f"{each.tensor.dtype} {shape_text(each.tensor.shape)} on {each.tensor.device}"
        for each in (*odd, *others[:2])
    }
    return Blame(
        message=f"{what[0].upper()}{what[1:]} {verb(*odd)} on {odd[0].tensor.device}, but {other} on "
        f"{devices.accelerator} at {place_text(crash.place)}.",
        why=why,
        fix=fix,
        where=replace(where, module=odd[0].module or where.module),
        evidence=evidence | {"line": line_text(crash.place)},
        confidence=0.97 if others else 0.9,
        edit=edit,
    )


def _weights(crash: CrashFact, devices: DeviceEvidence, odd: list[MetTensor]) -> Advice:
    """A layer that stayed behind: in a plain list, set after the move, or with the whole model."""
    model, made, module = devices.model, odd[0].made, odd[0].module or ""
    where = made or line_of_use(crash)
    if "[" in module:
        attribute = module.partition("[")[0].rpartition(".")[2]
        start, equals, value = (made.code or "").partition(" = ")
        whole = equals and value[:1] in "[(" and value[-1:] in "])" and "nn." in value and "\n" not in (made.code or "")
        return (
            f"`self.{attribute}` is a plain list: `.to()` moves only layers that the model knows of.",
            f"Make it an `nn.ModuleList`{written_at(made)}.",
            where,
            line_changed(made, f"{start} = nn.ModuleList({value})") if whole else None,
        )
    if model is not None and devices.accelerator in model.devices:
        device = odd[0].beside_made or device_literal(devices.accelerator)
        edit = moved_value(made, device)
        why = f"The rest of `{model.name}` is on {devices.accelerator}: this layer was set after the move."
        what = f"At {place_text(made)} write `{edit.after}`" if edit else f"Move it too: `.to({device})`"
        return why, f"{what}, or move the model after its last layer is set.", where, edit
    name = model.name if model is not None and model.name else "the model"
    device, where, edit = _moved(crash, devices)
    fix = f"At {place_text(where)} write `{one_line(edit.after)}`" if edit else f"Write `{name}.to({device})`"
    why = f"`{name}` was never moved: all of its parameters are on {odd[0].tensor.device}."
    return why, f"{fix}, before an optimizer is made of its parameters.", where, edit


def _moved(crash: CrashFact, devices: DeviceEvidence) -> tuple[str, Place, Edit | None]:
    """The device for the model, the line that makes the model, and that line with the move."""
    made = devices.model.made if devices.model is not None else Place()
    device = (devices.model.beside_made if devices.model is not None else "") or device_literal(devices.accelerator)
    return device, made or line_of_use(crash), moved_value(made, device)


def _state(crash: CrashFact, devices: DeviceEvidence, odd: list[MetTensor]) -> Advice:
    return (
        "The model was moved after the optimizer had stepped or its state had been loaded; `.to()` moves "
        "the model's tensors and not the optimizer's.",
        f"Call `.to({device_literal(devices.accelerator)})` on the model before the optimizer is made, or "
        "give the optimizer its state again with `optimizer.load_state_dict(optimizer.state_dict())`, which "
        "moves it to the parameters.",
        line_of_use(crash),
        None,
    )


def _buffer(crash: CrashFact, devices: DeviceEvidence, odd: list[MetTensor]) -> Advice:
    """The class weights of a loss: buffers of a module that nobody moved."""
    device, where, edit = _moved(crash, devices)
    if devices.model is None or devices.model.name != odd[0].module:
        where, edit = line_of_use(crash), None
    fix = f"At {place_text(where)} write `{one_line(edit.after)}`." if edit else f"Move it with `.to({device})`."
    return f"A loss that holds a tensor is moved like a model; `{odd[0].module}` was not.", fix, where, edit


def _attribute(crash: CrashFact, devices: DeviceEvidence, odd: list[MetTensor]) -> Advice:
    first = odd[0]
    after = as_buffer(first.made.code or "") if first.module and first.maker == "__init__" else None
    if after is None or len(odd) > 1 or "\n" in (first.made.code or "") or "[" in first.tensor.name:
        return _variable(crash, devices, odd)
    return (
        f"`.to()` moves parameters and buffers. `{first.tensor.name}` is a plain attribute, set at "
        f"{place_text(first.made)}, and stays where it was made.",
        f"At {place_text(first.made)} write `{after}`: a buffer moves with the model.",
        first.made,
        line_changed(first.made, after),
    )


def _variable(crash: CrashFact, devices: DeviceEvidence, odd: list[MetTensor]) -> Advice:
    """Made without a device here, or brought in and never moved."""
    first, device = odd[0], odd[0].beside_use or device_literal(devices.accelerator)
    made = made_on(first.made.code or "", first.beside_made) if first.beside_made else None
    if made is not None and len(odd) == 1 and first.use.file == first.made.file:
        why = f"{_ONE_DEVICE}. `{maker(first.made.code)}` works on the CPU unless it is given a device."
        return why, f"At {place_text(first.made)} write `{made}`.", first.made, line_changed(first.made, made)
    names = [each.tensor.name for each in odd]
    edit = moved_in(first.use, names, device) if all(each.use == first.use for each in odd) else None
    moves = " and ".join(f"`{name}.to({device})`" for name in names)
    fix = f"At {place_text(first.use)} write `{edit.after}`." if edit else f"Move it: {moves}{written_at(first.use)}."
    return f"{_ONE_DEVICE}{origin_words(first)}.", fix, first.use, edit


def _nameless(crash: CrashFact, devices: DeviceEvidence, odd: list[MetTensor]) -> Advice | None:
    """A temporary: only its place in the call is known."""
    layer = crash.layer
    if layer is None or len(odd) > 1:
        return None
    device = odd[0].beside_use or device_literal(devices.accelerator)
    names = [tensor.name for tensor in layer.inputs]
    position = names.index(odd[0].tensor.name) if odd[0].tensor.name in names else 0
    change = change_input(crash, layer, f"{{}}.to({device})", position, odd[0].tensor.name)
    return f"{_ONE_DEVICE}.", f"Move it: {change.text}.", change.where, change.edit


_BY_ROLE: dict[str, Callable[[CrashFact, DeviceEvidence, list[MetTensor]], Advice | None]] = {
    "weights": _weights,
    "state": _state,
    "buffer": _buffer,
    "attribute": _attribute,
    "variable": _variable,
    "entry": _variable,
    "nameless": _nameless,
}


# A device that was asked for and that this machine, or torch, does not have.
_KINDS = "cuda", "mps", "xpu"
_AVAILABLE = {
    "cuda": "torch.cuda.is_available()",
    "mps": "torch.backends.mps.is_available()",
    "xpu": "torch.xpu.is_available()",
}


def explain_absent_device(crash: CrashFact) -> Blame | None:
    devices = crash.evidence.devices
    if devices is None or not devices.asked or raised_by_the_user(crash):
        return None
    asked, place, line = devices.asked, devices.asked_at, place_text(devices.asked_at)
    kind, _, index = asked.partition(":")
    if kind not in _KINDS:
        return _unknown_word(crash, devices)
    same = [device for device in devices.usable if device.partition(":")[0] == kind]
    code, confidence = place.code or "", 0.97
    edit: Edit | None
    if not same:
        choice = f'"{asked}" if {_AVAILABLE[kind]} else "cpu"'
        edit = _chosen(place, asked, kind, choice)
        built = "this torch is built without it" if "not compiled" in crash.message else "none was found"
        report = re.search(rf"torch\.{kind}(?:\.\w+)+\(", code)
        if report is not None and edit is None:
            # torch.cuda.memory_summary() and its like, also where a handler of an error calls them.
            first = crash.causes[0] if crash.causes and not crash.raised_from else None
            message = f"`{report[0]})` at {line} needs a {kind} device, and this machine has no usable one: {built}."
            why, fix = f"`{_AVAILABLE[kind]}` is False here.", f"Ask first: `if {_AVAILABLE[kind]}:` around {line}."
            if "memory" in report[0]:
                fix += " On the CPU `torch_debugger.memory.snapshot()` tells whose memory it is."
            if first is not None:
                why += f" It was called while {first.kind} was handled: that error came first."
                confidence = 0.9
        else:
            message = f"{line} asks for {asked}, but this machine has no usable {kind} device: {built}."
            why = f"`{_AVAILABLE[kind]}` is False here, so tensors and models can only be on the CPU."
            told = f"write `{edit.after}`" if edit else f"choose the device with `{choice}`"
            fix = f"At {line} {told}, which works on both kinds of machine."
    elif index and asked not in same:
        edit = line_changed(place, code.replace(asked, same[-1])) if code.count(asked) == 1 else None
        count = f"{len(same)} CUDA device{'s' if len(same) > 1 else ''}"
        message = f"{line} asks for {asked}, but this process sees {count}: {', '.join(same)}."
        why = "Devices are counted from 0, and among those that CUDA_VISIBLE_DEVICES leaves visible."
        fix = f"At {line} {f'write `{edit.after}`' if edit else f'use `{same[-1]}`'}."
    else:
        return None
    usable = ", ".join(same) or "cpu"
    evidence: dict[str, float | str] = {"asked": asked, "usable": usable, "line": line_text(crash.place)}
    return Blame(message, why, fix, place or crash.place, evidence, confidence, edit)


def _chosen(place: Place, asked: str, kind: str, choice: str) -> Edit | None:
    """The literal with a way out, or `.cuda()` as `.to(...)`."""
    code = place.code or ""
    quoted = re.findall(rf"""["']{re.escape(asked)}["']""", code)
    called = re.findall(rf"\.{kind}\(\d*\)", code)
    if len(quoted) == 1 and not called and _AVAILABLE[kind] not in code:
        return line_changed(place, code.replace(quoted[0], choice))
    if len(called) == 1 and not quoted:
        return line_changed(place, code.replace(called[0], f".to({choice})"))
    return None


def _unknown_word(crash: CrashFact, devices: DeviceEvidence) -> Blame | None:
    """gpu, cuda0, cuda:one: not how torch names a device."""
    numbered = re.fullmatch(r"(cuda|mps|xpu)[^a-z]*?(\d+)", devices.asked)
    meant = f"{numbered[1]}:{numbered[2]}" if numbered else "cuda"
    if not numbered and devices.asked.partition(":")[0].lower() not in ("gpu", "nvidia", "cuda", "gpu0"):
        return None
    code = devices.asked_at.code or ""
    spots = re.findall(rf"""["']{re.escape(devices.asked)}["']""", code)
    there = meant in devices.usable or (meant == "cuda" and "cuda:0" in devices.usable)
    choice = f'"{meant}"' if there else f'"{meant}" if torch.cuda.is_available() else "cpu"'
    edit = line_changed(devices.asked_at, code.replace(spots[0], choice)) if len(spots) == 1 else None
    return Blame(
        message=f"{place_text(devices.asked_at)} asks for the device `{devices.asked}`; torch calls it `{meant}`.",
        why="A device is named by its kind and number: `cpu`, `cuda`, `cuda:1`, `mps`.",
        fix=f"At {place_text(devices.asked_at)} write `{edit.after if edit else choice}`.",
        where=devices.asked_at or crash.place,
        evidence={"asked": devices.asked, "line": line_text(crash.place)},
        confidence=0.95,
        edit=edit,
    )


# A tensor of an accelerator handed to numpy, which reads the host's memory only.
_MESSAGE = re.compile(r"can't convert (\S+) device type tensor to numpy")


def explain_host_copy(crash: CrashFact) -> Blame | None:
    told, frame = _MESSAGE.search(crash.message), user_frame(crash)
    if crash.kind != "TypeError" or told is None or frame is None or raised_by_the_user(crash):
        return None
    devices = crash.evidence.devices
    met = [each for each in devices.met if each.tensor.device == told[1]] if devices is not None else []
    name = met[0].tensor.name if len(met) == 1 and met[0].role != "nameless" else ""
    whole = statement_of(frame, crash.place.module).whole
    tracked = bool(met) and met[0].tensor.requires_grad
    edit = line_changed(whole, _copied(whole, name, tracked))
    fix = f"Copy it to the CPU first: `{name or 'x'}{'.detach().cpu()' if tracked else '.cpu()'}`."
    if edit is not None:
        fix = f"At {place_text(crash.place)} write `{edit.after}`."
    return Blame(
        message=f"{f'`{name}`' if name else 'A tensor'} at {place_text(crash.place)} is on {told[1]}, and "
        "numpy reads only the CPU's memory.",
        why="A numpy array shares memory with its tensor, so the tensor must be on the CPU; torch does not "
        "copy it there by itself.",
        fix=fix,
        evidence={"device": told[1], "line": line_text(crash.place)},
        confidence=0.97 if met else 0.85,
        edit=edit,
    )


def _copied(place: Place, name: str, tracked: bool) -> str | None:
    """out.numpy() -> out.cpu().numpy(); np.array(out) -> np.array(out.cpu())"""
    code = place.code or ""
    nodes = nodes_of(code) if code.isascii() else []
    methods = [node for node in nodes if isinstance(node, ast.Attribute) and node.attr == "numpy"]
    named = [node for node in nodes if isinstance(node, ast.Name | ast.Attribute) and ast.unparse(node) == name]
    spots = [node.value for node in methods] or [node for node in named if isinstance(node.ctx, ast.Load)]
    if len(spots) != 1:
        return None
    already = "detach" in ast.unparse(spots[0])
    return _inserted(code, spots[0], ".detach().cpu()" if tracked and not already else ".cpu()")


class DeviceMismatch(CrashCheck):
    """Tensors of two devices met in one operation, or a device was asked for that is not there.

    Symptom:
        The script stops with "Expected all tensors to be on the same device", "Tensor on device cpu is not
        on the expected device", "can't convert cuda:0 device type tensor to numpy", "Torch not compiled
        with CUDA enabled", or "invalid device ordinal".
    Evidence:
        The devices of the tensors that met: a layer's weights and inputs, the operands of your line, an
        optimizer's state. The odd one is followed by its identity to the frame that brought it in and to
        the statement that made it. For an absent device: the accelerators this machine has, and the line
        that names the device.
    Fix:
        Make the tensor where the others are (`device=x.device`), move it once (`.to(device)`), or register
        it in the module that owns it (`register_buffer`), so that it moves along. The line is filled in.
    Known limits:
        The accelerator is taken for the right device and the CPU for the wrong one. A temporary without a
        name is told by its place in the call.
    """

    id = "TD904"
    name = "device-mismatch"
    title = "tensors on two devices, or a device that is not there"
    explainers = explain_mixed_devices, explain_host_copy, explain_absent_device


# A checkpoint whose tensors were to be put on a device that this machine does not have.
def explain_location(crash: CrashFact) -> Blame | None:
    evidence, frame = crash.evidence.checkpoints, user_frame(crash)
    location = evidence.location if evidence is not None else None
    if location is None or frame is None:
        return None
    kind, _, number = location.location.partition(":")
    if kind == "cpu" or (location.available and not (number.isdigit() and int(number) >= location.available)):
        return None
    last = location.available - 1
    here = f"there is only `{kind}:0` here" if not last else f"there are only `{kind}:0` to `{kind}:{last}` here"
    if not location.available:
        here = f"torch finds no {kind.upper() if kind in _KINDS else kind} device here"
    told = f"The checkpoint's tensors were saved on `{location.location}`"
    why = "A file remembers the device of each tensor, and torch.load puts it back there unless it is told otherwise."
    if location.asked_itself:
        told = f"torch.load was told to put the tensors on `{location.location}`"
        why = "map_location decides where every tensor of the file goes, whatever device it was saved from."
    # map_location in the user's call: replaced where one is written, else added.
    statement, device = statement_of(frame, None), f"{kind}:0" if location.available else "cpu"
    call = statement.call(["torch.load", "load"])
    change = Change(f'pass `map_location="{device}"` to torch.load', None, statement.line)
    if call is not None:
        written = argument_of(call, 1, "map_location")
        changed = written.replaced(f'"{device}"') if written else with_argument(call, f'map_location="{device}"')
        change = write_instead(statement.whole, call, changed, statement.line)
    return Blame(
        message=f"{told}, but {here}.",
        why=why,
        fix=f"Say where the tensors go: {change.text}.",
        where=statement.line,
        evidence={
            "location": location.location,
            "map_location": location.asked or "none given",
            "devices here": f"{location.available} of {kind}",
            "line": line_text(statement.line),
        },
        confidence=0.98,
        edit=change.edit,
    )


class CheckpointDevice(CrashCheck):
    """A checkpoint's tensors were to be put on a device that this machine does not have.

    Symptom:
        torch.load stops with "Attempting to deserialize object on a CUDA device but
        torch.cuda.is_available() is False".
    Evidence:
        The device that a stored tensor names, from the frame that tried to put it there; the map_location
        given, if any; and how many such devices torch finds.
    Fix:
        Pass `map_location="cpu"` to torch.load, or the device of this run; the call is filled in.
    Known limits:
        A model that is moved to an absent device by `.to("cuda")` is not a matter of its checkpoint.
    """

    id = "TD943"
    name = "checkpoint-device"
    title = "a checkpoint's tensors belong on a device that is not here"
    explainers = (explain_location,)


# Lines of the user's with a tensor or a model moved to another device.
_MOVES = "to", "cuda", "cpu"


def moved_in(place: Place, names: list[str], device: str) -> Edit | None:
    """loss = criterion(out, y) -> loss = criterion(out, y.to(device)), where each name stands there once."""
    code = place.code or ""
    for name in names:
        # Where an expression of this name is handed on as it is; not the x of x.shape, nor what is assigned.
        nodes = nodes_of(code) if code.isascii() else []
        bases = {id(node.value) for node in nodes if isinstance(node, ast.Attribute)}
        stored = [node for node in nodes if isinstance(getattr(node, "ctx", None), ast.Store)]
        written = {id(part) for node in stored for part in ast.walk(node)}
        spots = [
            node
            for node in nodes
            if isinstance(node, ast.Name | ast.Attribute | ast.Subscript)
            and ast.unparse(node) == name
            and id(node) not in bases | written
        ]
        if len(spots) != 1:
            return None
        code = _inserted(code, spots[0], f".to({device})")
    return line_changed(place, code)


def moved_value(place: Place, device: str) -> Edit | None:
    """net = Net() -> net = Net().to(device)"""
    code = place.code or ""
    statement = first_statement(code)
    value = statement.value if isinstance(statement, ast.Assign) else None
    if not isinstance(value, ast.Call) or (isinstance(value.func, ast.Attribute) and value.func.attr in _MOVES):
        return None
    return line_changed(place, _inserted(code, value, f".to({device})"))


def _inserted(code: str, node: ast.expr, text: str) -> str:
    """The code with a text right behind an expression."""
    lines = code.split("\n")
    row, column = (node.end_lineno or 1) - 1, node.end_col_offset or 0
    lines[row] = lines[row][:column] + text + lines[row][column:]
    return "\n".join(lines)


# How findings about devices speak of tensors, devices and lines.
def raised_by_the_user(crash: CrashFact) -> bool:
    """Whether the innermost line is a raise or assert of the user's own."""
    last = crash.frames[-1] if crash.frames else None
    return last is None or (last.user and last.code.startswith(("raise", "assert")))


def tensor_words(each: MetTensor, crash: CrashFact) -> str:
    """the weights of `net.fc`, `labels`, the input of `criterion`"""
    name = each.tensor.name
    if each.role == "weights":
        return f"the weights of `{each.module}`" if each.module else "the parameter"
    if each.role == "buffer":
        return f"the `{name}` of `{each.module}`"
    if each.role == "state":
        return f"the optimizer's `{name}`"
    if each.role != "nameless":
        return f"`{name}`"
    taker = crash.layer.path if crash.layer is not None else None
    return f"the {name} of `{taker}`" if taker else f"the {name} it meets"


def verb(*tensors: MetTensor) -> str:
    return "are" if len(tensors) > 1 or (tensors[0].role == "weights" and tensors[0].module) else "is"


def origin_words(each: MetTensor) -> str:
    """; `y` comes from `for x, y in loader` at train.py:8"""
    if not each.made.file:
        return ""
    code = (each.made.code or "").split("\n")[0].rstrip(":")
    return f"; `{each.tensor.name}` comes from `{code}` at {place_text(each.made)}"


def device_literal(device: str) -> str:
    """The first device of its kind as one writes it: "cuda" """
    return f'"{device.removesuffix(":0")}"'


def written_at(place: Place) -> str:
    return f" at {place_text(place)}" if place.file else ""


def line_of_use(crash: CrashFact) -> Place:
    frame = user_frame(crash)
    return statement_of(frame, crash.place.module).line if frame is not None else crash.place
