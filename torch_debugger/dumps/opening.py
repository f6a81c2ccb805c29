"""A memory snapshot by its file: JSON of ours, or a pickle of PyTorch's, which a process of its own reads.

A pickle can hold more than it seems to: counts that ask for all memory there is, lists inside of themselves. So
it is read where that ends nothing but the reading: with limits of memory and time. Plain data comes back.
"""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from typing import Any

from torch_debugger.errors import UsageError
from torch_debugger.records import MemorySnapshot
from torch_debugger.records.codec import from_plain, to_plain
from torch_debugger.records.units import bytes_text

FORMAT = "torch-debugger memory snapshot"
VERSION = 1
EXPECTED = "a file of torch.cuda.memory._dump_snapshot(), or of save() of torch_debugger.memory.snapshot()"

_LARGEST_BYTES = 4_000_000_000
_LARGEST_JSON_BYTES = 20_000_000  # ours have a few; read, they take 25 times as much memory
_LIMIT_S = 300
# The folder it is called in has no say in what is imported: it came with the file, perhaps.
_READS = """import sys
sys.path[:] = [*filter(None, sys.path), sys.argv.pop(1)]
from torch_debugger.dumps.reading import main
main()"""
_PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def open_snapshot(path: str | os.PathLike[str]) -> MemorySnapshot:
    """UsageError, with a sentence, for whatever is no snapshot."""
    file = os.fspath(path)
    try:
        found = os.stat(file)
        if not stat.S_ISREG(found.st_mode):
            kind = "a folder" if stat.S_ISDIR(found.st_mode) else "no plain file"
            raise UsageError(f"{file} is {kind}. Expected is {EXPECTED}.")
        size = found.st_size
        with open(file, "rb") as opened:
            start = opened.read(64)
    except FileNotFoundError:
        raise UsageError(f"There is no file {file} (looked in {os.getcwd()}).") from None
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}.") from error
    is_json = start.lstrip()[:1] == b"{"
    _require_size(file, size, _LARGEST_JSON_BYTES if is_json else _LARGEST_BYTES)
    if is_json:
        return _from_json_file(file)
    _require_pickle(file, start)
    return _from_pickle(file)


def snapshot_from_json(text: str, what: str) -> MemorySnapshot:
    try:
        plain = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{what} is damaged JSON ({error}). Write it again with save().") from error
    if not isinstance(plain, dict) or plain.get("format") != FORMAT:
        raise UsageError(f"{what} is JSON, but no memory snapshot. Expected is {EXPECTED}.")
    if plain.get("version") != VERSION:
        raise UsageError(
            f"{what} has version {plain.get('version')!r} and this torch-debugger reads {VERSION}: "
            "open it with the one that wrote it, or a newer one."
        )
    try:
        record = from_plain("MemorySnapshot", plain.get("snapshot"))
    except (TypeError, KeyError, RecursionError) as error:
        raise UsageError(f"{what} is damaged: {error}. Write it again with save().") from error
    assert isinstance(record, MemorySnapshot)
    return record


def snapshot_to_json(snapshot: MemorySnapshot) -> str:
    return json.dumps({"format": FORMAT, "version": VERSION, "snapshot": to_plain(snapshot)}, indent=1)


def _from_json_file(file: str) -> MemorySnapshot:
    with open(file, encoding="utf-8", errors="replace") as opened:
        return snapshot_from_json(opened.read(_LARGEST_JSON_BYTES), file)


def _require_size(file: str, size: int, largest: int) -> None:
    if not size:
        raise UsageError(f"{file} is empty. Expected is {EXPECTED}.")
    if size > largest:
        raise UsageError(
            f"{file} has {bytes_text(size)}; up to {bytes_text(largest)} of such a file are read. Record less: "
            "torch.cuda.memory._record_memory_history(max_entries=100_000)."
        )


def _require_pickle(file: str, start: bytes) -> None:
    if start.startswith(b"PK"):
        raise UsageError(
            f"{file} is a zip, as torch.save writes. Expected is {EXPECTED}: write the snapshot with that."
        )
    if start.startswith(b"\x1f\x8b"):
        raise UsageError(f"{file} is packed with gzip. Unpack it first: gunzip {file}")
    # A pickle of protocol 2 or newer begins with its number; torch writes no older ones.
    if len(start) < 2 or start[0] != 0x80 or not 2 <= start[1] <= 5:
        raise UsageError(f"{file} is no pickle and no JSON. Expected is {EXPECTED}.")


def _from_pickle(file: str) -> MemorySnapshot:
    """In a process of its own."""
    try:
        done = subprocess.run(
            [sys.executable, "-c", _READS, _PACKAGE, os.path.abspath(file)],
            cwd=os.sep,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=_LIMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise UsageError(f"Reading {file} took more than {_LIMIT_S} s and was given up.") from None
    answer = _answer(done.stdout)
    if "text" in answer:
        _require_size(file, len(answer["text"]), _LARGEST_JSON_BYTES)
        return snapshot_from_json(answer["text"], file)
    reason = answer.get("reason") or (
        "reading it takes more memory or time than a snapshot does, or its end is missing"
    )
    raise UsageError(f"{file} was not opened: {reason}. Expected is {EXPECTED}. Nothing in it was run.")


def _answer(output: bytes) -> dict[str, Any]:
    try:
        answer = json.loads(output)
    except ValueError:  # it was ended: by a limit, or by the system
        return {}
    return answer if isinstance(answer, dict) else {}
