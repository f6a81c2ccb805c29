"""The three ways a trial can end."""

from __future__ import annotations

from torch_debugger.records import TrialResult


def steps(count: int) -> str:
    return f"{count} step{'s' * (count != 1)}"


def passed(name: str, message: str, **numbers: float) -> TrialResult:
    return TrialResult(name, "passed", message, "", numbers)


def failed(name: str, message: str, advice: str, **numbers: float) -> TrialResult:
    return TrialResult(name, "failed", message, advice, numbers)


def untried(name: str, reason: str) -> TrialResult:
    """Also where it was tried and nothing can be said."""
    return TrialResult(name, "untried", reason)
