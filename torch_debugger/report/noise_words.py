"""The sentences about how the runs end, and whether seeds explain the difference."""

from __future__ import annotations

import math
from collections.abc import Sequence

from torch_debugger.records.comparison_of_runs import Noise
from torch_debugger.report.comparison_words import apart
from torch_debugger.report.printable import one_line

_RARE = 0.05  # how seldom seeds alone may make a difference that is called real
_WIDE = 2.0  # spreads: beyond it, it is the number of runs that leaves a doubt
UNKNOWN_NOISE = "Whether another seed makes as much is not known: name runs with other seeds with --replicates."


def noise_sentence(noise: Noise) -> str:
    """What the runs end with, and whether seeds explain the difference."""
    first, second = apart(_mean(noise.first), _mean(noise.second))
    start, end = noise.steps
    when = f"step {end}" if start == end else f"the mean of steps {start} to {end}"
    told = f"{noise.tag}, {when}: {first}{_count(noise.first)} and {second}{_count(noise.second)}."
    return one_line(f"{told} {_judged(noise)}")


def _judged(noise: Noise) -> str:
    if math.isnan(noise.chance):
        return ""
    if noise.spread == 0.0:
        return "Runs of one kind do not differ at all, so the difference is real." if noise.difference else ""
    times = abs(noise.difference) / noise.spread
    told = f"The difference is {times:.2g} times the spread of runs of one kind ({noise.spread:.2g})"
    chance = "under 0.1 %" if noise.chance < 0.001 else f"{100 * noise.chance:.2g} %"
    seeds = f"seeds alone give it or more in {chance} of such comparisons"
    if noise.chance >= _RARE and times > _WIDE:
        runs = len(noise.first) + len(noise.second)
        return f"{told}, but {runs} runs are too few to be sure of it: {seeds}. More replicates would tell."
    return f"{told}: {'' if noise.chance < _RARE else 'no '}more than seeds explain ({seeds})."


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _count(values: Sequence[float]) -> str:
    if len(values) == 1:
        return ""
    low, high = apart(min(values), max(values))
    return f" ({len(values)} runs, {low} to {high})"
