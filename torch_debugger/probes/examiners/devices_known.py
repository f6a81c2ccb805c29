"""What the user's code calls a tensor, the statement that made it, and how a device is written there."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from torch_debugger.anatomy.assignments import assignment_of, function_at, is_known_before, parameters
from torch_debugger.anatomy.kinds import is_a, is_one_of
from torch_debugger.anatomy.statements import attribute_place
from torch_debugger.probes.crash_frames import Seen, is_tensor
from torch_debugger.probes.crash_source import statement_at
from torch_debugger.probes.examiners.scene import Scene
from torch_debugger.records import Place

_NAMES, _ITEMS = 2000, 64


@dataclass(frozen=True)
class Known:
    """A tensor under the user's name for it, in one frame."""

    name: str
    role: str  # variable | entry | attribute
    seen: Seen
    owner: Any = None  # of an attribute


def known_as(tensor: torch.Tensor, frames: Sequence[Seen]) -> Known | None:
    """The outermost frame of the user's whose running statement mentions the tensor, and its name there."""
    users = [seen for seen in frames if seen.user]
    for seen in users:
        code = statement_at(seen.file, seen.line)[1]
        for known in _names(tensor, seen):
            if _mentions(code, known.name):
                return known
    return None


def _mentions(code: str, name: str) -> bool:
    head = re.escape(name.partition("[")[0])
    return re.search(rf"(?<![\w.]){head}(?!\w)", code) is not None


def _names(tensor: torch.Tensor, seen: Seen) -> Iterator[Known]:
    held = list(itertools.islice(seen.frame.f_locals.items(), _NAMES))
    if seen.frame.f_globals is not seen.frame.f_locals:
        held += list(itertools.islice(seen.frame.f_globals.items(), _NAMES))
    for name, value in held:
        if value is tensor:
            yield Known(name, "variable", seen)
    for name, value in held:
        if (key := _key(tensor, value)) is not None:
            yield Known(f"{name}[{key!r}]", "entry", seen)
    for name, value in held:
        yield from _attributes(tensor, name, value, seen)


def _key(tensor: torch.Tensor, value: Any) -> Any:
    """Where a small container holds the tensor."""
    if is_one_of(value, (list, tuple)):
        return next((place for place, item in enumerate(value[:_ITEMS]) if item is tensor), None)
    if type(value) is dict:
        items = itertools.islice(value.items(), _ITEMS)
        return next((key for key, item in items if item is tensor and is_one_of(key, (str, int))), None)
    return None


def _attributes(tensor: torch.Tensor, name: str, value: Any, seen: Seen) -> Iterator[Known]:
    held = getattr(value, "__dict__", None) if not is_a(value, type) and not is_tensor(value) else None
    for attribute, item in itertools.islice(held.items(), _NAMES) if type(held) is dict else ():
        if item is tensor:
            yield Known(f"{name}.{attribute}", "attribute", seen, value)
        elif name == "self" and (key := _key(tensor, item)) is not None and attribute[:1] != "_":
            yield Known(f"{name}.{attribute}[{key!r}]", "attribute", seen, value)


def statement_place(seen: Seen) -> Place:
    line, code = statement_at(seen.file, seen.line)
    return Place(seen.file, line, None, code)


def made_at(known: Known) -> tuple[Place, str]:
    """The statement that gives the tensor its name, and the function it stands in."""
    if known.role == "attribute":
        return _set_at(known)
    name = known.name.partition("[")[0]
    found = assignment_of(known.seen.file, known.seen.line, name)
    if found is None:
        return Place(), ""
    return found.place, found.function


def _set_at(known: Known) -> tuple[Place, str]:
    attribute = known.name.partition(".")[2].partition("[")[0]
    line = attribute_place(type(known.owner), attribute)
    if line is None or line.file is None or line.line is None:
        return Place(), ""
    first, code = statement_at(line.file, line.line)
    function = function_at(line.file, first)
    return Place(line.file, first, None, code), function.name if function else ""


def layer_setting(scene: Scene, path: str) -> Place:
    """The statement that puts a layer into a plain list of its owner, or into a model from outside it."""
    owner_path, _, attribute = path.partition("[")[0].rpartition(".")
    for seen in scene.frames:
        owner = seen.module()
        if "[" in path and owner is not None and scene.paths.get(id(owner)) == owner_path:
            line = attribute_place(type(owner), attribute)
            return (
                Place(line.file, line.line, None, statement_at(line.file, line.line)[1])
                if line and line.file and line.line
                else Place()
            )
        for target in (f"{owner_path}.{attribute}", f"{owner_path}[{attribute}]"):
            found = assignment_of(seen.file, seen.line, target) if seen.user and "[" not in path else None
            if found is not None:
                return found.place
    return Place()


def device_text(seen: Seen, line: int, accelerator: torch.device, code: str = "") -> str:
    """How to write the accelerator's device at a line of a frame; empty where nothing there tells it.

    A tensor that the line itself mentions comes first, then a variable that holds the device, then an
    argument of the function, then the model's parameters.
    """
    held = {**seen.frame.f_globals, **seen.frame.f_locals}
    ready = [
        (name, value)
        for name, value in itertools.islice(reversed(held.items()), _NAMES)
        if _is_on(value, accelerator) and is_known_before(seen.file, line, name)
    ]
    mentioned = set(re.findall(r"(?<!\.)\b[A-Za-z_]\w*", code))
    function = function_at(seen.file, line)
    given = parameters(function) if function is not None else []
    choices = [
        *(f"{name}.device" for name, value in ready if is_tensor(value) and name in mentioned),
        *(name for name, value in ready if is_a(value, (torch.device, str))),
        *_held_device(held, accelerator),
        *(f"{name}.device" for name in given for known, value in ready if known == name and is_tensor(value)),
        *(f"next({name}.parameters()).device" for name, value in ready if is_a(value, nn.Module)),
    ]
    return choices[0] if choices else ""


def _held_device(held: dict[str, Any], accelerator: torch.device) -> Iterator[str]:
    """self.device, args.device"""
    for name in ("self", "args", "config", "cfg", "opt"):
        own = getattr(held.get(name), "__dict__", {})
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
