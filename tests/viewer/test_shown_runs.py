"""Which runs a page may show: those below the folders it was given, and nothing else."""

from __future__ import annotations

import os
import shutil
import threading
from pathlib import Path

import pytest

from tests.viewer.serving import make_run
from torch_debugger.log.run import Run
from torch_debugger.system.errors import UsageError
from torch_debugger.viewer import shown_runs as open_runs
from torch_debugger.viewer import shown_runs as run_finder
from torch_debugger.viewer.shown_runs import ShownRuns, folders_of


@pytest.mark.parametrize(
    ("logdir", "spec", "folders"),
    [
        ("runs", "", {"": "runs"}),
        ("a,b:c", "", {"": "a,b:c"}),
        ("", "one:/x/1,two:/x/2", {"one": "/x/1", "two": "/x/2"}),
        ("", "/x/1,b:rel", {"/x/1": "/x/1", "b": "rel"}),
        ("", "/with:colon", {"/with:colon": "/with:colon"}),
        ("", "s3://bucket/x", {"s3://bucket/x": "s3://bucket/x"}),
        ("", "", {}),
    ],
)
def test_logdirs_are_read_as_tensorboard_reads_them(logdir: str, spec: str, folders: dict[str, str]) -> None:
    assert folders_of(logdir, spec) == folders


def test_nested_runs_are_found_and_those_of_others_are_not(tmp_path: Path) -> None:
    make_run(tmp_path / "a" / "deep")
    make_run(tmp_path / "b")
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "events.out.tfevents.1.host").write_bytes(b"")
    assert sorted(ShownRuns({"": str(tmp_path)}).names()) == [os.path.join("a", "deep"), "b"]
    assert sorted(ShownRuns({"x": str(tmp_path), "y": str(tmp_path / "b")}).names()) == ["x/a/deep", "x/b", "y"]
    assert ShownRuns({"": str(tmp_path / "theirs")}).names() == []
    assert ShownRuns({"": str(tmp_path / "missing")}).names() == []


def test_the_run_written_last_comes_first(tmp_path: Path) -> None:
    for name, when in (("a", 100), ("z", 50), ("m", 200)):
        for file in make_run(tmp_path / name).iterdir():
            os.utime(file, (when, when))
    assert ShownRuns({"": str(tmp_path)}).names() == ["m", "a", "z"]


@pytest.mark.parametrize("name", ["../secret", "/etc", "", ".", "run/../../secret", "run\0"])
def test_a_name_never_becomes_a_path(tmp_path: Path, name: str) -> None:
    make_run(tmp_path / "secret")
    make_run(tmp_path / "shown" / "run")
    shown_runs = ShownRuns({"": str(tmp_path / "shown")})
    assert shown_runs.ask("run", lambda run: run.steps) == 1
    with pytest.raises(UsageError, match="There is no run"):
        shown_runs.ask(name, lambda run: run)


def test_a_growing_run_is_read_on(tmp_path: Path) -> None:
    make_run(tmp_path / "run", 1.0)
    shown_runs = ShownRuns({"": str(tmp_path)})
    assert shown_runs.ask("run", lambda run: run.scalars("loss").values.tolist()) == [1.0]
    make_run(tmp_path / "run", 2.0)
    assert sorted(shown_runs.ask("run", lambda run: run.scalars("loss").values.tolist())) == [1.0, 2.0]


def test_few_runs_are_kept_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_runs, "_MOST_OPEN", 4)
    for number in range(9):
        make_run(tmp_path / str(number))
    shown_runs = ShownRuns({"": str(tmp_path)})
    for number in range(9):
        assert shown_runs.ask(str(number), lambda run: run.name) == str(number)
    assert len(shown_runs._open) == 4


def test_large_runs_are_closed_for_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    size = sum(file.stat().st_size for file in make_run(tmp_path / "0").iterdir())
    make_run(tmp_path / "1")
    make_run(tmp_path / "2")
    monkeypatch.setattr(open_runs, "_MOST_BYTES", 2 * size + 10)
    shown_runs = ShownRuns({"": str(tmp_path)})
    opened = {name: shown_runs.ask(name, lambda run: run) for name in ("0", "1", "2")}
    assert len(shown_runs._open) == 2
    assert shown_runs.ask("2", lambda run: run) is opened["2"]
    assert shown_runs.ask("0", lambda run: run) is not opened["0"]


def test_one_slow_run_does_not_stop_the_others(tmp_path: Path) -> None:
    make_run(tmp_path / "slow")
    make_run(tmp_path / "quick")
    shown_runs = ShownRuns({"": str(tmp_path)})
    reached, may_end = threading.Event(), threading.Event()

    def wait(run: Run) -> None:
        reached.set()
        may_end.wait(30)

    thread = threading.Thread(target=lambda: shown_runs.ask("slow", wait))
    thread.start()
    assert reached.wait(30)
    assert shown_runs.ask("quick", lambda run: run.steps) == 1  # would never come back if it waited for the other
    assert shown_runs.pulse("slow")["version"]
    assert not may_end.is_set()
    may_end.set()
    thread.join()


def test_the_pulse_changes_with_every_byte_and_reads_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = make_run(tmp_path / "run")
    shown_runs = ShownRuns({"": str(tmp_path)})
    monkeypatch.setattr(Run, "poll", lambda self: pytest.fail("the pulse must not read"))
    first = shown_runs.pulse("run")
    assert shown_runs.pulse("run") == first
    with next(folder.iterdir()).open("ab") as file:
        file.write(b"x")
    second = shown_runs.pulse("run")
    assert second["version"] != first["version"]
    (folder / "result.json").write_text("{}")
    assert shown_runs.pulse("run")["version"] not in (first["version"], second["version"])


def test_the_pulse_tells_how_much_was_read_while_somebody_waits_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_run(tmp_path / "run")
    shown_runs = ShownRuns({"": str(tmp_path)})
    poll, told = Run.poll, []

    def poll_and_look(self: Run) -> bool:
        came = poll(self)
        told.append(shown_runs.pulse("run").get("read_share"))
        return came

    monkeypatch.setattr(Run, "poll", poll_and_look)
    shown_runs.ask("run", lambda run: run.steps)
    assert told == [1.0]
    assert "read_share" not in shown_runs.pulse("run")


def test_a_run_that_is_deleted_is_said_to_be_gone(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run")
    shown_runs = ShownRuns({"": str(tmp_path)})
    assert shown_runs.names() == ["run"]
    shutil.rmtree(folder)
    for question in (shown_runs.pulse, lambda name: shown_runs.ask(name, lambda run: run)):
        with pytest.raises(UsageError, match=r"'run' (is gone|in the folder)"):
            question("run")


def test_runs_of_other_tools_are_there_when_asked_for(tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "events.out.tfevents.1.host").write_bytes(b"")
    assert ShownRuns({"": str(tmp_path)}, of_others=True).names() == ["theirs"]


def test_a_slow_look_for_runs_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_run(tmp_path / "first")
    monkeypatch.setattr(run_finder, "_LOOK_EVERY_S", -1.0)
    monkeypatch.setattr(run_finder, "_SHARE", -1)
    monkeypatch.setattr(run_finder, "_QUICK_S", -1.0)  # as if every look took long
    shown_runs = ShownRuns({"": str(tmp_path)})
    assert shown_runs.ask("first", lambda run: run.steps) == 1
    held = threading.Event()
    found = run_finder.find_runs
    monkeypatch.setattr(run_finder, "find_runs", lambda root: (held.wait(30), found(root))[1])
    assert shown_runs.names() == ["first"]  # would wait for the event if it looked itself
    held.set()


def test_a_run_that_began_a_moment_ago_is_found_by_its_name(tmp_path: Path) -> None:
    make_run(tmp_path / "first")
    shown_runs = ShownRuns({"": str(tmp_path)})
    assert shown_runs.names() == ["first"]
    make_run(tmp_path / "second")
    shown_runs._finder._looked_s = -float("inf")
    assert shown_runs.ask("second", lambda run: run.steps) == 1
