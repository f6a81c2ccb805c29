"""Which runs a page may show: those of ours below the folders it was given, and nothing else."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from torch_debugger.errors import UsageError
from torch_debugger.records import RunFact, Scalars
from torch_debugger.runlog.writer import LogWriter
from torch_debugger.viewer import run_shelf
from torch_debugger.viewer.run_shelf import RunShelf, folders_of


def make_run(folder: Path, loss: float = 1.0) -> Path:
    writer = LogWriter(folder, on_fault=print)
    writer.add(RunFact("train.py", (), "", 1, 0.0, "3", "2", "cpu", "0", 0.02, False))
    writer.add(Scalars(1, 0.0, {"loss": loss}))
    writer.close()
    return folder


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
    assert sorted(RunShelf({"": str(tmp_path)}).names()) == [os.path.join("a", "deep"), "b"]
    assert sorted(RunShelf({"x": str(tmp_path), "y": str(tmp_path / "b")}).names()) == ["x/a/deep", "x/b", "y"]
    assert RunShelf({"": str(tmp_path / "theirs")}).names() == []
    assert RunShelf({"": str(tmp_path / "missing")}).names() == []


def test_the_run_written_last_comes_first(tmp_path: Path) -> None:
    for name, when in (("a", 100), ("z", 50), ("m", 200)):
        for file in make_run(tmp_path / name).iterdir():
            os.utime(file, (when, when))
    assert RunShelf({"": str(tmp_path)}).names() == ["m", "a", "z"]


@pytest.mark.parametrize("name", ["../secret", "/etc", "", ".", "run/../../secret", "run\0"])
def test_a_name_never_becomes_a_path(tmp_path: Path, name: str) -> None:
    make_run(tmp_path / "secret")
    make_run(tmp_path / "shown" / "run")
    shelf = RunShelf({"": str(tmp_path / "shown")})
    assert shelf.ask("run", lambda run: run.steps) == 1
    with pytest.raises(UsageError, match="There is no run"):
        shelf.ask(name, lambda run: run)


def test_a_growing_run_is_read_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_shelf, "_READ_EVERY_S", 0.0)
    make_run(tmp_path / "run", 1.0)
    shelf = RunShelf({"": str(tmp_path)})
    assert shelf.ask("run", lambda run: run.scalars("loss").values.tolist()) == [1.0]
    make_run(tmp_path / "run", 2.0)
    assert sorted(shelf.ask("run", lambda run: run.scalars("loss").values.tolist())) == [1.0, 2.0]


def test_few_runs_are_kept_open(tmp_path: Path) -> None:
    for number in range(9):
        make_run(tmp_path / str(number))
    shelf = RunShelf({"": str(tmp_path)})
    for number in range(9):
        assert shelf.ask(str(number), lambda run: run.name) == str(number)
    assert len(shelf._open) == 4
