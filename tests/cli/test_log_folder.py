"""A log folder belongs to one run."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

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
