"""Traces that somebody has made to hurt, or that are broken in unusual ways: a sentence, and soon."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.profiling.test_traces import STEP, memory, op, python, write
from torch_debugger.cli.traces import TraceRuns, print_trace
from torch_debugger.profiling import trace_files as event_stream
from torch_debugger.profiling.traces import read_trace
from torch_debugger.report.profile import profile_text
from torch_debugger.system.errors import UsageError

OP = op("aten::add", 1, 5)


@pytest.mark.parametrize(
    "events",
    [
        [OP | {"cat": ["cpu_op"]}, OP],
        [OP, python("train.py(" + "9" * 5000 + "): f", 0, 9)],
        [OP, memory(3, 10**400)],
        [OP, op("Memcpy HtoD", 1, 2, "gpu_memcpy", bytes=10**400)],
        [OP | {"dur": 0}, op("Memcpy HtoD", 1, 0, "gpu_memcpy")],
        [op("a::[/red]x", 1, 5), python("/me/[proj]/train.py(3): f", 0, 9)],
        [OP, python("a\0b.py(3): f", 0, 9)],
        [OP, python("nn.Module: \x1b[2J\ud800_0", 0, 9)],
        [OP, python("/Lib" * 5000 + "!.py(1): f", 0, 9)],
        [OP, *(memory(moment, 5, 1, moment) for moment in range(2000))],
        [op("aten::add", number, 100_000 - 2 * number) for number in range(4000)],
        [OP, *(python("nn.Module: Linear_0", number, 10_000 - 2 * number) for number in range(400))],
    ],
    ids=lambda events: str(events[-1]["name"])[:12],
)
def test_odd_events_are_told_or_left_out(tmp_path: Path, events: list[Any], capsys: Any) -> None:
    print_trace(write(tmp_path / "host.pt.trace.json", events))
    shown = capsys.readouterr().out
    assert "Where the time went" in shown and "\x1b" not in shown
    assert shown.encode("utf-8")


def test_names_in_brackets_are_shown_as_they_are(tmp_path: Path) -> None:
    trace = read_trace(write(tmp_path / "host.pt.trace.json", [op("a::[/red]x", 1, 5)]))
    assert "a::[/red]x" in profile_text(trace.fact)


def test_a_number_of_thousands_of_digits_ends_the_reading_with_a_note(tmp_path: Path) -> None:
    text = json.dumps({"traceEvents": [OP, OP | {"dur": "DIGITS"}]}).replace('"DIGITS"', "1" * 5000)
    (tmp_path / "host.pt.trace.json").write_text(text)
    assert read_trace(str(tmp_path / "host.pt.trace.json")).fact.ops[0].calls == 1


def test_no_file_is_opened_that_a_trace_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    os.mkfifo(tmp_path / "x.py")  # opening it would never end
    trace = read_trace(write(tmp_path / "host.pt.trace.json", [OP, python("x.py(3): f", 0, 9)]))
    assert [(line.place.file, line.place.line) for line in trace.fact.lines] == [("x.py", 3)]


def test_what_is_no_plain_file_gets_a_sentence(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "host.pt.trace.json")
    with pytest.raises(UsageError, match="is no plain file"):
        read_trace(str(tmp_path / "host.pt.trace.json"))


def test_a_tab_in_a_name_and_packed_parts_in_a_row_are_no_end(tmp_path: Path) -> None:
    text = json.dumps({"traceEvents": STEP}).replace("aten::item", "aten::\titem")
    packed = gzip.compress(text[:900].encode()) + gzip.compress(text[900:].encode())
    (tmp_path / "host.pt.trace.json.gz").write_bytes(packed)
    trace = read_trace(str(tmp_path / "host.pt.trace.json.gz"))
    assert not any("ends in the middle" in note for note in trace.notes)
    assert "aten::\titem" in {each.op for each in trace.fact.ops}


BLANKS = b" " * 1_000_000


@pytest.mark.parametrize(
    ("before", "piece", "said"),
    [
        (b"", BLANKS, "is no JSON"),
        (b"{", BLANKS, "has no `traceEvents`"),
        (b'{"traceEvents"', BLANKS, "are no list"),
        (b"[", BLANKS, "holds no operation of torch and its end is missing"),
        (b"[0", b",0" * 500_000, "holds no operation of torch and its end is missing"),
        (b"[", b'{"a":' * 200_000, "holds no operation of torch and its end is missing"),
        (b'["', b"x" * 1_000_000, "holds no operation of torch and its end is missing"),
    ],
    ids=["blanks", "blanks in front", "no list", "blanks for events", "numbers", "nested", "one long text"],
)
def test_a_small_file_that_unpacks_to_a_large_one_is_refused_early(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: bytes, piece: bytes, said: str
) -> None:
    """Counted is what is unpacked of its gigabyte."""
    path = tmp_path / "host.pt.trace.json.gz"
    packed = gzip.compress(piece)
    path.write_bytes(gzip.compress(before) + packed * 1000)
    unpacked: list[int] = []
    pieces = event_stream._pieces
    monkeypatch.setattr(
        event_stream, "_pieces", lambda path, *more: (unpacked.append(len(p)) or p for p in pieces(path))
    )
    with pytest.raises(UsageError, match=said):
        read_trace(str(path))
    assert sum(unpacked) < 70 << 20


def test_runs_are_named_apart_and_stay_in_their_folder(tmp_path: Path) -> None:
    names = ("a/h.pt.trace.json", "b/h.pt.trace.json", "...pt.trace.json", ".pt.trace.json")
    files = []
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        files.append(write(tmp_path / name, [OP]))
    traces = TraceRuns(files)
    folder = Path(traces.folders["traces"])
    assert {path.name for path in folder.iterdir()} == {"h", "h (2)", "trace", "trace (2)"}
    assert all(any(path.iterdir()) for path in folder.iterdir())
    traces.close()
