"""Whose replicate a run is: that of the run which it resembles more in all but its seed."""

from __future__ import annotations

from collections.abc import Sequence

from torch_debugger.archive.comparing.data import SAMPLES
from torch_debugger.archive.comparing.evidence import RunEvidence
from torch_debugger.archive.comparing.matching import Matching
from torch_debugger.archive.comparing.topics import compare_topics

_KINDS = ("settings", "optimizer", "code", "model", "data")


def sort_replicates(
    first: RunEvidence, second: RunEvidence, replicates: Sequence[RunEvidence]
) -> list[tuple[RunEvidence, str]]:
    """Each with first, second, or both where it is as like the one as the other."""
    return [(run, _whose(_apart(first, run), _apart(second, run))) for run in replicates]


def _whose(from_first: int, from_second: int) -> str:
    if from_first == from_second:
        return "both"
    return "first" if from_first < from_second else "second"


def _apart(one: RunEvidence, other: RunEvidence) -> int:
    topics = compare_topics(one, other, Matching(one, other))
    lines = sum(line[:1] in "+-" for topic in topics for line in topic.lines)
    others = [each for topic in topics if topic.name in _KINDS for each in topic.differences]
    return lines + sum("seed" not in each.name and each.name != SAMPLES for each in others)
