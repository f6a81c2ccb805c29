"""Reads what W&B keeps of an offline run: LevelDB's log format around its own protobuf messages."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from wandb.proto.wandb_internal_pb2 import Record

_HEADER, _BLOCK, _CHUNK_HEADER = 7, 32768, 7
_FULL, _LAST = 1, 4


def messages(path: Path) -> Iterator[Record]:
    data, position, held = path.read_bytes(), _HEADER, b""
    assert data.startswith(b":W&B")
    while position + _CHUNK_HEADER <= len(data):
        left = _BLOCK - position % _BLOCK
        if left < _CHUNK_HEADER:
            position += left
            continue
        size, kind = int.from_bytes(data[position + 4 : position + 6], "little"), data[position + 6]
        position += _CHUNK_HEADER
        held += data[position : position + size]
        position += size
        if kind in (_FULL, _LAST):
            record = Record()
            record.ParseFromString(held)
            held = b""
            yield record


class WandbRun:
    """Rows, config and summary of one offline run."""

    def __init__(self, folder: Path) -> None:
        (path,) = folder.glob("*.wandb")
        self.rows: list[dict[str, Any]] = []
        self.config: dict[str, Any] = {}
        self.summary: dict[str, Any] = {}
        self.files: list[str] = []
        self.exit_code: int | None = None
        for message in messages(path):
            self._see(message)

    def _see(self, message: Record) -> None:
        match message.WhichOneof("record_type"):
            case "run":
                self.name, self.project, self.id = (
                    message.run.display_name,
                    message.run.project,
                    message.run.run_id,
                )
            case "history":
                self.rows.append(_values(message.history.item))
            case "config":
                self.config |= _values(message.config.update)
            case "summary":
                self.summary |= _values(message.summary.update)
            case "files":
                self.files += [file.path for file in message.files.files]
            case "exit":
                self.exit_code = message.exit.exit_code

    def series(self, key: str, step: str = "step") -> list[tuple[int, float]]:
        return [(row[step], float(row[key])) for row in self.rows if key in row]


def _values(items: Any) -> dict[str, Any]:
    return {item.key or "/".join(item.nested_key): json.loads(item.value_json) for item in items}


def offline_runs(folder: Path) -> list[WandbRun]:
    return [WandbRun(path) for path in sorted(folder.rglob("offline-run-*"))]
