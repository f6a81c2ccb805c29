"""Runs of W&B on this machine: `wandb/*run-*/*.wandb`, LevelDB's log format around protobuf messages."""

from __future__ import annotations

import json
import wave
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from torch_debugger.archive.parsing import FOREIGN
from torch_debugger.integrations.foreign.foreign_run import NO_STEP, ForeignRun, NoStepError, step_of
from torch_debugger.integrations.foreign.inside import read_inside
from torch_debugger.integrations.foreign.wandb_media import NoFormError, summaries_of
from torch_debugger.records import Scalars
from torch_debugger.records.surroundings import HparamValue
from torch_debugger.runlog.wire import fields, message

# The log: a header, then blocks of chunks, each with the CRC-32 of its kind and content. A record that spans
# chunks is FIRST, MIDDLE ..., LAST.
_MAGIC = b":W&B"
_FILE_HEADER, _BLOCK, _CHUNK_HEADER = 7, 32768, 7
_FULL, _FIRST, _MIDDLE, _LAST = 1, 2, 3, 4
# Numbers of fields in its messages.
_HISTORY, _CONFIG, _RUN, _EXIT = 2, 5, 17, 18
_ITEM, _ITEM_KEY, _ITEM_NESTED_KEY, _ITEM_VALUE = 1, 1, 2, 16
_RUN_ID, _RUN_CONFIG, _RUN_NAME = 1, 4, 8
_EXIT_CODE = 1


def read_wandb_run(root: Path, path: Path) -> ForeignRun:
    """What is there; a file that ends in the middle, or is damaged, is read up to there."""
    run = ForeignRun(f"wandb-{path.stem.removeprefix('run-')}", path.stem)
    for start, record in _records(read_inside(root, path)):
        try:
            if record is None:
                run.damaged.append(f"{path} is damaged from its byte {start:,} on; the rest of it is not read.")
            else:
                _add(run, record, root, path)
        except NoStepError:
            run.left_out[f"{path}: {NO_STEP}"] += 1
        except FOREIGN:
            run.left_out[f"{path}: records left out, as they hold something else than W&B writes"] += 1
    return run


def _records(data: bytes) -> Iterator[tuple[int, bytes | None]]:
    """Where each begins, and what it holds. The last is None if the file is damaged from there on."""
    position = start = _FILE_HEADER if data.startswith(_MAGIC) and len(data) >= _FILE_HEADER else 0
    held, is_open = bytearray(), False  # to which a part is added without copying the others
    while _FILE_HEADER <= position < len(data):
        left = _BLOCK - position % _BLOCK
        if left < _CHUNK_HEADER:
            position += left
            continue
        start = start if is_open else position
        body = position + _CHUNK_HEADER
        end = body + int.from_bytes(data[body - 3 : body - 1], "little")
        checked = data[body - 1 : end]  # its kind too
        is_sound = end <= len(data) and zlib.crc32(checked) == int.from_bytes(
            data[position : body - 3], "little"
        )
        if not is_sound or checked[0] not in ((_MIDDLE, _LAST) if is_open else (_FULL, _FIRST)):
            break
        held += checked[1:]
        position, is_open = end, checked[0] in (_FIRST, _MIDDLE)
        if not is_open:
            yield start, bytes(held)
            held.clear()
    if is_open or position < max(len(data), _FILE_HEADER):
        yield start, None


def _add(run: ForeignRun, record: bytes, root: Path, path: Path) -> None:
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
        items = dict(_items(parts[_HISTORY]))
        step = step_of(items.pop("_step", 0))
        media = _media_of(items)
        row = {key: number for key, value in items.items() if (number := _number(value)) is not None}
        time = row.pop("_timestamp", 0.0)
        row.pop("_runtime", None)
        run.points.append(Scalars(step, time, row))
        for key, value in media.items():
            _add_media(run, root, path, key, value, step, time)


def _media_of(items: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """What the client has described field by field (`sample/_type`, `sample/path`), taken out of the row."""
    found = {key: items.pop(key) for key, value in list(items.items()) if isinstance(value, dict)}
    for key in [name.removesuffix("/_type") for name in items if name.endswith("/_type")]:
        parts = [name for name in items if name.startswith(f"{key}/")]
        found[key] = {name.removeprefix(f"{key}/"): items.pop(name) for name in parts}
    return found


def _add_media(run: ForeignRun, root: Path, path: Path, key: str, value: Any, step: int, time: float) -> None:
    try:
        run.summaries += summaries_of(root, path.parent / "files", key, value, step, time)
    except NoFormError as error:
        run.left_out[f"{path}: values left out, as a log has no form for {error}"] += 1
    except (OSError, EOFError, wave.Error, SyntaxError, *FOREIGN):  # what wave and Pillow raise besides
        run.left_out[
            f"{path}: images, sounds and tables left out, as they are not there or cannot be read"
        ] += 1


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
