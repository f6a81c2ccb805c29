"""Plain objects that a forward writes into: a cache of keys and values, a recorder. Put back after a run."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any

import torch
from torch import nn

from torch_debugger.anatomy.kinds import is_a, is_one_of, own_attributes

_TORCHS_OWN = frozenset(vars(nn.Module()))
_DEEPEST, _MOST = 4, 5000
_PLAIN = (str, bytes, int, float, complex, bool, type(None), torch.dtype, torch.device, torch.Tensor, nn.Module)


@contextlib.contextmanager
def objects_kept(roots: Iterable[Any]) -> Iterator[None]:
    """Their attributes, and what lists and dictionaries in them hold; not what modules and tensors are."""
    kept = [(held, held.copy()) for held in _holders(roots)]
    try:
        yield
    finally:
        for held, before in kept:
            if not _changed(held, before):
                continue
            held.clear()
            (held.extend if isinstance(held, list) else held.update)(before)


def attributes_of_modules(model: nn.Module) -> Iterator[Any]:
    """Those that the user's classes add to what every module has."""
    for module in model.modules():
        yield from (value for name, value in vars(module).items() if name not in _TORCHS_OWN)


def _holders(roots: Iterable[Any]) -> Iterator[Any]:
    waiting = [(root, 0) for root in roots]
    seen: set[int] = set()
    while waiting and len(seen) < _MOST:
        value, depth = waiting.pop()
        if is_a(value, _PLAIN) or id(value) in seen or depth > _DEEPEST:
            continue
        seen.add(id(value))
        held = value if is_one_of(value, (list, dict)) else own_attributes(value)
        yield held
        inside = value if is_one_of(value, (list, tuple)) else held.values()
        waiting += [(each, depth + 1) for each in inside]


def _changed(held: Any, before: Any) -> bool:
    if is_a(held, dict):
        return held.keys() != before.keys() or any(held[key] is not before[key] for key in before)
    return len(held) != len(before) or any(now is not then for now, then in zip(held, before, strict=True))
