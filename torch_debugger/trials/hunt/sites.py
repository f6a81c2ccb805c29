"""Whose line and whose module an op belongs to, and what the line calls its operands."""

from __future__ import annotations

from collections.abc import Mapping
from types import FrameType
from typing import Any, NamedTuple

import torch
from torch import nn

from torch_debugger.anatomy.frames import frames, is_ours, locals_of
from torch_debugger.anatomy.sources import is_user_file, place_at
from torch_debugger.records import Place


class Site(NamedTuple):
    place: Place
    module: str | None
    frame: FrameType | None  # of the user's line


def find_site(paths: Mapping[int, str], skip: int) -> Site:
    """The innermost line of the user's code, and the innermost module known by a path."""
    place, module, found = Place(), None, None
    for frame in frames(skip + 1):
        code = frame.f_code
        if is_ours(frame) and not is_user_file(code.co_filename):
            if found is not None:
                break  # what is further out has called us, not the op
            continue
        if module is None and code.co_varnames:
            first = locals_of(frame).get(code.co_varnames[0])
            module = paths.get(id(first)) if isinstance(first, nn.Module) else None
        if found is None and is_user_file(code.co_filename):
            place, found = place_at(code.co_filename, frame.f_lineno), frame
        if found is not None and module is not None:
            break
    return Site(place, module, found)


def names_in(frame: FrameType | None) -> dict[int, str]:
    """id of a tensor -> the variable that holds it: p, self.scale"""
    if frame is None:
        return {}
    found: dict[int, str] = {}
    for name, value in locals_of(frame).items():
        if isinstance(value, torch.Tensor):
            found.setdefault(id(value), name)
        elif isinstance(value, nn.Module):
            found |= {key: held for key, held in _own_tensors(name, value).items() if key not in found}
    return found


def _own_tensors(name: str, module: nn.Module) -> dict[int, str]:
    held: dict[str, Any] = {**vars(module), **module._parameters, **module._buffers}
    return {id(value): f"{name}.{key}" for key, value in held.items() if isinstance(value, torch.Tensor)}
