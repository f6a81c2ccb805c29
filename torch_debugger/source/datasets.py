"""What a dataset tells of itself: how much it holds, in which form, of which classes."""

from __future__ import annotations

import ast
import functools
import gzip
import inspect
import io
import itertools
import os
import random
import sqlite3
import sys
import tarfile
import zipfile
from collections import OrderedDict, defaultdict, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy
import torch
from numpy.lib.npyio import NpzFile
from torch.utils.data import Subset

from torch_debugger.records import HeldData, Place
from torch_debugger.source.files import class_source, place_at
from torch_debugger.source.objects import is_a, is_one_of, own_attributes
from torch_debugger.source.statements import attribute_place
from torch_debugger.source.syntax import last_name, methods_of

_MOST = 16
_MANY, _WEIGHED = 10_000, 200  # objects in a list: so many are weighed, and so few of them
_MOST_CLASSES, _LONGEST_NAME = 1000, 60


def base_of(dataset: Any) -> Any:
    """The dataset that a part is a part of."""
    for _ in range(8):
        if not is_a(dataset, Subset):
            break
        dataset = dataset.dataset
    return dataset


def class_names(dataset: Any) -> tuple[str, ...]:
    """As datasets of torchvision have them. Looked up without running a property of the user's."""
    names = inspect.getattr_static(dataset, "classes", ())
    plain = is_one_of(names, (list, tuple)) and all(type(name) is str for name in names[:_MOST_CLASSES])
    return tuple(name[:_LONGEST_NAME] for name in names[:_MOST_CLASSES]) if plain else ()


def sample_count(dataset: Any) -> int | None:
    try:
        return len(dataset)
    except TypeError:  # a stream
        return None


def batch_count(loader: Any) -> int | None:
    try:
        return len(loader)
    except TypeError:  # a dataset without a length
        return None


def stored_data(dataset: Any, samples: int | None) -> tuple[HeldData, ...]:
    """Attributes with as many entries as there are samples, read without running anything of the user's; of a
    TensorDataset, its tensors."""
    if is_a(dataset, torch.utils.data.TensorDataset):
        return tuple(_described(f"tensors[{at}]", tensor) for at, tensor in enumerate(dataset.tensors[:_MOST]))
    found = []
    for name, value in list(own_attributes(dataset).items())[:_MOST]:
        plain = is_one_of(value, (list, tuple)) or is_a(value, numpy.ndarray) or is_a(value, torch.Tensor)
        if plain and _length(value) >= max(2, samples or 2):
            found.append(_described(name, value))
    return tuple(found)


def _objects_bytes(values: Any) -> int:
    """0 where there are too few to matter; else from a few of them, spread over all."""
    if len(values) < _MANY:
        return 0
    some = values[:: len(values) // _WEIGHED]
    return len(values) * (sum(size_of(value) for value in some) // len(some) + 8)


def _length(value: Any) -> int:
    if is_a(value, numpy.ndarray) or is_a(value, torch.Tensor):
        return int(value.shape[0]) if value.ndim else 0
    return len(value)


def _described(name: str, value: Any) -> HeldData:
    kind = "Tensor" if is_a(value, torch.Tensor) else type(value).__name__
    if is_one_of(value, (list, tuple)):
        return HeldData(name, kind, len(value), type(value[0]).__name__, objects_bytes=_objects_bytes(value))
    return HeldData(name, kind, _length(value), "", int(value.nbytes) // max(1, _length(value)))


# The objects that a dataset is made of, and the methods of theirs that make a sample.
_OBJECTS = 64
_ENTRIES = ("__getitem__", "__getitems__", "__iter__", "__call__", "forward")


def dataset_parts(dataset: object) -> list[object]:
    """The dataset, what it is a part or a union of, and the objects of the user's own classes in them."""
    parts: list[object] = []
    waiting: list[Any] = [dataset]
    while waiting and len(parts) < _OBJECTS:
        part = waiting.pop(0)
        if not any(part is known for known in parts):
            parts.append(part)
            waiting += _inner_parts(part)
    return parts


def _inner_parts(part: object) -> Iterator[Any]:
    for name, value in vars(part).items() if hasattr(part, "__dict__") else ():
        values = value if is_one_of(value, (list, tuple)) and len(value) <= 16 else [value]
        for each in values:
            if name in ("dataset", "datasets", "transforms") or class_source(type(each)) is not None:
                yield each


def sample_methods(statement: ast.ClassDef) -> list[ast.FunctionDef]:
    """What runs when a sample is asked for: these methods, and those they call."""
    methods = methods_of(statement)
    found = [methods[name] for name in _ENTRIES if name in methods]
    for method in found:  # grows meanwhile
        called = {own_attribute_of(part) for part in ast.walk(method)}
        found += [other for name, other in methods.items() if name in called and other not in found]
    return found


def own_attribute_of(node: ast.AST) -> str:
    """rng for self.rng; else empty."""
    match node:
        case ast.Attribute(value=ast.Name(id="self"), attr=name):
            return name
    return ""


# Lists, dictionaries and caches within reach of a dataset: how long they are, and what an entry takes.
_KINDS = (list, dict, set, deque, OrderedDict, defaultdict)
_CACHE = type(functools.lru_cache(len))
_ATTRIBUTES, _GLOBALS = 64, 400  # that are looked at, of one object and of a module
_GROWING_ENTRIES = 8  # of which the size is taken
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
    ends = itertools.islice(reversed(entries), _GROWING_ENTRIES) if hasattr(entries, "__reversed__") else ()
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


# Random generators that a dataset, or a transform of its, keeps as an attribute and draws from.
_GENERATOR_KINDS = (numpy.random.Generator, numpy.random.RandomState, random.Random, torch.Generator)


@dataclass(frozen=True)
class KeptGenerator:
    owner: str  # the class
    attribute: str
    kind: str
    place: Place  # the line that makes it
    drawn: Place  # the first line that draws from it where a sample is made


def kept_generators(dataset: object) -> list[KeptGenerator]:
    found = []
    for owner in dataset_parts(dataset):
        attributes = vars(owner) if hasattr(owner, "__dict__") else {}
        names = [name for name, value in attributes.items() if is_a(value, _GENERATOR_KINDS)]
        found += [generator for name in names if (generator := _kept_generator(owner, name)) is not None]
    return found


def _kept_generator(owner: object, attribute: str) -> KeptGenerator | None:
    source = class_source(type(owner))
    if source is None:
        return None
    file, statement = source
    if any(last_name(part) in ("get_worker_info", "worker_info") for part in ast.walk(statement)):
        return None  # it asks which worker it is
    uses = _uses(sample_methods(statement), attribute)
    if not uses or any(isinstance(use.ctx, ast.Store) for use in uses):
        return None
    kind = type(getattr(owner, attribute)).__name__
    made = attribute_place(type(owner), attribute) or Place()
    return KeptGenerator(type(owner).__name__, attribute, kind, made, place_at(file, min(use.lineno for use in uses)))


# Open files and connections that a dataset, or an object of its, keeps as attributes and reads through.
_FILES = (io.BufferedReader, io.BufferedRandom, io.TextIOWrapper, io.FileIO, gzip.GzipFile)
_INSIDE = {zipfile.ZipFile: "fp", tarfile.TarFile: "fileobj", NpzFile: "fid"}
_LOCKS = "multiprocessing.synchronize"


@dataclass(frozen=True)
class OpenHandle:
    owner: str  # the class
    attribute: str
    kind: str
    file: str
    descriptor: int  # -1 for a connection
    reopened: bool  # where samples are made, something is assigned to the attribute
    opened: Place
    used: Place


def open_handles(dataset: object) -> list[OpenHandle]:
    """Those whose reads no lock of several processes guards, as far as that shows."""
    return [each for part in dataset_parts(dataset) for each in _of(part)]


def _of(part: object) -> Iterator[OpenHandle]:
    source = class_source(type(part))
    attributes = dict(vars(part)) if source is not None and hasattr(part, "__dict__") else {}
    if source is None or any(type(value).__module__ == _LOCKS for value in attributes.values()):
        return
    # Where samples are made; in an object that a dataset only calls, in any method but __init__.
    others = [method for name, method in methods_of(source[1]).items() if name != "__init__"]
    methods = sample_methods(source[1]) or others
    for name, value in attributes.items():
        found = _descriptor(value)
        uses = _uses(methods, name) if found is not None else []
        if found is not None and uses:
            yield OpenHandle(
                owner=type(part).__name__,
                attribute=name,
                kind=type(value).__name__,
                file=found[1],
                descriptor=found[0],
                reopened=any(isinstance(use.ctx, ast.Store) for use in uses),
                opened=attribute_place(type(part), name) or Place(),
                used=place_at(source[0], min(use.lineno for use in uses)),
            )


def _descriptor(value: Any) -> tuple[int, str] | None:
    """Of the file that is read through it, and its name; None for what is closed, or nothing of the kind."""
    if is_a(value, sqlite3.Connection):
        return -1, ""
    inside = next((name for kind, name in _INSIDE.items() if is_a(value, kind)), None)
    file = getattr(value, inside, None) if inside is not None else value
    if not is_a(file, _FILES) or file.closed:
        return None
    try:
        descriptor = file.fileno()
    except (OSError, ValueError, AttributeError):  # a file in memory
        return None
    name = getattr(file, "name", "")
    return descriptor, os.fspath(name) if isinstance(name, (str, os.PathLike)) else ""


def position_of(descriptor: int) -> tuple[int, int, int] | None:
    """Of all processes that have this file from the same open(), behind what tells it from another one that got
    its number; None for a pipe, or a file that was closed."""
    try:
        status = os.fstat(descriptor)
        return status.st_dev, status.st_ino, os.lseek(descriptor, 0, os.SEEK_CUR)
    except OSError:
        return None


def _uses(methods: Iterable[ast.FunctionDef], attribute: str) -> list[ast.Attribute]:
    parts = [part for method in methods for part in ast.walk(method)]
    return [part for part in parts if isinstance(part, ast.Attribute) and own_attribute_of(part) == attribute]
