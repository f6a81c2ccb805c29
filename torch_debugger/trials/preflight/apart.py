"""Trials in forks of the script's process: what they train, print or break is lost with the fork."""

from __future__ import annotations

import json
from collections.abc import Callable

import torch

from torch_debugger.anatomy.forked import ForkedTask
from torch_debugger.records import TrialResult
from torch_debugger.records.codec import from_plain, to_plain
from torch_debugger.trials.preflight.conduct import Trial
from torch_debugger.trials.preflight.outcomes import untried

_TIME_LIMIT_S = 90.0


def text_apart(task: Callable[[], str]) -> str:
    return _ended(task)[0]


def trial_apart(name: str, trial: Trial) -> TrialResult:
    text, ended = _ended(lambda: json.dumps(to_plain(trial())))
    record = from_plain("TrialResult", json.loads(text)) if text else None
    if isinstance(record, TrialResult):
        return record
    reason = f"It took more than {_TIME_LIMIT_S:g} s" if ended == "timeout" else "The process of the trial died"
    return untried(name, f"{reason}.")


def _ended(task: Callable[[], str]) -> tuple[str, str]:
    def eagerly() -> str:
        torch.compiler.set_stance("force_eager")
        return task()

    forked = ForkedTask(eagerly, _TIME_LIMIT_S, urgent=True)
    text = forked.wait().decode()
    return (text if forked.ended == "done" else ""), forked.ended or ""


def text_here(task: Callable[[], str]) -> str:
    """In the training's own process, where a fork cannot be: it ends after the trials."""
    return task()


def trial_here(name: str, trial: Trial) -> TrialResult:
    return trial()
