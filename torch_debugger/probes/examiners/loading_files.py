"""The open files of this process, counted without opening one, and the variable that keeps most of them."""

from __future__ import annotations

import ast
import errno
import io
import os
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

import torch

from torch_debugger.anatomy.kinds import is_a, is_one_of
from torch_debugger.anatomy.sources import place_at, tree_of
from torch_debugger.probes.crash_frames import Seen
from torch_debugger.probes.examiners.scene import Scene
from torch_debugger.probes.spare_files import file_limit
from torch_debugger.records import Place
from torch_debugger.records.evidence.loading import OpenFiles

_COUNTED, _ITEMS, _FEW = 65_536, 20_000, 8
_FILLING = ("append", "add", "extend", "appendleft", "setdefault", "update")


def open_files(scene: Scene) -> OpenFiles | None:
    if not _is_about_files(scene):
        return None
    limit = file_limit()
    opened = sum(_is_open(number) for number in range(min(limit, _COUNTED)))
    name, held, holds, place = max(_holders(scene), key=lambda found: found[1], default=("", 0, "", Place()))
    return OpenFiles(opened, limit, _strategy(), name, held, holds, place)


def _strategy() -> str:
    return str(torch.multiprocessing.get_sharing_strategy())  # type: ignore[no-untyped-call]


def _is_about_files(scene: Scene) -> bool:
    error = scene.error
    if isinstance(error, OSError) and error.errno == errno.EMFILE:
        return True
    receiving = scene.frame_of("recvfds", "reduction.py") is not None
    waiting = scene.frame_of("_try_get_data", "dataloader.py") is not None
    return isinstance(error, RuntimeError) and (
        (receiving and "ancdata" in str(error)) or (waiting and str(error).startswith("Too many open files"))
    )


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


def _holders(scene: Scene) -> Iterator[tuple[str, int, str, Place]]:
    for seen in scene.frames:
        for name, value in list(seen.frame.f_locals.items()) if seen.user else ():
            for path, kept in _containers(name, value):
                shared, files = _count(kept)
                if max(shared, files) >= _FEW:
                    holds = "tensors" if shared >= files else "files"
                    yield path, max(shared, files), holds, _filling_line(seen, path, value)


def _containers(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """The variable, and the lists and dicts an object of the user's keeps."""
    if is_one_of(value, (list, dict, set, deque)):
        yield name, value
    for attribute, kept in list(getattr(value, "__dict__", {}).items()) if not is_a(value, type) else ():
        if is_one_of(kept, (list, dict, set, deque)):
            yield f"{name}.{attribute}", kept


def _count(kept: Any) -> tuple[int, int]:
    leaves = [leaf for leaf, _ in zip(_leaves(kept), range(_ITEMS), strict=False)]
    shared = sum(
        is_a(leaf, torch.Tensor) and leaf.device.type == "cpu" and leaf.is_shared()  # type: ignore[no-untyped-call]
        for leaf in leaves
    )
    return shared, sum(is_a(leaf, io.IOBase) and not leaf.closed for leaf in leaves)


def _leaves(kept: Any, depth: int = 0) -> Iterator[Any]:
    inside: Iterable[Any] = kept.values() if type(kept) is dict else kept
    for item in list(inside):
        if is_one_of(item, (list, tuple, dict, set)) and depth < 3:
            yield from _leaves(item, depth + 1)
        else:
            yield item


def _filling_line(seen: Seen, path: str, value: Any) -> Place:
    """The first line of the user's file that puts something into it."""
    file, name = seen.file, path.rpartition(".")[2]
    for node in ast.walk(tree_of(file) or ast.Module([], [])):
        target = node.func if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else None
        if (
            target is not None
            and target.attr in _FILLING
            and ast.unparse(target.value).rpartition(".")[2] == name
        ):
            return place_at(file, node.lineno)  # type: ignore[attr-defined]
    return Place()
