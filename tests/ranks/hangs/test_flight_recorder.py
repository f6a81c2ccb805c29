"""PyTorch's flight recorder: dumps in its JSON form, made by hand, and one that was recorded."""

from __future__ import annotations

import json
from pathlib import Path

from torch_debugger.ranks.hang_waits import collectives_under_way, read_entries

ENTRY = {
    "profiling_name": "nccl:all_reduce",
    "collective_seq_id": 21,
    "input_sizes": [[4096, 1024]],
    "state": "started",
    "frames": [
        {
            "name": "all_reduce",
            "filename": "/usr/lib/python3.11/site-packages/torch/distributed/x.py",
            "line": 3,
        },
        {"name": "main", "filename": "/home/me/train.py", "line": 88},
    ],
}


def test_what_is_under_way_is_told() -> None:
    text = json.dumps({"version": "2.5", "entries": [{**ENTRY, "state": "completed"}, ENTRY]})
    assert read_entries(text) == ("all_reduce of [4096, 1024], number 21, started, at /home/me/train.py:88",)


def test_what_cannot_be_read_is_left_out() -> None:
    for text in ("", "[]", "{", '{"entries": [3]}', b"\x80\x04pickle"):
        assert read_entries(text) == ()


def test_an_entry_may_lack_everything() -> None:
    assert read_entries('{"entries": [{}]}') == ("a collective of no tensor, number ?, under way",)


def test_without_nccl_there_is_nothing() -> None:
    assert collectives_under_way() == ()


def test_a_dump_that_nccl_has_written() -> None:
    """On an H200 with torch 2.11 and NCCL 2.28, while an all_reduce waited for the kernel before it."""
    text = (Path(__file__).parent / "recorded_dump.json").read_bytes()
    assert read_entries(text) == ("all_reduce of a scalar, number 41, scheduled",)
