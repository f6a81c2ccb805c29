"""Lists, dictionaries and caches within reach of a dataset: how long they are, and what an entry takes."""

from __future__ import annotations

import functools
import itertools
import sys
from collections import OrderedDict, defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy
import torch

from torch_debugger.anatomy.dataset_parts import dataset_parts
from torch_debugger.anatomy.kinds import is_a, is_one_of
from torch_debugger.anatomy.sources import class_source

_KINDS = (list, dict, set, deque, OrderedDict, defaultdict)
_CACHE = type(functools.lru_cache(len))
_ATTRIBUTES, _GLOBALS = 64, 400  # that are looked at, of one object and of a module
_ENTRIES = 8  # of which the size is taken
_PARTS = 16  # of an entry


@dataclass(frozen=True)
class Container:
    name: str  # self.cache, Scans.cache, CACHE
    owner: str  # the class of the object that holds it; empty for a global variable
    kind: str
    length: int
    entry_bytes: int
    made: tuple[str, int] = ("", 0)  # of a cache: file and line of the function


def containers_of(dataset: object) -> list[Container]:
    """Of the dataset, its transforms and their classes, and of the modules that define them. Another thread may
    change what is read here: RuntimeError then, and nothing is known this time."""
    found = []
    for name, owner, value in _reached(dataset):
        if is_a(value, _CACHE):
            found.append(Container(name, owner, "cache", value.cache_info().currsize, 0, _made(value)))
        elif is_one_of(value, _KINDS) and not (is_a(value, deque) and value.maxlen is not None):
            found.append(Container(name, owner, type(value).__name__, len(value), _entry_bytes(value)))
    return found


def _reached(dataset: object) -> Iterator[tuple[str, str, Any]]:
    modules = {}
    for part in dataset_parts(dataset):
        kind = type(part)
        if class_source(kind) is None:
            continue
        for name, value in itertools.islice(vars(part).items(), _ATTRIBUTES):
            yield f"self.{name}", kind.__name__, value
        for name, value in itertools.islice(vars(kind).items(), _ATTRIBUTES):
            yield f"{kind.__name__}.{name}", kind.__name__, value
        modules[kind.__module__] = sys.modules.get(kind.__module__)
    for module in modules.values():
        for name, value in itertools.islice(vars(module).items(), _GLOBALS) if module is not None else ():
            if not name.startswith("__"):
                yield name, "", value


def _made(cache: Any) -> tuple[str, int]:
    code = getattr(getattr(cache, "__wrapped__", None), "__code__", None)
    return (code.co_filename, code.co_firstlineno) if code is not None else ("", 0)


def _entry_bytes(container: Any) -> int:
    entries: Any = container
    if is_a(container, dict):
        entries = container.values()
    ends = itertools.islice(reversed(entries), _ENTRIES) if hasattr(entries, "__reversed__") else ()
    sizes = [size_of(entry) for entry in ends]
    return sum(sizes) // len(sizes) if sizes else 0


def size_of(value: object, deep: bool = True) -> int:
    """Roughly, without running anything of the user's."""
    if type(value) is torch.Tensor:
        return value.numel() * value.element_size() + 300  # and the object itself
    if type(value) is numpy.ndarray:
        return int(value.nbytes) + 100
    if deep and is_one_of(value, (list, tuple, set)):
        parts: Any = value
        return sys.getsizeof(value) + sum(size_of(part, False) for part in itertools.islice(parts, _PARTS))
    if deep and type(value) is dict:
        pairs = list(itertools.islice(value.items(), _PARTS))
        return sys.getsizeof(value) + sum(size_of(part, False) for pair in pairs for part in pair)
    return sys.getsizeof(value) if is_one_of(value, (str, bytes, bytearray, int, float)) else 64
