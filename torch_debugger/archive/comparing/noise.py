"""Whether two runs end apart by more than runs of one kind do, as replicates with other seeds tell."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from torch_debugger.archive.comparing.evidence import RunEvidence
from torch_debugger.archive.comparing.tags import phase_of, shared_tags
from torch_debugger.records.comparison_of_runs import Noise

_LAST_PART = 10  # a curve's end is the mean of its last tenth: one batch says little
_SLICES = 2000  # of the angle over which Student's distribution is summed up


def measure_noise(first: Sequence[RunEvidence], second: Sequence[RunEvidence]) -> tuple[Noise, ...]:
    """Of each number that all runs have: the loss at the last step that all have, metrics at their last."""
    tags = shared_tags(*first, *second)
    found = [_of_tag(tag, first, second) for tag in tags if phase_of(tag) in ("loss", "evaluation")]
    return tuple(noise for noise in found if noise is not None)


def _of_tag(tag: str, first: Sequence[RunEvidence], second: Sequence[RunEvidence]) -> Noise | None:
    common = sorted(set.intersection(*(set(run.curves[tag]) for run in (*first, *second))))
    if not common:
        return None
    steps = common[-max(1, len(common) // _LAST_PART) :]
    ours = tuple(_end(run.curves[tag], steps) for run in first)
    theirs = tuple(_end(run.curves[tag], steps) for run in second)
    difference, spread, chance = compare_means(ours, theirs)
    return Noise(tag, ours, theirs, difference, spread, chance, (steps[0], steps[-1]))


def _end(curve: dict[int, float], steps: Sequence[int]) -> float:
    return float(np.mean([curve[step] for step in steps]))


def compare_means(first: Sequence[float], second: Sequence[float]) -> tuple[float, float, float]:
    """Their difference, the spread within each kind, and Student's chance of a difference this large."""
    difference = float(np.mean(second) - np.mean(first))
    freedom = len(first) + len(second) - 2
    if freedom < 1:
        return difference, math.nan, math.nan
    squares = sum(float(np.sum((np.asarray(kind) - np.mean(kind)) ** 2)) for kind in (first, second))
    spread = math.sqrt(squares / freedom)
    error = spread * math.sqrt(1 / len(first) + 1 / len(second))
    if not math.isfinite(difference) or not math.isfinite(error):
        return difference, spread, math.nan
    if error == 0.0:
        return difference, spread, 0.0 if difference else 1.0
    return difference, spread, _chance(abs(difference) / error, freedom)


def _chance(statistic: float, freedom: int) -> float:
    """Of |t| this large: with t = sqrt(freedom) tan(angle) the density becomes a power of the cosine."""
    norm = math.gamma((freedom + 1) / 2) / (math.gamma(freedom / 2) * math.sqrt(math.pi))
    width = (math.pi / 2 - math.atan(statistic / math.sqrt(freedom))) / _SLICES
    angles = math.pi / 2 - width * (np.arange(_SLICES) + 0.5)
    return min(1.0, 2.0 * norm * width * float(np.sum(np.cos(angles) ** (freedom - 1))))
