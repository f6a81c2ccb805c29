"""The very part of an object that pickle refuses, found by trying its parts. Nothing is kept or shared."""

from __future__ import annotations

import functools
import io
import os
import pickle
import sys
from collections.abc import Iterator
from types import FunctionType, GeneratorType, MethodType
from typing import Any

import numpy
import torch

from torch_debugger.anatomy.kinds import is_a
from torch_debugger.anatomy.places import class_place
from torch_debugger.anatomy.sources import place_at
from torch_debugger.clocks import time
from torch_debugger.probes.crash_values import kind_name
from torch_debugger.probes.examiners.loading_scene import attribute_place, start_method
from torch_debugger.probes.examiners.scene import Scene
from torch_debugger.records import Place
from torch_debugger.records.evidence.loading import Unpicklable

_BUDGET_S, _ITEMS, _DEPTH = 0.4, 1000, 8
_REFUSALS = (pickle.PicklingError, AttributeError, TypeError)


class _Trying(pickle.Pickler):
    """Tensors, arrays and what belongs to multiprocessing are left out: they have ways of their own."""

    def persistent_id(self, value: Any) -> str | None:
        data = is_a(value, (torch.Tensor, torch.UntypedStorage, numpy.ndarray))
        return "kept" if data or type(value).__module__.partition(".")[0] == "multiprocessing" else None


class _Nowhere(io.RawIOBase):
    def write(self, data: Any) -> int:
        return len(data)


def unpicklable_part(scene: Scene) -> Unpicklable | None:
    roots, sender, method = _sent(scene) if is_a(scene.error, _REFUSALS) else ([], "", "")
    found = _search(roots, time.monotonic() + _BUDGET_S, 0)
    if found is None:
        return None
    path, value, made = found
    kind, name = _kind(value)
    return Unpicklable(sender, path, kind, name, _made(value) or made, method)


Part = tuple[str, Any, Place]


def _sent(scene: Scene) -> tuple[list[Part], str, str]:
    """What was being pickled, for whom, and how the process is started."""
    saving = scene.frame_of("save", os.path.join("torch", "serialization.py"))
    if saving is not None:
        return [("", saving.frame.f_locals.get("obj"), Place())], "torch.save", ""
    if scene.frame_of("dump", os.path.join("multiprocessing", "reduction.py")) is None:
        return [], "", ""
    loader = scene.frame_of("__init__", "dataloader.py")
    held = loader.frame.f_locals.get("self") if loader is not None else None
    if held is not None and hasattr(held, "_worker_init_fn"):
        names = ("dataset", "collate_fn", "worker_init_fn")
        parts = [(name, getattr(held, f"_{name}"), Place()) for name in names]
        return parts, "DataLoader", start_method(_context(scene))
    start = scene.frame_of("start", os.path.join("multiprocessing", "process.py"))
    process = start.frame.f_locals.get("self") if start is not None else None
    parts = [("target", getattr(process, "_target", None), Place())]
    parts += [(f"args[{place}]", item, Place()) for place, item in enumerate(getattr(process, "_args", ()))]
    return parts, "Process", str(getattr(process, "_start_method", "") or "")


def _context(scene: Scene) -> Any:
    making = scene.frame_of("_get_iterator", "dataloader.py")
    return getattr(making.frame.f_locals.get("self"), "multiprocessing_context", None) if making else None


def _search(parts: Iterator[Part] | list[Part], deadline: float, depth: int) -> Part | None:
    """The innermost part that cannot be pickled by itself."""
    for path, value, made in parts:
        if time.monotonic() > deadline or depth > _DEPTH:
            return None
        if not _pickles(value):
            return _search(_inside(path, value), deadline, depth + 1) or (path, value, made)
    return None


def _pickles(value: Any) -> bool:
    try:
        _Trying(_Nowhere(), pickle.HIGHEST_PROTOCOL).dump(value)
    except Exception:  # whatever the user's own __reduce__ raises is a refusal as well
        return False
    return True


def _inside(path: str, value: Any) -> Iterator[Part]:
    if is_a(value, dict):
        items = zip(range(_ITEMS), list(value.items()), strict=False)
        yield from ((f"{path}[{key!r}]", item, Place()) for _, (key, item) in items)
    elif is_a(value, (list, tuple, set, frozenset)):
        yield from (
            (f"{path}[{place}]", item, Place()) for place, item in zip(range(_ITEMS), value, strict=False)
        )
    elif is_a(value, functools.partial):
        yield from ((f"{path}.{name}", getattr(value, name), Place()) for name in ("func", "args", "keywords"))
    elif is_a(value, MethodType):
        yield path, value.__self__, Place()
    elif not is_a(value, (FunctionType, type)) and not _has_own_state(value):
        yield from _attributes(path, value)


def _has_own_state(value: Any) -> bool:
    """What a class of the user's sends instead of its attributes is not known."""
    if is_a(value, torch.nn.Module):
        return False
    own = getattr(type(value), "__getstate__", None)
    return own is not None and own is not getattr(object, "__getstate__", None)


def _attributes(path: str, value: Any) -> Iterator[Part]:
    for name, item in list(getattr(value, "__dict__", {}).items()):
        if name == "_modules":
            yield from (
                (f"{path}.{key}", module, attribute_place(type(value), key)) for key, module in item.items()
            )
        else:
            yield f"{path}.{name}", item, attribute_place(type(value), name)


def _kind(value: Any) -> tuple[str, str]:
    if is_a(value, FunctionType):
        return ("lambda", "") if value.__name__ == "<lambda>" else ("local function", value.__name__)
    if is_a(value, type):
        return "local class", value.__name__
    if _is_lost(type(value)):
        return "local class", type(value).__name__
    if is_a(value, io.IOBase):
        return "open file", str(getattr(value, "name", ""))
    if is_a(value, GeneratorType):
        return "generator", value.__name__
    return ("lock", "") if type(value).__module__ == "_thread" else (kind_name(type(value)), "")


def _made(value: Any) -> Place:
    """Where a function or class is written; other values are known by the line that keeps them."""
    if is_a(value, FunctionType):
        return place_at(value.__code__.co_filename, value.__code__.co_firstlineno)
    cls = value if is_a(value, type) else type(value)
    return class_place(cls) if _is_lost(cls) else Place()


def _is_lost(cls: type) -> bool:
    """Not to be found under its own name, which is how pickle looks for it."""
    return getattr(sys.modules.get(cls.__module__), cls.__qualname__, None) is not cls
