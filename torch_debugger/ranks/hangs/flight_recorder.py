"""Collectives that are under way, as PyTorch's flight recorder has them: NCCL's, and only where it is on."""

from __future__ import annotations

import json
from typing import Any

from torch_debugger.anatomy.sources import is_user_file

_MOST = 8


def collectives_under_way() -> tuple[str, ...]:
    """all_reduce of [4096], number 21, started, at train.py:88; empty where nothing is recorded."""
    try:
        from torch._C import _distributed_c10d
    except ImportError:  # a torch without torch.distributed
        return ()
    dump = getattr(_distributed_c10d, "_dump_nccl_trace_json", None)
    if dump is None:  # a torch without NCCL
        return ()
    try:
        text = dump(includeCollectives=True, onlyActive=True)
    except (RuntimeError, TypeError):  # the recorder is off, or of another version
        return ()
    return read_entries(text)


def read_entries(text: str | bytes) -> tuple[str, ...]:
    """Of a dump in JSON, which runs nothing; what cannot be read is left out."""
    try:
        dump = json.loads(text)
    except ValueError:
        return ()
    entries = dump.get("entries", []) if isinstance(dump, dict) else []
    active = [each for each in entries if isinstance(each, dict) and each.get("state") != "completed"]
    return tuple(_words(each) for each in active[-_MOST:])


def _words(entry: dict[str, Any]) -> str:
    name = str(entry.get("profiling_name", "a collective")).removeprefix("nccl:")
    number = entry.get("collective_seq_id", entry.get("seq_id", "?"))
    frames = [frame for frame in entry.get("frames") or [] if isinstance(frame, dict)]
    users = (frame for frame in frames if is_user_file(str(frame.get("filename", ""))))
    line = next((f", at {frame['filename']}:{frame.get('line')}" for frame in users), "")
    sizes = entry.get("input_sizes")
    listed = sizes if isinstance(sizes, list) else []
    given = ", ".join(json.dumps(size) if size else "a scalar" for size in listed) or "no tensor"
    return f"{name} of {given}, number {number}, {entry.get('state', 'under way')}{line}"
