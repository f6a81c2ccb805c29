"""Random generators that modules hold, themselves or in a list or an object of theirs, and their states."""

from __future__ import annotations

import functools
import random
import types
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

import numpy
import torch
from torch import nn

from torch_debugger.anatomy.kinds import is_a, is_one_of, own_attributes

_KINDS = (numpy.random.Generator, numpy.random.RandomState, random.Random, torch.Generator)
_NO_HOLDERS = (torch.Tensor, type, types.ModuleType, types.FunctionType, torch.jit.ScriptModule)
_TORCHS_OWN = frozenset(vars(nn.Module()))
# Most attributes: passed by for speed.
_PLAIN: frozenset[type] = frozenset((bool, bytes, float, int, str, type(None)))
_ENTRIES = 64  # of a list or an object that are looked at
_DEPTH = 3  # a transform's, in a list of transforms


def keep_held_states(modules: Iterable[object]) -> list[Callable[[], object]]:
    """The functions that put the states back."""
    known: dict[int, int] = {}
    generators = [each for module in modules for each in _within(module, _DEPTH, known)]
    return [_keep(each) for each in generators if not is_a(each, random.SystemRandom)]  # has no state


def _within(value: Any, depth: int, known: dict[int, int]) -> Iterator[Any]:
    """`known` has how deep an object was looked into before: all modules may hold one large configuration."""
    if known.get(id(value), -1) >= depth:
        return
    known[id(value)] = depth
    if is_a(value, _KINDS):
        yield value
    elif depth:
        for part in islice(_parts(value), _ENTRIES):
            if not is_one_of(part, _PLAIN):
                yield from _within(part, depth - 1, known)


def _parts(value: Any) -> Iterator[Any]:
    if is_a(value, (list, tuple, set, deque)):
        yield from value
    elif is_a(value, dict):
        yield from value.values()
    elif not is_a(value, _NO_HOLDERS):
        yield from (part for name, part in own_attributes(value).items() if name not in _TORCHS_OWN)


def _keep(generator: Any) -> Callable[[], object]:
    if is_a(generator, numpy.random.Generator):
        bits = generator.bit_generator
        return functools.partial(setattr, bits, "state", bits.state)
    if is_a(generator, random.Random):
        return functools.partial(generator.setstate, generator.getstate())
    return functools.partial(generator.set_state, generator.get_state())
