"""Advice on a trace of the profiler: the checks of speed that need nothing else of a run."""

from __future__ import annotations

from collections.abc import Iterable

from torch_debugger.checks.judge import Judge
from torch_debugger.records import Finding, Record

_NAMES = (
    "data-loaded-in-the-training-process",
    "too-few-workers",
    "parameters-updated-one-by-one",
    "optimizer-not-fused",
    "device-waited-for-each-step",
    "unpinned-copy",
    "launch-bound",
    "tf32-off",
    "no-autocast",
    "sizes-not-multiple-of-8",
    "convs-not-channels-last",
)


def judge_trace(records: Iterable[Record]) -> tuple[Finding, ...]:
    """The most severe first. Settings come before what is judged by them."""
    judge = Judge(only=_NAMES)
    for record in records:
        judge.see(record)
    return tuple(judge.findings)
