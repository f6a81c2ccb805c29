"""Runs of W&B on this machine: `wandb/*run-*/*.wandb`, LevelDB's log format around protobuf messages."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from torch_debugger.archive.parsing import FOREIGN
from torch_debugger.integrations.foreign.foreign_run import ForeignRun
from torch_debugger.integrations.foreign.inside import files_below, read_inside
from torch_debugger.records import Scalars
from torch_debugger.records.surroundings import HparamValue
from torch_debugger.runlog.wire import fields, message

# The log: a header, then blocks of chunks. A record that spans chunks is FIRST, MIDDLE ..., LAST.
_MAGIC = b":W&B"
_FILE_HEADER, _BLOCK, _CHUNK_HEADER = 7, 32768, 7
_FULL, _FIRST, _MIDDLE, _LAST = 1, 2, 3, 4
# Numbers of fields in its messages.
_HISTORY, _CONFIG, _RUN, _EXIT = 2, 5, 17, 18
_ITEM, _ITEM_KEY, _ITEM_NESTED_KEY, _ITEM_VALUE = 1, 1, 2, 16
_RUN_ID, _RUN_CONFIG, _RUN_NAME = 1, 4, 8
_EXIT_CODE = 1


def find_wandb_files(source: Path) -> list[Path]:
    found = files_below(source) if source.is_dir() else [source.resolve()]
    return [path for path in found if path.suffix == ".wandb"]


def read_wandb_run(root: Path, path: Path) -> ForeignRun:
    """What is there; a file that ends in the middle, or is damaged, is read up to there."""
    run = ForeignRun(f"wandb-{path.stem.removeprefix('run-')}", path.stem)
    for number, record in enumerate(_records(read_inside(root, path))):
        try:
            _add(run, record)
        except FOREIGN:
            run.damaged.append(f"{path} is damaged from its record {number + 1:,} on.")
            break
    return run


def _records(data: bytes) -> Iterator[bytes]:
    position, held = _FILE_HEADER, bytearray()  # to which a part is added without copying the others
    while data.startswith(_MAGIC) and position + _CHUNK_HEADER <= len(data):
        left = _BLOCK - position % _BLOCK
        if left < _CHUNK_HEADER:
            position += left
            continue
        start = position + _CHUNK_HEADER
        position = start + int.from_bytes(data[start - 3 : start - 1], "little")
        kind = data[start - 1]
        if not _FULL <= kind <= _LAST or position > len(data):
            return
        if kind in (_FULL, _FIRST):
            held.clear()
        held += data[start:position]
        if kind in (_FULL, _LAST):
            yield bytes(held)


def _add(run: ForeignRun, record: bytes) -> None:
    parts = message(record)
    if _RUN in parts:
        about = message(parts[_RUN])
        run.name = (about.get(_RUN_NAME) or about[_RUN_ID]).decode("utf-8", "replace")
        run.hparams |= _settings(about.get(_RUN_CONFIG, b""))
    elif _CONFIG in parts:
        run.hparams |= _settings(parts[_CONFIG])
    elif _EXIT in parts:
        run.outcome = "crashed" if message(parts[_EXIT]).get(_EXIT_CODE, 0) else "finished"
    elif _HISTORY in parts:
        row = {key: number for key, value in _items(parts[_HISTORY]) if (number := _number(value)) is not None}
        time, step = row.pop("_timestamp", 0.0), int(row.pop("_step", 0))
        row.pop("_runtime", None)
        run.points.append(Scalars(step, time, row))


def _settings(config: bytes) -> dict[str, HparamValue]:
    """Without what W&B keeps there for itself."""
    items = (pair for key, value in _items(config) if key != "_wandb" for pair in _flat(key, value))
    return {key: value for key, value in items if isinstance(value, HparamValue)}


def _flat(key: str, value: Any) -> Iterator[tuple[str, Any]]:
    if not isinstance(value, dict):
        yield key, value
        return
    for inner, each in value.items():
        yield from _flat(f"{key}.{inner}", each)


def _items(data: bytes) -> Iterator[tuple[str, Any]]:
    for number, item in fields(data):
        if number == _ITEM:
            parts = [*fields(item)]
            keys = [value for field, value in parts if field in (_ITEM_KEY, _ITEM_NESTED_KEY)]
            value = next((value for field, value in parts if field == _ITEM_VALUE), b"null")
            yield "/".join(key.decode("utf-8", "replace") for key in keys), json.loads(value)


def _number(value: Any) -> float | None:
    """JSON has no NaN and no infinity: W&B writes them as text."""
    if value in ("NaN", "Infinity", "-Infinity"):
        return float(value)
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if is_number else None
