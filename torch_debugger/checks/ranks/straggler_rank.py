"""One rank that works longer in every step than the others, which wait for it."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from torch_debugger.checks.base import at_line
from torch_debugger.checks.rank_checks import RankCheck, RankStates
from torch_debugger.checks.step_time import LEAST_SAMPLES, HotLine, hot_lines, milliseconds, share_where
from torch_debugger.records import Finding, Place, SampledStacks, Scalars, StackNode

_TRAINING = "training"
_DOES = {
    "data_wait": "waits for its data",
    "copy": "prepares its batches",
    "forward": "runs its forward",
    "optimizer": "updates its weights",
    "evaluation": "evaluates",
    "logging": "works between its steps",
    "other": "works between its steps",
}
_MORE_WORK = (
    "Give all ranks about the same amount of work: sort or bucket samples by length before they are shared "
    "out, and pad each batch only to its own longest."
)
_FIXES = {
    "data_wait": "Give this rank its data as fast as the others get theirs: as many workers, the same kind of "
    "disk, samples of about the same size (sort or bucket them by length before they are shared out).",
    "forward": _MORE_WORK,
}
_ALONE = (
    "Do what only this rank does less often, or beside the training: the others wait for it in their next "
    "backward, so a second of rank 0 alone is a second of all."
)


class StragglerRank(RankCheck):
    """One rank takes longer for its own part of every step, and all the others wait for it.

    Symptom:
        Adding GPUs makes the training hardly faster; some GPUs show little use although all do the same work;
        the backward seems slow.
    Evidence:
        The time of a step by its parts on every rank, without the backward, in which ranks wait for each
        other, and without the share of sampled stacks inside of collectives. One rank's own time is longer
        than that of the others, in every third of the run; and the line of that rank whose share of the
        samples stands out.
    Fix:
        Take away what only that rank does: evaluating, saving, printing. Or share the data out so that every
        rank has the same amount of work.
    Known limits:
        Ranks need three seconds of steps to be compared, and steps of about the same length: what one rank
        does every thousand steps is not told. A slower GPU shows in its forward; what is slow in a
        backward alone cannot be told from waiting for others.
    """

    id = "TD808"
    name = "straggler-rank"
    title = "all ranks wait for one"
    reads = (Scalars,)
    explains = ("steps-get-slower",)  # of the ranks that wait for it

    # How often longer the own time of the slow rank is than that of the others.
    slower = 1.3
    # Of a step: what all could save; less is not worth an edit.
    least_share = 0.15
    least_s = 3.0  # of the steps that were told
    first_step = 6  # the ones before are slow for reasons of their own
    parts_of_run = 3

    def __init__(self) -> None:
        self._paces: dict[int, RankPace] = {}

    def see_rank(self, rank: int, record: Scalars, ranks: RankStates) -> None:
        if record.step >= self.first_step:
            self._paces.setdefault(rank, RankPace()).add(record.step, record.values)

    def finish_ranks(self, ranks: RankStates) -> Iterable[Finding]:
        stacks = {rank: state.sampled.get(_TRAINING) for rank, state in ranks.states.items()}
        known = {rank: each for rank, each in stacks.items() if each is not None and rank in self._paces}
        lasts = [pace.steps[-1] for pace in self._paces.values() if pace.steps]
        if len(known) < max(2, ranks.world_size) or len(lasts) < len(known):
            return
        if any(ranks.states[rank].split.total_s < self.least_s for rank in known):
            return
        end = min(lasts) + 1
        if not all(self._paces[rank].is_even(self.first_step, end) for rank in known):
            return  # one long evaluation, or one every while: not every step
        whole = self._work(known, self.first_step, end)
        slow = self._slowest(whole)
        if slow is None or not all(self._slowest(part) == slow for part in self._parts(known, end)):
            return
        sites = sorted(ranks.states[slow].sites.values(), key=lambda site: site.step)
        yield self._tell(slow, whole, known, end - 1, sites[-1].place if sites else Place())

    def _work(self, known: dict[int, SampledStacks], low: int, high: int) -> dict[int, RankWork]:
        found = {rank: work_of(self._paces[rank], stacks, low, high) for rank, stacks in known.items()}
        return {rank: work for rank, work in found.items() if work is not None}

    def _parts(self, known: dict[int, SampledStacks], end: int) -> Iterable[dict[int, RankWork]]:
        size = max(1, (end - self.first_step) // self.parts_of_run)
        for number in range(self.parts_of_run):
            low = self.first_step + number * size
            yield self._work(known, low, low + size)

    def _slowest(self, works: dict[int, RankWork]) -> int | None:
        """The rank that all others wait for, where there is one that is slow enough."""
        if len(works) < 2:
            return None
        slow = max(works, key=lambda rank: works[rank].own_s)
        excess_s = _excess_s(slow, works)
        usual_s = works[slow].own_s - excess_s
        enough = excess_s >= self.least_share * works[slow].step_s
        return slow if enough and works[slow].own_s >= self.slower * usual_s else None

    def _tell(
        self, slow: int, works: dict[int, RankWork], known: dict[int, SampledStacks], last_step: int, training: Place
    ) -> Finding:
        work, excess_s = works[slow], _excess_s(slow, works)
        part = _part_of(slow, works)
        usual_s, share = work.own_s - excess_s, excess_s / work.step_s
        others = [(known[rank], works[rank].step_s) for rank in works if rank != slow]
        dearer = dearer_line((known[slow], work.step_s), others)
        dearer = dearer if dearer is not None and dearer.excess_s >= 0.3 * excess_s else None
        line = dearer.line if dearer is not None else None
        fix = _MORE_WORK if dearer is not None and dearer.is_shared else _FIXES.get(part, _ALONE)
        who = "the others" if len(works) > 2 else f"rank {next(rank for rank in works if rank != slow)}"
        return self.finding(
            severity="warning",
            confidence=0.9,
            message=f"Rank {slow} takes {milliseconds(work.own_s)} of each step for itself, {who} "
            f"{milliseconds(usual_s)}, and all wait for it: {share:.0%} of a step. It {_DOES[part]} longer"
            f"{_at_line(line)}.",
            why="Gradients are averaged when the last rank has its own. Whatever one rank does longer than the "
            "others, all of them pay for, in every step.",
            fix=fix,
            where=line.place if line is not None else training,
            steps=(self.first_step, last_step),
            evidence={
                "rank": float(slow),
                "own_ms": work.own_s * 1e3,
                "others_ms": usual_s * 1e3,
                "part": part,
                "share_of_step": share,
            },
        )


def _excess_s(slow: int, works: dict[int, RankWork]) -> float:
    """Beyond what the others take, of which the one in the middle counts."""
    return works[slow].own_s - statistics.median(work.own_s for rank, work in works.items() if rank != slow)


def _part_of(slow: int, works: dict[int, RankWork]) -> str:
    """The part of the step in which it takes longest beyond the others."""
    others = [work.parts for rank, work in works.items() if rank != slow]

    def excess_s(part: str) -> float:
        return works[slow].parts[part] - statistics.median(parts.get(part, 0.0) for parts in others)

    return max((part for part in works[slow].parts if part in _DOES), key=excess_s, default="other")


def _at_line(line: HotLine | None) -> str:
    return f", most of it{at_line(line.place)}" if line is not None else ""


# How long each rank works in a step, without what it waits for others.
_BEFORE, _AFTER = "split/", "_s"
_BACKWARD, _OWN = "backward", "torch_debugger"
_EVEN = 1.7  # times the step in the middle
_WAITING = ("torch/distributed/", "torch/nn/parallel/distributed.py")


@dataclass
class RankPace:
    """The time of one rank's steps by part, in the order in which it was told."""

    MOST = 1000  # entries; of more, every other one is kept. One process keeps those of all ranks.

    steps: list[int] = field(default_factory=list)
    splits: list[dict[str, float]] = field(default_factory=list)

    def add(self, step: int, scalars: Mapping[str, float]) -> None:
        parts = {
            sys.intern(tag[len(_BEFORE) : -len(_AFTER)]): value
            for tag, value in scalars.items()
            if tag.startswith(_BEFORE)
        }
        if not parts:
            return
        parts.pop(_OWN, None)
        self.steps.append(step)
        self.splits.append(parts)
        if len(self.steps) > self.MOST:
            self.steps, self.splits = self.steps[::2], self.splits[::2]

    def per_step_s(self, low: int, high: int) -> dict[str, float]:
        """Mean seconds by part, of steps from `low` up to `high`."""
        splits = [split for step, split in zip(self.steps, self.splits, strict=True) if low <= step < high]
        parts = {part for split in splits for part in split}
        return {part: statistics.fmean(split.get(part, 0.0) for split in splits) for part in parts}

    def is_even(self, low: int, high: int) -> bool:
        """Whether no few steps take most of the time: only of even steps can samples of the whole run tell how
        long each of them waited."""
        took = [sum(split.values()) for step, split in zip(self.steps, self.splits, strict=True) if low <= step < high]
        return bool(took) and statistics.fmean(took) <= _EVEN * statistics.median(took)


class DearerLine(NamedTuple):
    line: HotLine
    excess_s: float  # of a step, beyond what it costs the others
    is_shared: bool  # the others come to it too


@dataclass(frozen=True)
class RankWork:
    """What a rank does in a step, in seconds."""

    parts: dict[str, float]  # all but the backward, in which a rank waits for the others
    waits_s: float  # within those parts, in collectives
    step_s: float

    @property
    def own_s(self) -> float:
        return max(0.0, sum(self.parts.values()) - self.waits_s)


def work_of(pace: RankPace, stacks: SampledStacks, low: int, high: int) -> RankWork | None:
    parts = pace.per_step_s(low, high)
    step_s = sum(parts.values())
    if stacks.samples < LEAST_SAMPLES or step_s <= 0:
        return None
    others = {part: seconds for part, seconds in parts.items() if part != _BACKWARD}
    return RankWork(others, share_where(stacks, _waits) * step_s, step_s)


def dearer_line(slow: tuple[SampledStacks, float], others: list[tuple[SampledStacks, float]]) -> DearerLine | None:
    """The line that costs one rank most beyond what it costs the others; each is told with the length of its
    steps."""
    stacks, step_s = slow
    elsewhere: dict[tuple[str | None, int | None], list[float]] = {}
    for their_stacks, their_step_s in others:
        for line in hot_lines(their_stacks):
            elsewhere.setdefault((line.place.file, line.place.line), []).append(line.share * their_step_s)
    found = []
    for line in hot_lines(stacks):
        theirs = sum(elsewhere.get((line.place.file, line.place.line), ())) / max(1, len(others))
        if not set(line.called) & {"Tensor.backward", "backward"}:
            found.append(DearerLine(line, line.share * step_s - theirs, theirs > 0))
    return max(found, key=lambda each: each.excess_s, default=None)


def _waits(node: StackNode) -> bool:
    file = (node.place.file or "").replace("\\", "/")
    return any(part in file for part in _WAITING) and "forward" not in node.function
