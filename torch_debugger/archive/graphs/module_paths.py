"""Where in a model a node stands, told from its name: `Net/Sequential[layers]/Block[0]/Conv2d[conv1]/577`.

torch names the modules that were called, so lists of modules are missing: the names of their parameters
have them.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_CLASS_AND_NAME = re.compile(r"([A-Za-z_]\w*)\[(.+)\]", re.DOTALL)
_MOST_LEVELS = 24  # deeper ones stay in one name

Levels = tuple[str, ...]  # the parts of a name between slashes


class Level(NamedTuple):
    module: str  # its class, where that is told
    name: str


def levels_of(name: str) -> Levels:
    """The scopes around a node, the outermost first."""
    *around, _ = name.split("/")
    if len(around) > _MOST_LEVELS:
        around = [*around[: _MOST_LEVELS - 1], "/".join(around[_MOST_LEVELS - 1 :])]
    return tuple(around)


def level(text: str) -> Level:
    found = _CLASS_AND_NAME.fullmatch(text)
    return Level(found[1], found[2]) if found else Level("", text)


def path_of(levels: Levels) -> str:
    """layers.0.conv1: without the model itself."""
    return ".".join(level(each).name for each in levels[1:])


class WholePaths:
    """Learns from the parameters that operations read which lists their modules are in."""

    def __init__(self) -> None:
        self._known: dict[Levels, Levels] = {}
        self._first: dict[Levels, Levels] = {}

    def learn(self, called: Levels, defined: Levels) -> None:
        """`called` as an operation's name has it, `defined` as the name of its parameter has it."""
        ends = _matched(called, defined)
        for count, end in enumerate(ends, 1):
            self._known[called[:count]] = defined[:end]
            self._first.setdefault(called[:count], defined[:end])

    def whole(self, called: Levels, count: int) -> Levels:
        """The levels of the first `count`, with the lists among them."""
        for known in range(count, 0, -1):
            found = self._known.get(called[:known]) or self._first.get(called[:known])
            if found is not None:
                return (*found, *called[known:count])
        return called[:count]

    def start_over(self) -> None:
        """Before the graph is gone through again: what is not known yet then is what comes first."""
        self._known.clear()


def _matched(called: Levels, defined: Levels) -> list[int]:
    """How far into the definition each level of the call reaches; empty where they do not fit."""
    ends: list[int] = []
    at = 0
    for each in called:
        while at < len(defined) and defined[at] != each:
            at += 1
        if at == len(defined):
            return []
        at += 1
        ends.append(at)
    fits = bool(ends) and ends[-1] == len(defined) and ends[0] == 1
    return ends if fits else []
