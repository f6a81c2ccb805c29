"""The user's own name for a module: the variable, attribute or container entry that holds it.

Only dictionaries are read (frames, `__dict__`): no code of the user's runs.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from types import FrameType
from typing import Any

from torch import nn

from torch_debugger.anatomy.frames import locals_of
from torch_debugger.anatomy.kinds import is_a, is_one_of, own_attributes
from torch_debugger.anatomy.sources import is_user_file

WRAPPED = ("_orig_mod", "module")  # where torch.compile, DataParallel and DDP keep the model
_FRAMES, _NAMES, _ITEMS = 60, 4000, 64

Names = list[tuple[str, Any]]


def name_root(module: nn.Module, frame: FrameType | None) -> str:
    """`model`, `netG`, `policy` for self.policy, `models['a']`; else the class name in lower case."""
    reach = list(scopes(frame))
    for search in (_variable, _wrapper, _attribute, _entry):
        for names in reach:
            if (found := search(module, names)) is not None:
                return found
    return type(module).__name__.lower()


def module_paths(module: nn.Module, root: str) -> dict[int, str]:
    """id of a submodule -> net.encoder.0"""
    return {id(child): f"{root}.{path}" if path else root for path, child in module.named_modules()}


def name_of(value: object, frame: FrameType | None) -> str | None:
    """The variable or attribute that holds any object (an optimizer), if one does."""
    for search in (_variable, _attribute):
        for names in scopes(frame):
            if (found := search(value, names)) is not None:
                return found
    return None


def scopes(frame: FrameType | None) -> Iterator[Names]:
    """The locals of the user's frames from the inside out, then their globals."""
    users: list[FrameType] = []
    while frame is not None and len(users) < _FRAMES:
        if is_user_file(frame.f_code.co_filename):
            users.append(frame)
        frame = frame.f_back
    yield from (_readable(locals_of(user)) for user in users)
    different = {id(user.f_globals): user.f_globals for user in users}
    yield from (_readable(names) for names in different.values())


def _readable(names: Mapping[str, Any]) -> Names:
    kept = itertools.islice(names.items(), _NAMES)
    return [(name, value) for name, value in kept if isinstance(name, str) and not name.startswith("__")]


def _first(names: Names, fits: Callable[[Any], bool]) -> str | None:
    """A fitting name; one that starts with an underscore only if there is no other."""
    fitting = [name for name, value in names if name != "self" and name.isidentifier() and fits(value)]
    return min(fitting, key=lambda name: name.startswith("_"), default=None)


def _variable(module: object, names: Names) -> str | None:
    return _first(names, lambda value: value is module)


def _wrapper(module: object, names: Names) -> str | None:
    return _first(names, lambda value: any(part is module for part in _wrapped(value)))


def _wrapped(value: Any) -> list[Any]:
    if not issubclass(type(value), nn.Module):
        return []
    children = own_attributes(value).get("_modules")  # a scripted module keeps its children in no dictionary
    return [children.get(name) for name in WRAPPED] if is_a(children, dict) else []


def _attribute(module: object, names: Names) -> str | None:
    """self.policy before agent.policy; both are named `policy`."""
    for _, value in sorted(names, key=lambda item: item[0] != "self"):
        held = own_attributes(value)
        places = [held, children] if is_a(children := held.get("_modules"), dict) else [held]
        for place in places:
            found = _variable(module, _readable(place)) or _wrapper(module, _readable(place))
            if found is not None:
                return found
    return None


def _entry(module: nn.Module, names: Names) -> str | None:
    for name, value in names:
        for key, item in _items(value):
            if item is module or any(part is module for part in _wrapped(item)):
                return f"{name}[{key!r}]"
    return None


def _items(value: Any) -> list[tuple[int | str, Any]]:
    if is_one_of(value, (list, tuple)):
        return list(enumerate(value[:_ITEMS]))
    if type(value) is dict:
        return [
            (key, item) for key, item in itertools.islice(value.items(), _ITEMS) if is_one_of(key, (int, str))
        ]
    return []
