"""Open files and connections that a dataset, or an object of its, keeps as attributes and reads through."""

from __future__ import annotations

import ast
import gzip
import io
import os
import sqlite3
import tarfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from numpy.lib.npyio import NpzFile

from torch_debugger.anatomy.dataset_parts import asked_by_workers, dataset_parts, own_attribute_of
from torch_debugger.anatomy.kinds import is_a
from torch_debugger.anatomy.sources import class_source, place_at
from torch_debugger.anatomy.statements import attribute_place
from torch_debugger.records import Place

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
    held = dict(vars(part)) if source is not None and hasattr(part, "__dict__") else {}
    if source is None or any(type(value).__module__ == _LOCKS for value in held.values()):
        return
    for name, value in held.items():
        found = _descriptor(value)
        uses = _uses(source[1], name) if found is not None else []
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


def _uses(statement: ast.ClassDef, attribute: str) -> list[ast.Attribute]:
    """Where samples are made; in an object that a dataset only calls, in any method but the first."""
    methods = asked_by_workers(statement) or [
        node for node in statement.body if isinstance(node, ast.FunctionDef) and node.name != "__init__"
    ]
    parts = [part for method in methods for part in ast.walk(method)]
    return [part for part in parts if isinstance(part, ast.Attribute) and own_attribute_of(part) == attribute]
