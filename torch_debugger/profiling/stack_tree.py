"""Stacks that were seen, merged into one tree: a node for each line of the user's and library's function."""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from types import CodeType, FrameType

from torch import nn

from torch_debugger.anatomy.line_surroundings import Surroundings, surroundings_of
from torch_debugger.anatomy.sources import is_user_file, package_folder, place_at
from torch_debugger.records import Place, StackNode

Key = tuple[str, str, int, bool]  # file, function, line (of a library: the function's first), the user's?

_MOST_NODES = 4000
_MOST_TOLD = 400
_LEAST_TOLD = 0.002  # of all samples
_DEEPEST = 64
# Around every module call: they tell nothing and double the depth of a stack.
_PASSED_THROUGH = {nn.Module._call_impl.__code__, nn.Module._wrapped_call_impl.__code__}


@dataclass
class _Node:
    samples: int = 0
    inside: dict[Key, _Node] = field(default_factory=dict)

    def total(self) -> int:
        return self.samples + sum(node.total() for node in self.inside.values())


def path_of(frame: FrameType | None, own_work: Collection[CodeType]) -> list[Key] | None:
    """From the user's outermost line inwards; None for a stack that works for us, or is not below the user."""
    path = path_below(None, frame, own_work)
    first = next((place for place, key in enumerate(path or ()) if key[3]), None)
    return None if path is None or first is None else path[first : first + _DEEPEST]


def path_below(
    outermost: CodeType | None, frame: FrameType | None, own_work: Collection[CodeType] = ()
) -> list[Key] | None:
    """From what that code called inwards, or from the very beginning; None for a stack that works for us."""
    if frame is None or _kind(frame.f_code) == _OURS:
        return None
    path: list[Key] = []
    while frame is not None and frame.f_code is not outermost:
        code = frame.f_code
        if code in own_work:
            return None
        kind = _kind(code)
        if kind == _USERS:
            path.append((code.co_filename, name_of(code), frame.f_lineno or 0, True))
        elif kind == _LIBRARY:
            path.append((code.co_filename, name_of(code), code.co_firstlineno, False))
        frame = frame.f_back
    path.reverse()
    return path if frame is not None or outermost is None else None


_USERS, _LIBRARY, _OURS, _PASSED = range(4)


@functools.lru_cache(maxsize=2048)
def _kind(code: CodeType) -> int:
    if is_user_file(code.co_filename):
        return _USERS
    if code.co_filename.startswith(package_folder()):
        return _OURS
    return _PASSED if code in _PASSED_THROUGH else _LIBRARY


def name_of(code: CodeType) -> str:
    return str(getattr(code, "co_qualname", code.co_name))  # Python 3.10 has no longer name


class StackTree:
    def __init__(self) -> None:
        self.samples = 0
        self._root = _Node()
        self._nodes = 0

    def add(self, path: Sequence[Key], samples: int = 1) -> None:
        self.samples += samples
        node = self._root
        for key in path:
            below = node.inside.get(key)
            if below is None:
                if self._nodes >= _MOST_NODES:
                    break  # counted with the line above it
                below = node.inside[key] = _Node()
                self._nodes += 1
            node = below
        node.samples += samples

    def merge(self, other: StackTree) -> None:
        for path, samples in _paths(other._root, ()):
            self.add(path, samples)

    def nodes(self) -> tuple[StackNode, ...]:
        """The largest ones; what is left out is counted with the line above it."""
        least = max(1, int(self.samples * _LEAST_TOLD))
        totals = sorted((node.total() for node in _all(self._root)), reverse=True)
        if len(totals) > _MOST_TOLD:
            least = max(least, totals[_MOST_TOLD])
        told: list[StackNode] = []
        _tell(self._root, -1, least, told)
        return tuple(told)


def _paths(node: _Node, path: tuple[Key, ...]) -> Iterator[tuple[tuple[Key, ...], int]]:
    if node.samples:
        yield path, node.samples
    for key, below in node.inside.items():
        yield from _paths(below, (*path, key))


def _all(node: _Node) -> list[_Node]:
    return [each for below in node.inside.values() for each in (below, *_all(below))]


def _tell(above: _Node, parent: int, least: int, told: list[StackNode]) -> None:
    for (file, function, line, users), node in sorted(above.inside.items(), key=lambda item: -item[1].total()):
        total = node.total()
        if total < least:
            continue
        left_out = sum(below.total() for below in node.inside.values() if below.total() < least)
        place = place_at(file, line) if users else Place(file, line)
        around = surroundings_of(file, line) if users else Surroundings()
        samples = node.samples + left_out
        told.append(StackNode(parent, function, place, users, samples, total, around.loops, around.condition))
        _tell(node, len(told) - 1, least, told)
