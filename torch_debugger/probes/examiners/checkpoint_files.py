"""The file that torch.load or torch.save could not read or write."""

from __future__ import annotations

import dataclasses
import difflib
import io
import itertools
import os
import re
import shutil
import zipfile
from collections import OrderedDict
from collections.abc import Iterator
from pathlib import PurePath
from typing import Any

from torch_debugger.anatomy.kinds import is_a, is_one_of, own_attributes
from torch_debugger.probes.crash_frames import is_tensor
from torch_debugger.probes.examiners.file_forms import ends_of, first_words, form_of
from torch_debugger.probes.examiners.scene import Scene
from torch_debugger.records.evidence.checkpoints import FileFact

_SUFFIXES = (".pt", ".pth", ".ckpt", ".bin", ".tar", ".pkl", ".safetensors", ".th")
_FILES, _NEAR, _DEPTH = 2000, 3, 6
_TEXTS = ("html", "lfs-pointer", "json", "text")


def examine_file(scene: Scene, function: str) -> FileFact | None:
    """Of torch.load or torch.save, where torch itself and not an object of the user's raised."""
    seen = scene.frame_of(function, "serialization.py")
    if seen is None or scene.innermost is None or scene.innermost.user:
        return None
    given = seen.frame.f_locals.get("f")
    path = path_given(given)
    if path is None:
        return _in_memory(given) if is_a(given, io.BytesIO) else None
    if function == "load":
        return _to_read(path)
    fact = _to_write(path, seen.frame.f_locals.get("obj"))
    return dataclasses.replace(fact, os_name=_name_of_os(scene))


def _in_memory(given: io.BytesIO) -> FileFact:
    with given.getbuffer() as content:
        head, tail, size = bytes(content[:256]), bytes(content[-512:]), len(content)
    return FileFact("", size_bytes=size, form=form_of(head, tail, size), buffer=True)


def _name_of_os(scene: Scene) -> str:
    user = scene.user_frame
    held = {**user.frame.f_globals, **user.frame.f_locals} if user is not None else {}
    return next((name for name, value in held.items() if value is os), "")


def path_given(given: Any) -> str | None:
    """The path given, or that of the open file given."""
    has_name = is_a(given, io.IOBase) and hasattr(given, "name")
    named = given.name if has_name else own_attributes(given).get("name", given)
    return str.__str__(named) if is_a(named, str) else str(named) if is_a(named, PurePath) else None


def _to_read(path: str) -> FileFact:
    folder = os.path.dirname(os.path.abspath(path))
    if os.path.isdir(path):
        return FileFact(path, folder=True, near=tuple(_checkpoints_in(path))[:_NEAR])
    if not os.path.isfile(path):
        found = os.path.isdir(folder)
        return FileFact(path, exists=False, parent_exists=found, near=_near(path, folder) if found else ())
    head, tail, size = ends_of(path)
    form = form_of(head, tail, size)
    form = _archive(path) if form == "zip" else form
    promised = re.search(rb"^size (\d+)", head, re.MULTILINE) if form == "lfs-pointer" else None
    start = first_words(head) if form in _TEXTS else ""
    return FileFact(
        path, size_bytes=size, form=form, start=start, expected_bytes=int(promised[1]) if promised else 0
    )


def _archive(path: str) -> str:
    """torch-zip, torchscript, or any other archive, by the names of its entries."""
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
    if any(name.endswith("/constants.pkl") for name in names):
        return "torchscript"
    return "torch-zip" if any(name.endswith("/data.pkl") for name in names) else "zip"


def _near(path: str, folder: str) -> tuple[str, ...]:
    wanted = os.path.basename(path)
    names = list(_checkpoints_in(folder))
    similar = difflib.get_close_matches(wanted.lower(), [name.lower() for name in names], _NEAR, 0.6)
    ranked = [name for low in similar for name in names if name.lower() == low]
    return tuple(dict.fromkeys(ranked)) or tuple(names[:_NEAR])


def _checkpoints_in(folder: str) -> Iterator[str]:
    with os.scandir(folder) as entries:
        names = [entry.name for entry in itertools.islice(entries, _FILES)]
    return (name for name in sorted(names) if name.lower().endswith(_SUFFIXES))


def _to_write(path: str, value: Any) -> FileFact:
    folder = os.path.dirname(os.path.abspath(path))
    found = os.path.isdir(folder)
    return FileFact(
        path,
        writing=True,
        exists=os.path.exists(path),
        folder=os.path.isdir(path),
        parent_exists=found,
        size_bytes=os.path.getsize(path) if os.path.isfile(path) else 0,
        expected_bytes=_bytes(value),
        free_bytes=shutil.disk_usage(folder).free if found else -1,
    )


def _bytes(value: Any, depth: int = 0) -> int:
    """Of the tensors in nested plain containers."""
    if is_tensor(value):
        return int(value.numel() * value.element_size())
    if depth >= _DEPTH:
        return 0
    if is_one_of(value, (dict, OrderedDict)):
        return sum(_bytes(item, depth + 1) for item in value.values())
    return sum(_bytes(item, depth + 1) for item in value) if is_one_of(value, (list, tuple)) else 0
