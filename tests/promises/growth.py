"""How much an object holds: the elements of all containers that are reachable from it, by whose they are."""

from __future__ import annotations

import collections
import itertools
import types
from collections import Counter
from collections.abc import Iterator
from typing import Any

import torch

_NOT_OURS = (types.ModuleType, type, types.FrameType, types.CodeType, torch.Tensor, str, bytes, int, float)
_CONTAINERS = (list, tuple, set, frozenset, collections.deque)


def held_by(*roots: object) -> Counter[str]:
    """`Class.attribute` -> elements. Followed are our own objects, plain containers, closures and methods."""
    sizes: Counter[str] = Counter()
    seen: dict[int, object] = {}
    waiting: list[tuple[str, object]] = [(type(root).__name__, root) for root in roots]
    while waiting:
        whose, each = waiting.pop()
        if id(each) in seen or isinstance(each, _NOT_OURS):
            continue
        seen[id(each)] = each
        if isinstance(each, (*_CONTAINERS, dict)):
            sizes[whose] += getattr(each, "maxlen", None) or len(each)  # one that fills up to there is bounded
        waiting += _inside(whose, each)
    return sizes


def _inside(whose: str, each: Any) -> Iterator[tuple[str, object]]:
    if isinstance(each, dict):
        yield from ((whose, part) for item in list(each.items()) for part in item)
    elif isinstance(each, _CONTAINERS):
        yield from ((whose, part) for part in list(each))
    elif isinstance(each, types.MethodType):
        yield whose, each.__self__
    elif isinstance(each, types.FunctionType):
        yield from ((whose, cell.cell_contents) for cell in each.__closure__ or ())
    if type(each).__module__.startswith("torch_debugger"):
        slots = {name for kind in type(each).__mro__ for name in getattr(kind, "__slots__", ())}
        for name in {*slots, *getattr(each, "__dict__", ())} - {"__weakref__", "__dict__"}:
            yield f"{type(each).__name__}.{name}", getattr(each, name, None)


def growing(counts: list[Counter[str]], steps: int) -> dict[str, list[int]]:
    """What got larger from each count to the next, of which so many steps are between, by more than one
    element in two hundred steps."""
    names = {name for count in counts for name in count}
    of = {name: [count[name] for count in counts] for name in names}
    return {
        name: sizes
        for name, sizes in of.items()
        if all(later - before > steps / 200 for before, later in itertools.pairwise(sizes))
    }
