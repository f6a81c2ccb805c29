"""torch-debugger memory FILE, profile --read PATH, view of traces: files of other tools, by their commands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import debugger
from tests.cli.test_view import ask, port_in, started, wait_until
from tests.dumps.made import leaking, write
from tests.profiling.test_traces import STEP, memory
from tests.profiling.test_traces import write as write_trace


def test_a_pickle_of_torchs_as_a_table(tmp_path: Path) -> None:
    done = debugger("memory", str(write(tmp_path / "snapshot.pickle", leaking())))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Memory in use: 18.9 MB on cuda:0 (67.1 MB reserved, 78.6 MB at the peak).")
    assert "  16.8 MB  89 %  4 x  /home/a/train.py:31\n" in done.stdout


def test_what_grew_since_another(tmp_path: Path) -> None:
    less = leaking()
    less["segments"][0]["blocks"] = less["segments"][0]["blocks"][1:]
    before, after = write(tmp_path / "a.pickle", less), write(tmp_path / "b.pickle", leaking())
    done = debugger("memory", str(after), "--since", str(before))
    assert done.stdout.startswith("Memory grew by 4.19 MB.\nby line\n  4.19 MB  100 %  1 x  /home/a/train.py:31\n")


def test_for_programs(tmp_path: Path) -> None:
    done = debugger("memory", "--json", str(write(tmp_path / "snapshot.pickle", leaking())))
    assert json.loads(done.stdout)["by_line"][0]["count"] == 4


def test_what_is_no_snapshot_ends_with_2(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    done = debugger("memory", str(tmp_path / "notes.txt"))
    assert done.returncode == 2
    assert "is no pickle and no JSON. Expected is a file of torch.cuda.memory._dump_snapshot()" in done.stderr
    assert "Traceback" not in done.stderr


def test_view_points_to_the_verb_for_snapshots(tmp_path: Path) -> None:
    path = write(tmp_path / "snapshot.pickle", leaking())
    done = debugger("view", "--no-open", str(path))
    assert done.returncode == 2
    assert f"show it with `torch-debugger memory {path}`" in done.stderr


def test_the_newest_trace_of_a_folder_is_told(tmp_path: Path) -> None:
    write_trace(tmp_path / "old.pt.trace.json", STEP[:1])
    new = write_trace(tmp_path / "new.pt.trace.json", [*STEP, memory(5, 3000)])
    done = debugger("profile", "--read", str(tmp_path))
    if "no operation" in done.stderr:  # both of one moment
        done = debugger("profile", "--read", new)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Where the time went: 1 step from step 5 on, 1 ms each.")
    assert "models/net.py:20" in done.stdout and "Net_0.Linear_0" in done.stdout
    assert done.stdout.endswith("Memory that torch had given out, at most: cpu 3 kB.\n")


def test_a_folder_without_traces(tmp_path: Path) -> None:
    done = debugger("profile", "--read", str(tmp_path))
    assert done.returncode == 2
    assert "There is no trace in" in done.stderr and "*.pt.trace.json[.gz]" in done.stderr


@pytest.mark.parametrize("what", ["folder", "file"])
def test_the_page_of_a_trace(tmp_path: Path, what: str) -> None:
    file = write_trace(tmp_path / "host_1.pt.trace.json", [*STEP, memory(5, 3000)])
    with started("view", "--no-open", str(tmp_path) if what == "folder" else file) as process:
        port = port_in(process.stdout)
        run = "traces/host_1"
        wait_until(lambda: run in ask(port, "names")["runs"])
        wait_until(lambda: ask(port, "about?run=traces%2Fhost_1")["has"]["time"])  # when it has been read
        timing = ask(port, "timing?run=traces%2Fhost_1")
        about = ask(port, "about?run=traces%2Fhost_1")
    assert about["status"] == "unknown"
    assert timing["profile"]["lines"][0]["name"] == "models/net.py:20"
    assert timing["profile"]["ops"][0]["share"] > 0
    assert timing["memory"] == {
        "steps": [0.0], "unit": "ms", "categories": {"given out on cpu": [3000]},
        "peak": {"given out on cpu": 3000},
    }  # fmt: skip
    assert timing["modules"]["children"][0]["name"] == "Net_0"
