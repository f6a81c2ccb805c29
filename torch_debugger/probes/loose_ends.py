"""Why no gradient reaches a part of a model: what its source and one traced step say together."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field

from torch import nn

from torch_debugger.anatomy.cuts import find_dropped, find_switch
from torch_debugger.anatomy.mentions import called_twice, is_never_read
from torch_debugger.anatomy.result_flow import cut_in, cut_of_arguments, find_cut
from torch_debugger.anatomy.sources import class_source
from torch_debugger.anatomy.statements import attribute_place
from torch_debugger.probes.tracing import Call
from torch_debugger.records import Place


@dataclass(frozen=True)
class LooseEnd:
    reason: str  # never read | dropped | cut | no grad | unknown
    place: Place = field(default_factory=Place)
    following: str = ""
    instead: str = ""


def explain_part(module: nn.Module, root: str, part: str, calls: Sequence[Call]) -> LooseEnd:
    inside = [call for call in calls if call.path == part or call.path.startswith(part + ".")]
    if not inside:
        return _explain_silence(module, root, part)
    if not any(call.grad_mode for call in inside):
        found = [place for file, line in inside[0].lines if (place := find_switch(file, line)) is not None]
        return LooseEnd("no grad", found[0]) if found else LooseEnd("unknown")
    outermost = min(inside, key=lambda call: call.began)
    last = outermost if outermost.path == part else max(inside, key=lambda call: call.ended)
    return _cut_inside(inside) if not last.gives_grad else _cut_behind(last, calls)


def _explain_silence(module: nn.Module, root: str, part: str) -> LooseEnd:
    """It did not run. A part that is mentioned may run another time; one that is not, never does."""
    path, _, name = part.removeprefix(root).strip(".").rpartition(".")
    if not name:
        return LooseEnd("unknown")
    owner = module.get_submodule(path)
    if not is_never_read(owner, name):
        return LooseEnd("unknown")
    twice = called_twice(owner, name)
    if twice is not None:
        return LooseEnd("never read", twice[1], instead=twice[0])
    return LooseEnd("never read", attribute_place(type(owner), name) or Place())


def _cut_inside(inside: Sequence[Call]) -> LooseEnd:
    """The innermost module that gives no gradient on although it has something to train."""
    lost = [call for call in inside if not call.gives_grad and call.ended >= 0]
    for call in reversed(lost):
        source = class_source(type(call.module))
        for node in source[1].body if source else ():
            found = cut_in(source[0], node) if source and getattr(node, "name", "") == "forward" else None
            if found is not None:
                return LooseEnd("cut", found)
    return LooseEnd("unknown")


def _cut_behind(last: Call, calls: Sequence[Call]) -> LooseEnd:
    """Gradients can leave the part; somewhere on the way to the loss they cannot go on."""
    if not last.lines:
        return LooseEnd("unknown")
    dropped = find_dropped(*last.lines[0])
    if dropped is not None:
        return LooseEnd("dropped", dropped)
    found = find_cut(last.lines)
    if found is None:
        return _cut_in_another(last, calls)
    after = [call for call in calls if call.began > last.ended and not call.takes_grad]
    following = min(after, key=lambda call: call.began, default=None)
    return LooseEnd("cut", found, following.path if following is not None else "")


def _cut_in_another(last: Call, calls: Sequence[Call]) -> LooseEnd:
    """A module of the user's is given what could be trained, and what it gives does not lead back to that."""
    behind = [call for call in calls if call.began > last.ended and call.takes_grad and not call.passes_grad]
    for call in sorted(behind, key=lambda call: call.began):
        source = class_source(type(call.module))
        for node in source[1].body if source else ():
            if source and isinstance(node, ast.FunctionDef) and node.name == "forward":
                found = cut_of_arguments(source[0], node)
                if found is not None:
                    return LooseEnd("cut", found)
    return LooseEnd("unknown")
