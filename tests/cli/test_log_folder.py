"""A log folder belongs to one run; `--log-dir s3://...` and `Debugger(log_dir="memory://...")` keep it in a store."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import fsspec
import pytest
import torch

from tests.cli.conftest import Write, run_watched
from tests.runlog.logs import read
from tests.runlog.s3 import Server, running_server
from torch_debugger.log.object_stores import Store, fetch_new, list_files
from torch_debugger.records import EndFact, RunFact
from torch_debugger.runner.debugger import Debugger
from torch_debugger.runner.outputs import open_log_folder
from torch_debugger.system.errors import UsageError


def test_a_folder_is_taken_from_the_first_moment_and_free_when_nothing_was_logged(tmp_path: Path) -> None:
    """Before the first event file is there, which is what a later run would see."""
    chosen = str(tmp_path / "log")
    with open_log_folder(chosen, "train.py", keep=True) as folder:
        with pytest.raises(UsageError, match="already holds the log of another run"):
            open_log_folder(chosen, "train.py", keep=True).__enter__()
        assert os.listdir(folder) == []
    with open_log_folder(chosen, "train.py", keep=True) as again:
        assert again == folder


def test_a_folder_with_a_log_is_refused(tmp_path: Path) -> None:
    (tmp_path / "events.out.tfevents.1").touch()
    with pytest.raises(UsageError, match="already holds the log of another run"):
        open_log_folder(str(tmp_path), "train.py", keep=True).__enter__()


def test_runs_of_one_second_have_folders_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("torch_debugger.runner.outputs.time.strftime", lambda form: "20260131-174502")
    names = []
    for _ in range(3):
        with open_log_folder(None, "train.py", keep=True) as folder:
            names.append(Path(folder).name)
    assert names == ["train-20260131-174502", "train-20260131-174502-2", "train-20260131-174502-3"]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    with running_server(monkeypatch) as server:
        yield server


@pytest.mark.usefixtures("server")
def test_a_run_keeps_its_log_and_reports_on_s3(write: Write) -> None:
    ended = run_watched("--log-dir", "s3://logs/run", str(write("print('hello')")))
    assert (ended.returncode, ended.stdout) == (0, "hello\n")
    assert "s3://logs/run" in ended.stderr
    fetch_new("s3://logs/run", "copy")
    assert any(isinstance(record, EndFact) for record in read(Path("copy")))
    assert {file.name for file in list_files("s3://logs/run")} > {"result.json", "report.md"}


def test_a_place_with_another_run_is_refused_before_the_script_starts() -> None:
    Store("memory://taken").write("events.out.tfevents.1", b"")
    with pytest.raises(UsageError) as refused, open_log_folder("memory://taken", "train.py", keep=True):
        pass
    fsspec.filesystem("memory").store.clear()
    assert str(refused.value) == (
        "memory://taken already holds the log of another run. Choose a new folder with --log-dir."
    )


@pytest.mark.usefixtures("server")
def test_a_bucket_that_does_not_exist_is_refused_before_the_script_starts() -> None:
    with pytest.raises(UsageError) as refused, open_log_folder("s3://no-such-bucket/run", "train.py", keep=True):
        pass
    assert str(refused.value) == (
        "s3://no-such-bucket/run could not be written to: The specified bucket does not exist. "
        "Choose another place with --log-dir, or keep no log with --no-log."
    )


def test_a_missing_library_is_said_before_the_script_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gcsfs", None)
    with pytest.raises(UsageError) as refused, open_log_folder("gs://bucket/run", "train.py", keep=True):
        pass
    assert str(refused.value) == (
        "gs://bucket/run needs the library gcsfs, which is not installed. Get it with `pip install gcsfs`. "
        "Choose another place with --log-dir, or keep no log with --no-log."
    )


def test_a_debugger_keeps_its_log_in_a_store(tmp_path: Path) -> None:
    model = torch.nn.Linear(3, 1)
    with Debugger(log_dir="memory://runs/one") as debugger:
        model(torch.randn(2, 3)).sum().backward()
    assert debugger.report().result.log == "memory://runs/one"
    fetch_new("memory://runs/one", tmp_path)
    fsspec.filesystem("memory").store.clear()
    assert any(isinstance(record, RunFact) for record in read(tmp_path))
