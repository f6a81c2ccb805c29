"""Which tensors live where, and the lines that made the odd ones."""

from __future__ import annotations

import ast
import itertools
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from torch_debugger.crashes.expressions import operands_of, parsed, resolve, running_expression
from torch_debugger.crashes.frames import LiveCrash, LiveFrame, describe, is_tensor, statement_place
from torch_debugger.crashes.layers import arguments_of
from torch_debugger.records import LocalTensor, Place
from torch_debugger.records.crash import DeviceEvidence, MetTensor, ModelDevices
from torch_debugger.source.assignments import assignment_of, is_known_before
from torch_debugger.source.objects import is_a, is_one_of
from torch_debugger.source.statements import attribute_place
from torch_debugger.source.syntax import function_at, parameters

_ABOUT_DEVICES = re.compile(r"device|Tensor\) should be the same|to numpy")
_NAMED = re.compile(r"\b(cpu|meta|(?:cuda|mps|xpu|hpu|xla|lazy)(?::\d+)?)\b")


def examine_devices(crash: LiveCrash) -> DeviceEvidence | None:
    """Tensors on two devices, or a device that this machine does not have."""
    text = str(crash.error)
    absent = examine_absent_device(crash, text)
    if absent is not None:
        return absent
    about = isinstance(crash.error, RuntimeError | TypeError) and _ABOUT_DEVICES.search(text)
    # Compilers speak of meta tensors of their own: what the call does without them is among the causes.
    compiled = str(type(crash.error).__module__).startswith("torch._")
    if not about or compiled or "CUDA error" in text:
        return None
    found = meetings(crash)
    accelerator = _accelerator(found, text)
    devices = {str(each.tensor.device) for each in found} | set(_NAMED.findall(text))
    if accelerator is None or (len(devices) < 2 and isinstance(crash.error, RuntimeError)):
        return None
    return DeviceEvidence(
        met=tuple(_met(each, crash, accelerator) for each in found),
        accelerator=str(accelerator),
        model=_model(crash, accelerator),
    )


def _accelerator(found: Sequence[Meeting], text: str) -> torch.device | None:
    """The device the tensors are meant to be on: not the CPU; of two accelerators the more frequent one."""
    on = Counter(each.tensor.device for each in found if each.tensor.device.type != "cpu")
    if on:
        return on.most_common(1)[0][0]
    named = [name for name in _NAMED.findall(text) if name != "cpu"]
    return torch.device(named[0]) if named and found else None


def _met(each: Meeting, crash: LiveCrash, accelerator: torch.device) -> MetTensor:
    known = known_as(each.tensor, crash.frames) if each.role in ("nameless", "variable") else None
    name = known.name if known is not None else each.name
    tensor = describe(name, each.tensor) or LocalTensor(name, (), "", str(each.tensor.device), False)
    if known is None:  # a temporary, or something that a module or an optimizer holds
        path, seen = crash.paths.get(id(each.owner)) if each.owner is not None else None, crash.user_frame
        use = seen.statement if seen is not None else Place()
        beside = device_text(seen, seen.line, accelerator) if seen is not None else ""
        made = layer_setting(crash, path) if each.role == "weights" and path else Place()
        return MetTensor(tensor, each.role, path, use, made, beside_use=beside, beside_made=beside)
    made, maker = made_at(known)
    # only where the tensor is made in the very frame that is still there
    is_here = known.role != "attribute" and made.file == known.seen.file and made.line is not None
    return MetTensor(
        tensor=tensor,
        role=known.role,
        module=crash.paths.get(id(known.owner)),
        use=known.seen.statement,
        made=made,
        maker=maker,
        beside_use=device_text(known.seen, known.seen.line, accelerator),
        beside_made=device_text(known.seen, made.line or 0, accelerator, made.code or "") if is_here else "",
    )


def _model(crash: LiveCrash, accelerator: torch.device) -> ModelDevices | None:
    for seen, inner in zip(crash.frames, crash.frames[1:], strict=False):
        module = inner.module()
        if module is None or not seen.user or inner.user:
            continue
        name = crash.paths.get(id(module), "")
        devices = tuple(sorted({str(parameter.device) for parameter in module.parameters()}))
        made = assignment_of(seen.file, seen.line, name)
        line = made.place.line if made is not None else None
        beside = device_text(seen, line, accelerator) if line is not None else ""
        return ModelDevices(name, devices, made.place if made is not None else Place(), beside)
    return None


# The tensors that met in the operation that failed: a layer's, an optimizer's, or those of the user's line.
_FUNCTIONS = ("functional.py", "_tensor.py")


@dataclass(frozen=True)
class Meeting:
    """One tensor of the operation."""

    name: str  # torch's name for it, or the user's text
    tensor: torch.Tensor
    role: str = "nameless"  # until the user's frames tell more: weights | buffer | state
    owner: nn.Module | None = None


def meetings(crash: LiveCrash) -> list[Meeting]:
    layer = next((module for seen in reversed(crash.frames) if (module := seen.module()) is not None), None)
    if layer is not None and type(layer).__module__.startswith("torch.nn"):
        found = [*_of_layer(layer), *_inputs_of(layer, crash)]
    elif (optimizer := _optimizer(crash)) is not None:
        # parameters with state on another device, and that state
        apart = (
            [Meeting("parameter", parameter, "weights"), Meeting(str(name), value, "state")]
            for parameter, state in optimizer.state.items()
            for name, value in state.items()
            if is_tensor(value) and value.dim() and value.device != parameter.device
        )
        found = next(apart, [])
    else:
        found = list(_of_line(crash))
    unique = {id(each.tensor): each for each in reversed(found)}
    return [each for each in found if unique[id(each.tensor)] is each]


def _of_layer(layer: nn.Module) -> Iterator[Meeting]:
    for role, tensors in (("weights", layer._parameters), ("buffer", layer._buffers)):
        for name, tensor in tensors.items():
            if tensor is not None:
                yield Meeting(name, tensor, role, layer)


def _inputs_of(layer: nn.Module, crash: LiveCrash) -> Iterator[Meeting]:
    """What the layer was called with, under the names of its forward."""
    for name, value in arguments_of(crash.frames, layer).items():
        parts = [(name, value)]
        if is_one_of(value, (tuple, list)):
            parts = [(f"{name}[{place}]", part) for place, part in enumerate(value[:8])]
        yield from (Meeting(part, tensor) for part, tensor in parts if is_tensor(tensor))


def _optimizer(crash: LiveCrash) -> torch.optim.Optimizer | None:
    for seen in reversed(crash.frames):
        first = seen.frame.f_code.co_varnames[:1]
        owner = seen.locals.get(first[0]) if first else None
        if is_a(owner, torch.optim.Optimizer):
            return owner
    return None


def _of_line(crash: LiveCrash) -> Iterator[Meeting]:
    seen = crash.user_frame
    if seen is None:
        return
    named = operands_of(seen, running_expression(seen))
    yield from (Meeting(name, tensor, "variable") for name, tensor in named)
    yield from _handed_to_torch(crash, seen)


def _handed_to_torch(crash: LiveCrash, seen: LiveFrame) -> Iterator[Meeting]:
    """The arguments of the torch function the line called, where that is one of Python's."""
    index = list(crash.frames).index(seen) + 1
    inner = crash.frames[index] if index < len(crash.frames) else None
    if inner is None or not inner.file.endswith(_FUNCTIONS):
        return
    code = inner.frame.f_code
    for name in code.co_varnames[: code.co_argcount]:
        value: Any = inner.locals.get(name)
        if is_tensor(value):
            yield Meeting(name, value)


# A device that was asked for and that this machine does not have, and the statement that names it.

# What torch says -> the kind of device that is meant; an unknown word is the device itself.
_ABSENT = (
    (re.compile(r"Torch not compiled with (CUDA|XPU) enabled"), ""),
    (re.compile(r"Found no NVIDIA driver|No CUDA GPUs are available|driver on your system is too old"), "cuda"),
    (re.compile(r"Cannot get (CUDA) generator without ATen_cuda"), ""),
    (re.compile(r"from the '(MPS)' backend|linked with support for (mps) devices"), ""),
    (re.compile(r"CUDA error: invalid device ordinal|Invalid device id"), "cuda"),
    (re.compile(r"device type at start of device string: (\S+)|Invalid device string: '([^']*)'"), ""),
)  # fmt: skip


def examine_absent_device(crash: LiveCrash, text: str) -> DeviceEvidence | None:
    found, kind = next(((match, word) for form, word in _ABSENT if (match := form.search(text))), (None, ""))
    if found is not None and not kind:
        word = next(group for group in found.groups() if group)
        kind = word.lower() if word.isupper() else word
    if found is None and _misses_cuda(crash, text):
        kind = "cuda"
    elif found is None or not isinstance(crash.error, AssertionError | RuntimeError):
        return None
    requested, place = next(_named(crash, kind), (kind, Place()))
    return DeviceEvidence(asked=requested, asked_at=place, usable=usable_accelerators())


def _misses_cuda(crash: LiveCrash, text: str) -> bool:
    """A function of torch.cuda's that needs a GPU and fails without one in its own way."""
    seen = crash.innermost
    files = [each.file.replace("\\", "/") for each in crash.frames]
    if seen is None or torch.cuda.is_available() or "/torch/" not in files[-1]:
        return False
    lacks = isinstance(crash.error, AttributeError) and "'torch._C' has no attribute '_cuda" in text
    empty = isinstance(crash.error, KeyError) and seen.file.endswith("memory.py")
    return any("/torch/cuda/" in file for file in files) and (lacks or empty or "dummy base class" in text)


def usable_accelerators() -> tuple[str, ...]:
    """The accelerators of this machine, counted without starting any of them."""
    cuda = torch.cuda.device_count() if torch.cuda.is_available() else 0
    mps = ["mps"] if torch.backends.mps.is_available() else []
    return (*(f"cuda:{index}" for index in range(cuda)), *mps)


def _named(crash: LiveCrash, kind: str) -> Iterator[tuple[str, Place]]:
    """Where the user's lines name such a device, from the inside out: a text, `.cuda()`, or a variable."""
    users = crash.user_frames
    for seen in users:
        place = seen.statement
        if (written := _written(place.code or "", kind)) is not None:
            yield written, place
        yield from _by_variable(seen, place, kind)
    if users:
        yield kind, users[0].statement


def _written(code: str, kind: str) -> str | None:
    """cuda:3 where the statement writes that; cuda for a call of .cuda()"""
    texts = re.findall(rf"""["']({re.escape(kind)}(?::\d+)?)["']""", code)
    called = re.findall(rf"\.{re.escape(kind)}\((\d*)\)", code)
    if texts:
        return str(texts[0])
    return (f"{kind}:{called[0]}" if called[0] else kind) if called else None


def _by_variable(seen: LiveFrame, place: Place, kind: str) -> Iterator[tuple[str, Place]]:
    """The assignment of a variable of this statement that holds such a device."""
    for node in ast.walk(parsed(place.code or "")):
        value = resolve(node, seen) if isinstance(node, ast.Name | ast.Attribute) else None
        if is_one_of(value, (torch.device, str)) and f"{value}:".startswith(f"{kind}:"):
            made = assignment_of(seen.file, seen.line, ast.unparse(node))
            if made is not None:
                yield str(value), made.place


# What the user's code calls a tensor, the statement that made it, and how a device is written there.
_NAMES, _ITEMS = 2000, 64


@dataclass(frozen=True)
class NamedTensor:
    """A tensor under the user's name for it, in one frame."""

    name: str
    role: str  # variable | entry | attribute
    seen: LiveFrame
    owner: Any = None  # of an attribute


def known_as(tensor: torch.Tensor, frames: Sequence[LiveFrame]) -> NamedTensor | None:
    """The outermost frame of the user's whose running statement mentions the tensor, and its name there."""
    users = [seen for seen in frames if seen.user]
    for seen in users:
        code = seen.code
        for known in _names(tensor, seen):
            head = re.escape(known.name.partition("[")[0])
            if re.search(rf"(?<![\w.]){head}(?!\w)", code) is not None:
                return known
    return None


def _names(tensor: torch.Tensor, seen: LiveFrame) -> Iterator[NamedTensor]:
    variables = list(itertools.islice(seen.locals.items(), _NAMES))
    if seen.frame.f_globals is not seen.locals:
        variables += list(itertools.islice(seen.frame.f_globals.items(), _NAMES))
    for name, value in variables:
        if value is tensor:
            yield NamedTensor(name, "variable", seen)
    for name, value in variables:
        if (key := _key(tensor, value)) is not None:
            yield NamedTensor(f"{name}[{key!r}]", "entry", seen)
    for name, value in variables:
        yield from _attributes(tensor, name, value, seen)


def _key(tensor: torch.Tensor, value: Any) -> Any:
    """Where a small container holds the tensor."""
    if is_one_of(value, (list, tuple)):
        return next((place for place, item in enumerate(value[:_ITEMS]) if item is tensor), None)
    if type(value) is dict:
        items = itertools.islice(value.items(), _ITEMS)
        return next((key for key, item in items if item is tensor and is_one_of(key, (str, int))), None)
    return None


def _attributes(tensor: torch.Tensor, name: str, value: Any, seen: LiveFrame) -> Iterator[NamedTensor]:
    attributes = getattr(value, "__dict__", None) if not is_a(value, type) and not is_tensor(value) else None
    for attribute, item in itertools.islice(attributes.items(), _NAMES) if type(attributes) is dict else ():
        if item is tensor:
            yield NamedTensor(f"{name}.{attribute}", "attribute", seen, value)
        elif name == "self" and (key := _key(tensor, item)) is not None and attribute[:1] != "_":
            yield NamedTensor(f"{name}.{attribute}[{key!r}]", "attribute", seen, value)


def made_at(known: NamedTensor) -> tuple[Place, str]:
    """The statement that gives the tensor its name, and the function it stands in."""
    name = known.name.partition("[")[0]
    if known.role != "attribute":
        found = assignment_of(known.seen.file, known.seen.line, name)
        return (found.place, found.function) if found is not None else (Place(), "")
    line = attribute_place(type(known.owner), name.partition(".")[2])
    if line is None or line.file is None or line.line is None:
        return Place(), ""
    place = statement_place(line.file, line.line)
    function = function_at(line.file, place.line or 0)
    return place, function.name if function else ""


def layer_setting(crash: LiveCrash, path: str) -> Place:
    """The statement that puts a layer into a plain list of its owner, or into a model from outside it."""
    owner_path, _, attribute = path.partition("[")[0].rpartition(".")
    for seen in crash.frames:
        owner = seen.module()
        if "[" in path and owner is not None and crash.paths.get(id(owner)) == owner_path:
            line = attribute_place(type(owner), attribute)
            return Place(line.file, line.line, None, line.code) if line and line.file and line.line else Place()
        for target in (f"{owner_path}.{attribute}", f"{owner_path}[{attribute}]"):
            found = assignment_of(seen.file, seen.line, target) if seen.user and "[" not in path else None
            if found is not None:
                return found.place
    return Place()


def device_text(seen: LiveFrame, line: int, accelerator: torch.device, code: str = "") -> str:
    """How to write the accelerator's device at a line of a frame; empty where nothing there tells it.

    A tensor that the line itself mentions comes first, then a variable that holds the device, then an
    argument of the function, then the model's parameters.
    """
    variables = seen.names
    ready = [
        (name, value)
        for name, value in itertools.islice(reversed(variables.items()), _NAMES)
        if _is_on(value, accelerator) and is_known_before(seen.file, line, name)
    ]
    mentioned = set(re.findall(r"(?<!\.)\b[A-Za-z_]\w*", code))
    function = function_at(seen.file, line)
    arguments = parameters(function) if function is not None else []
    choices = [
        *(f"{name}.device" for name, value in ready if is_tensor(value) and name in mentioned),
        *(name for name, value in ready if is_a(value, (torch.device, str))),
        *_device_attributes(variables, accelerator),
        *(f"{name}.device" for name in arguments for known, value in ready if known == name and is_tensor(value)),
        *(f"next({name}.parameters()).device" for name, value in ready if is_a(value, nn.Module)),
    ]
    return choices[0] if choices else ""


def _device_attributes(variables: dict[str, Any], accelerator: torch.device) -> Iterator[str]:
    """self.device, args.device"""
    for name in ("self", "args", "config", "cfg", "opt"):
        own = getattr(variables.get(name), "__dict__", {})
        device = own.get("device") if type(own) is dict else None
        if is_a(device, (torch.device, str)) and _is_on(device, accelerator):
            yield f"{name}.device"


def _is_on(value: Any, accelerator: torch.device) -> bool:
    """Whether a tensor or model is on the accelerator, or a device or its text means it."""
    if is_tensor(value):
        return bool(value.device == accelerator)
    if is_a(value, nn.Module):
        parameter = next(value.parameters(), None)
        return parameter is not None and bool(parameter.device == accelerator)
    if is_a(value, str):
        return value in (accelerator.type, str(accelerator))
    if is_a(value, torch.device):
        return value.type == accelerator.type and value.index in (None, accelerator.index)
    return False
