"""Which tracker is meant, and what is said where there is none."""

from __future__ import annotations

import pytest

import torch_debugger
from torch_debugger.integrations import tracker
from torch_debugger.integrations.tracker import Tracker, read_tracker
from torch_debugger.runner.debugger import read_sink
from torch_debugger.system.errors import UsageError


def test_a_word_names_the_tracker_and_may_name_the_project(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WANDB_PROJECT", raising=False)
    assert read_tracker("wandb") == Tracker("wandb")
    assert read_tracker("mlflow:vision: v2") == Tracker("mlflow", "vision: v2")
    assert torch_debugger.Tracker is Tracker
    assert (Tracker("wandb").chosen_project, Tracker("mlflow").chosen_project) == ("torch-debugger", "Default")
    monkeypatch.setenv("WANDB_PROJECT", "theirs")
    assert (Tracker("wandb").chosen_project, Tracker("wandb", "mine").chosen_project) == ("theirs", "mine")


def test_an_unknown_tracker_is_answered_with_those_there_are() -> None:
    with pytest.raises(UsageError, match=r"No tracker is called 'wb'\. There are wandb, mlflow, trackio\."):
        read_tracker("wb")


def test_a_library_that_is_not_there_is_answered_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracker.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UsageError, match="its library is not installed: pip install mlflow"):
        read_tracker("mlflow")


def test_anything_that_takes_records_is_a_sink() -> None:
    class Sink:
        def add(self, record: object) -> None: ...

    sink = Sink()
    assert read_sink(sink) is sink
    assert read_sink("wandb:mine") == Tracker("wandb", "mine")
    with pytest.raises(UsageError, match=r"an object with add\(record\), not 7\."):
        read_sink(7)
