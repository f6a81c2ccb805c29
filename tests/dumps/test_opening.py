"""Memory snapshots from files: what PyTorch writes is read, and nothing in a file is ever run."""

from __future__ import annotations

import gzip
import json
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.dumps.made import MB, block, event, leaking, segment, stack, write
from torch_debugger.memory.snapshot_pickles import answer
from torch_debugger.memory.snapshots import open_snapshot, read_allocator, snapshot_from_json, snapshot_to_json
from torch_debugger.system.errors import UsageError

EXPECTED = "a file of torch.cuda.memory._dump_snapshot(), or of save() of torch_debugger.memory.snapshot()"


def said(path: Path) -> str:
    with pytest.raises(UsageError) as refused:
        open_snapshot(path)
    return str(refused.value).removeprefix(f"{path} ")


def reason(path: Path, content: bytes) -> str:
    """As the process that reads a pickle finds it, told here: a process takes a second to start."""
    path.write_bytes(content)
    return str(answer(str(path))["reason"])


def test_a_leak_and_a_peak_are_found(tmp_path: Path) -> None:
    found = open_snapshot(write(tmp_path / "snapshot.pickle", leaking()))
    assert [(spot.place.line, spot.size_bytes, spot.count) for spot in found.spots] == [
        (31, 16 * MB, 4),
        (9, 2 * MB, 1),
    ]
    assert found.spots[0].place.file == "/home/a/train.py", "not torch's own line, and not the runner's"
    (device,) = found.devices
    assert (device.device, device.used_bytes, device.reserved_bytes) == ("cuda:0", 18 * MB, 64 * MB)
    assert device.peak_bytes == 75 * MB, "64 for a while, 8 of the leak, 2 of before, 1 that was freed later"
    assert [(spot.place.line, spot.size_bytes) for spot in found.at_peak] == [
        (20, 64 * MB),
        (31, 8 * MB),
        (9, 2 * MB),
        (None, 1 * MB),
    ]
    assert found.source == "allocator history"
    assert found.notes == ()


def test_the_history_ends_with_what_is_in_use() -> None:
    found = read_allocator(leaking())
    assert found.curve_bytes[-1] == 18 * MB
    assert max(found.curve_bytes) == 75 * MB


def test_a_long_history_is_thinned_and_keeps_its_peak() -> None:
    trace = []
    for turn in range(2000):
        size = 9 * MB if turn == 777 else MB
        trace += [event("alloc", 0x100, size, stack(5)), event("free_completed", 0x100, size)]
    found = read_allocator({"segments": [], "device_traces": [trace]})
    assert len(found.curve_bytes) == 400
    assert max(found.curve_bytes) == found.devices[0].peak_bytes == 9 * MB


def test_without_a_history_it_says_why_there_are_no_lines() -> None:
    plain = {"segments": [segment(0, [block(0x1000, MB), block(0x2000, MB, state="inactive")])]}
    found = read_allocator(plain)
    assert found.source == "allocator"
    (note,) = found.notes
    assert note.startswith("No line is known for 100 % of the memory in use")
    assert "with torch_debugger.memory.record():" in note


def test_the_list_of_memory_snapshot_is_read_too() -> None:
    """`torch.cuda.memory_snapshot()`, and blocks of old versions, which have no address of their own."""
    old = {"size": MB, "state": "active_allocated", "history": [{"frames": stack(7)}]}
    found = read_allocator([{"device": 1, "address": 0x10, "total_size": MB, "blocks": [old]}])
    (spot,) = found.spots
    assert (spot.place.line, spot.device) == (7, "cuda:1")


class Runs:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.path),)


def test_a_hostile_pickle_runs_nothing(tmp_path: Path) -> None:
    mark, path = tmp_path / "ran", tmp_path / "snapshot.pickle"
    hostile = Runs(mark)
    for inside in (hostile, {"segments": [hostile]}, {hostile: 1}):
        assert reason(path, pickle.dumps(inside)) == "it names `posix.mkdir`, which opening it would run"
        assert not mark.exists()
    assert said(path) == (
        f"was not opened: it names `posix.mkdir`, which opening it would run. Expected is {EXPECTED}. "
        "Nothing in it was run."
    )
    assert not mark.exists()


def test_names_of_our_own_package_are_refused_like_all_others(tmp_path: Path) -> None:
    path = tmp_path / "snapshot.pickle"
    named = "it names `torch_debugger.memory.snapshots.load`"
    newer = b"\x80\x04\x8c\x1ftorch_debugger.memory.snapshots\x94\x8c\x04load\x94\x93\x8c\x01x\x85R."
    assert named in reason(path, newer)
    older = b"\x80\x02ctorch_debugger.memory.snapshots\nload\nX\x01\x00\x00\x00x\x85R."
    assert named in reason(path, older)
    no_text = b"\x80\x02ctorch_debugger.memory.snapshots\nfrom_json\nK\x01\x85R."
    assert "its snapshot of torch-debugger is no text" in reason(path, no_text)


REASONS = [
    (pickle.dumps(leaking())[:-600], "its end is missing"),
    (b"\x80\x04", "its end is missing"),
    (
        b"\x80\x04]\x94h\x00a.",
        "its segments should be dictionaries, and one is of type list",
    ),  # in itself
    (b"\x80\x02Q.", "it is damaged"),
    (b"\x80\x04\x99\x99", "it is damaged (UnpicklingError)"),
    (pickle.dumps({"loss": 1, "step": 2}), "it is a dictionary without `segments`; in it are: loss, step"),
    (pickle.dumps("segments"), "it holds a value of type str and no dictionary"),
    (pickle.dumps({"segments": [1]}), "its segments should be dictionaries, and one is of type int"),
    (pickle.dumps({"segments": [{}]}), "a segment in it has no `blocks` or no `total_size`"),
    (pickle.dumps({"segments": {"a": 1}}), "its segments should be a list and are of type dict"),
]
TOO_LARGE = [b"\x80\x04Nr\xff\xff\xff\x7f.", b"\x80\x05\x96\x00\x00\x00\x00\x10\x00\x00\x00abc."]


def test_what_is_no_snapshot_gets_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "snapshot.pickle"
    for content, expected in REASONS:
        assert reason(path, content).startswith(expected), content
    sentence = said(path)
    assert sentence.startswith(f"was not opened: {expected}")
    assert sentence.endswith(f"Expected is {EXPECTED}. Nothing in it was run.")


def test_a_memo_of_two_billion_entries_and_a_text_of_64_gb_end_nothing_but_the_reading(tmp_path: Path) -> None:
    path = tmp_path / "snapshot.pickle"
    for content in TOO_LARGE:
        path.write_bytes(content)
        assert said(path).startswith("was not opened: it asks for too much memory"), content


OTHERS = [
    (b"", f"is empty. Expected is {EXPECTED}."),
    (b"epoch,loss\n", f"is no pickle and no JSON. Expected is {EXPECTED}."),
    (
        b"PK\x03\x04rest",
        f"is a zip, as torch.save writes. Expected is {EXPECTED}: write the snapshot with that.",
    ),
    (b'{"a": 1}', f"is JSON, but no memory snapshot. Expected is {EXPECTED}."),
]


def test_another_kind_of_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    for content, sentence in OTHERS:
        path.write_bytes(content)
        assert said(path) == sentence


def test_a_packed_file_a_folder_and_none(tmp_path: Path) -> None:
    packed = tmp_path / "snapshot.pickle.gz"
    packed.write_bytes(gzip.compress(pickle.dumps(leaking())))
    assert said(packed) == f"is packed with gzip. Unpack it first: gunzip {packed}"
    assert said(tmp_path) == f"is a folder. Expected is {EXPECTED}."
    assert said(tmp_path / "none").startswith(f"There is no file {tmp_path / 'none'} (looked in ")


@pytest.mark.parametrize("start", [b"{", b"\x80\x04"])
def test_a_file_that_is_too_large_is_not_begun(tmp_path: Path, start: bytes) -> None:
    path = tmp_path / "huge"
    path.write_bytes(start)
    os.truncate(path, 5_000_000_000)  # takes no room on the disk
    assert said(path).startswith("has 5 GB; up to ")
    assert said(path).endswith("Record less: torch.cuda.memory._record_memory_history(max_entries=100_000).")


def test_a_cell_of_a_notebook_is_the_users_and_cpp_is_not() -> None:
    frames = [{"filename": "/pytorch/a.cpp", "line": 4}, {"filename": "<ipython-input-3-ab>", "line": 7}]
    (spot,) = read_allocator({"segments": [segment(0, [block(0x1000, MB, frames)])]}).spots
    assert (spot.place.file, spot.place.line) == ("<ipython-input-3-ab>", 7)


def test_json_comes_back_as_it_was() -> None:
    found = read_allocator(leaking())
    assert snapshot_from_json(snapshot_to_json(found), "it") == found


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"version": 2}, "It has version 2 and this torch-debugger reads 1: open it with the one that wrote "
         "it, or a newer one."),
        ({"snapshot": {"source": 1}}, "It is damaged: "),
        ({"snapshot": None}, "It is damaged: "),
    ],
)  # fmt: skip
def test_json_that_is_not_right(change: dict[str, Any], sentence: str) -> None:
    plain = json.loads(snapshot_to_json(read_allocator(leaking())))
    with pytest.raises(UsageError) as refused:
        snapshot_from_json(json.dumps(plain | change), "It")
    assert str(refused.value).startswith(sentence)


def test_damaged_json(tmp_path: Path) -> None:
    path = tmp_path / "memory.json"
    path.write_text(snapshot_to_json(read_allocator(leaking()))[:-40])
    assert said(path).startswith("is damaged JSON (")


def test_snapshots_are_read_without_torch(tmp_path: Path) -> None:
    path = write(tmp_path / "snapshot.pickle", leaking())
    code = f"import sys, torch_debugger\nprint(torch_debugger.memory.load({str(path)!r}))\n"
    code += "print('torch' in sys.modules, 'torch_debugger.memory.snapshots' in sys.modules)"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert told.endswith("\nFalse True\n")


def test_a_module_beside_the_file_is_not_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The standard library asks for modules that other systems have: a folder must not bring them along."""
    for name in ("msvcrt.py", "org/python/core.py", "org/__init__.py", "org/python/__init__.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    write(tmp_path / "ok.pickle", leaking())
    monkeypatch.chdir(tmp_path)
    assert open_snapshot("ok.pickle").spots
    assert not (tmp_path / "ran").exists()


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.pickle")
    assert "is no plain file" in said(tmp_path / "pipe.pickle")
