"""Collectives that only some ranks call, or that ranks call in different orders or shapes."""

from __future__ import annotations

import math
import signal
from collections.abc import Iterable
from dataclasses import dataclass, field

from torch_debugger.checks.base import at_line
from torch_debugger.checks.hangs import (
    ORDER,
    SHAPES,
    SKIPPED,
    Deadlock,
    DeadlockCheck,
    HangSituation,
    doing_words,
    nccl_advice,
    nothing_moves,
    recorded_rows,
    seconds,
    spot,
    verb,
    wait_words,
)
from torch_debugger.checks.rank_checks import RankCheck, RankStates
from torch_debugger.records import CollectiveKind, CollectivesFact, Finding, HangFact
from torch_debugger.records.ranks import ranks_in_words


class CollectiveSkipped(DeadlockCheck):
    """Only some ranks call a collective, since the line stands under a condition on the rank.

    Symptom: all ranks stand still; PyTorch says so after 10 to 30 minutes, in sequence numbers.

    Evidence: some ranks wait in a collective whose line is inside of an `if` that asks for the rank, all
    others wait in another collective somewhere else, and no rank computes.

    Fix: move the call out of the `if`, so that every rank makes it; or take it out, if the others need not
    wait.

    Known limits: a condition that differs between ranks but does not mention the rank (a loss that is NaN on
    one of them, a file that only one sees) is told as collectives-out-of-order.
    """

    id = "TD826"
    name = "collective-skipped"
    title = "Only some ranks call a collective"
    reason = SKIPPED

    def explain(self, deadlock: Deadlock, scene: HangSituation) -> Finding:
        fact = deadlock.first
        callers, others = ranks_in_words(deadlock.waiting), ranks_in_words(deadlock.odd)
        condition = fact.condition
        return self.finding(
            severity="error",
            confidence=0.95,
            message=f"{callers.capitalize()} {verb(deadlock.waiting)} in {doing_words(fact)} at {spot(fact.place)} "
            f"for {others}, which never {'comes' if len(deadlock.odd) == 1 else 'come'} there: it is called under "
            f"`{condition.code}` at {spot(condition)}.{scene.others(deadlock.waiting)}",
            why=f"A collective returns when every rank of its group has called it. {nothing_moves(fact)}",
            fix=f"Move {doing_words(fact)} out of `{condition.code}`, so that all ranks call it; what only "
            "one rank should do stays inside." + nccl_advice(fact),
            where=fact.place,
            steps=(fact.step, fact.step),
            evidence={"stood still": seconds(fact.still_s), **recorded_rows(fact), **scene.rows()},
        )


class CollectivesOutOfOrder(DeadlockCheck):
    """The ranks call collectives in different orders, or some of them on some ranks only.

    Symptom: all ranks stand still; PyTorch says so after 10 to 30 minutes, in sequence numbers.

    Evidence: all ranks wait in collectives, and not in the same one: the operation or the line differs.

    Fix: let every rank come to the same collectives in the same order. Look at the condition, the order of a
    dictionary or set, or the early `continue` that parts them.

    Known limits: the line that parted the ranks is above the lines where they wait; which it was is not known.
    """

    id = "TD829"
    name = "collectives-out-of-order"
    title = "Ranks wait in different collectives"
    reason = ORDER

    def explain(self, deadlock: Deadlock, scene: HangSituation) -> Finding:
        odd = scene.facts[deadlock.odd[0]]
        parted = ranks_in_words(deadlock.odd)
        return self.finding(
            severity="error",
            confidence=0.9,
            message=f"{parted.capitalize()} {verb(deadlock.odd)} in {wait_words(odd)}, while "
            f"{ranks_in_words(deadlock.waiting)} {verb(deadlock.waiting)} in {wait_words(deadlock.first)}: they "
            f"call collectives in different orders{_numbers(deadlock, scene)}.",
            why="Collectives are matched by the order in which each rank calls them, and every rank waits for the "
            f"others to call the same one. {nothing_moves(odd)}",
            fix=f"Make {parted} come to {spot(odd.place)} and {spot(deadlock.first.place)} in the same order "
            "as the others: look for a condition that differs between ranks, or an order (of a set, of "
            "files) that is not fixed." + nccl_advice(odd),
            where=odd.place,
            steps=(odd.step, odd.step),
            evidence={"stood still": seconds(odd.still_s), **recorded_rows(odd), **scene.rows()},
        )


def _numbers(deadlock: Deadlock, scene: HangSituation) -> str:
    begun = {fact.groups[0].sequence for fact in scene.facts.values() if fact.groups}
    known = len(begun) == 1 and min(begun) > 0
    return f" (it is number {min(begun):,} for all of them)" if known else ""


class CollectiveShapesDiffer(DeadlockCheck):
    """The ranks are in the same collective with tensors of different shapes.

    Symptom: all ranks stand still in one call; sometimes gloo aborts instead, sometimes NCCL gives wrong
    numbers.

    Evidence: all ranks wait in the same operation, and the tensors they gave to it differ in shape or dtype.

    Fix: bring the tensors to one shape first: pad them, or exchange the sizes with a small `all_gather` and
    allocate by them. `all_gather_object` and `all_to_all` with split sizes take different sizes.

    Known limits: shapes are read from the call of torch.distributed that the line makes. Those of gradients
    inside of DistributedDataParallel are not known.
    """

    id = "TD830"
    name = "collective-shapes-differ"
    title = "Ranks give tensors of different shapes to one collective"
    reason = SHAPES

    def explain(self, deadlock: Deadlock, scene: HangSituation) -> Finding:
        odd, others = scene.facts[deadlock.odd[0]], deadlock.first
        has_left = _number(odd) > _number(others)
        return self.finding(
            severity="error",
            confidence=0.75 if has_left else 0.95,
            message=_left(deadlock, odd) if has_left else _together(deadlock, odd),
            why="All ranks must give tensors of the same shape and dtype: one that brings less is done while the "
            f"others wait for the rest. {nothing_moves(others)}",
            fix="Bring the tensors to one shape before the call: pad them to the largest size (all_reduce "
            "the sizes with MAX first), or use all_gather_object for small things.",
            where=others.place if has_left else odd.place,
            steps=(others.step, others.step),
            evidence={
                "stood still": seconds(others.still_s),
                **{f"tensors of rank {rank}": _shapes(fact.shapes) for rank, fact in sorted(scene.facts.items())[:16]},
                **scene.rows(),
            },
        )


def _number(fact: HangFact) -> int:
    return fact.groups[0].sequence if fact.groups else -1


def _together(deadlock: Deadlock, odd: HangFact) -> str:
    return (
        f"{ranks_in_words(deadlock.odd).capitalize()} {verb(deadlock.odd)} in {wait_words(odd)} with "
        f"{_shapes(odd.shapes)}, {ranks_in_words(deadlock.waiting)} with {_shapes(deadlock.first.shapes)}."
    )


def _left(deadlock: Deadlock, odd: HangFact) -> str:
    fact, left = deadlock.first, ranks_in_words(deadlock.odd)
    return (
        f"{ranks_in_words(deadlock.waiting).capitalize()} {verb(deadlock.waiting)} in {wait_words(fact)} with "
        f"{_shapes(fact.shapes)}, which is collective number {_number(fact):,}; {left} already left that number and "
        f"{verb(deadlock.odd)} in {wait_words(odd)}: what {left} brought to it had another size."
    )


def _shapes(shapes: tuple[str, ...]) -> str:
    return " and ".join(dict.fromkeys(shapes)) or "no tensor"


_Group = tuple[str, tuple[tuple[int, int], ...]]  # its name, and its members
_Line = tuple[str | None, int | None, str | None, int | None]
_WITHOUT_VALUES = "barrier"


@dataclass
class _Calls:
    """The calls of one rank in one group, by their number."""

    kinds: dict[int, CollectiveKind] = field(default_factory=dict)
    steps: dict[int, int] = field(default_factory=dict)

    def add(self, fact: CollectivesFact) -> None:
        for number, kind in enumerate(fact.calls, fact.first):
            self.kinds[number] = fact.kinds[kind]
            self.steps[number] = fact.step

    @property
    def last(self) -> int:
        return max(self.kinds, default=0)

    def positions(self) -> dict[_Line, list[int]]:
        found: dict[_Line, list[int]] = {}
        for number, kind in sorted(self.kinds.items()):
            found.setdefault(_line(kind), []).append(number)
        return found


class CollectivesMixedUp(RankCheck):
    """What one rank sends in one collective meets what another rank sends in another one.

    Symptom:
        Sums and averages over ranks are wrong, metrics take odd values, a loss is added to a count of samples;
        or the run ends in "Connection closed by peer" or an abort of gloo, far from the line that is at fault.
    Evidence:
        The collectives of each rank in their order, with line, size and dtype. Call by call, ranks of one group
        must agree: here the operation, the number of elements or the dtype differs; or one rank has made a
        call at a line where the others make none, and from then on the lines of the same call differ.
    Fix:
        Let every rank make the same calls in the same order: take collectives out of `if rank == 0:`, go
        through dictionaries in a sorted order, give every rank tensors of one shape.
    Known limits:
        Calls of DistributedDataParallel itself are not seen, nor those between two ranks (`send`, `recv`). Of a
        long run only some stretches are kept. Where ranks stand still for it, that is told as a hang.
    """

    id = "TD809"
    name = "collectives-mixed-up"
    title = "ranks put different collectives together"
    reads = (CollectivesFact,)
    explains = ("ranks-disagree", "rank-killed", "rank-left-early")

    def __init__(self) -> None:
        self._groups: dict[_Group, dict[int, _Calls]] = {}

    def see_rank(self, rank: int, record: CollectivesFact, ranks: RankStates) -> None:
        group = self._groups.setdefault((record.group, record.ranks), {})
        group.setdefault(rank, _Calls()).add(record)

    def finish_ranks(self, ranks: RankStates) -> Iterable[Finding]:
        # Not by somebody who lost patience: what stands still is explained elsewhere.
        failed = ranks.failed()
        by_itself = not failed or failed[0] in ranks.crashes or ranks.ends[failed[0]].exit_code == 128 + signal.SIGABRT
        if not by_itself:
            return
        for (_, members), calls in self._groups.items():
            known = sorted(rank for rank in calls if any(low <= rank <= high for low, high in members))
            for other in known[1:]:
                found = self._compare(known[0], other, calls)
                if found is not None:
                    yield found
                    return

    def _compare(self, one: int, other: int, calls: dict[int, _Calls]) -> Finding | None:
        mine, theirs = calls[one].kinds, calls[other].kinds
        both = sorted(mine.keys() & theirs.keys())
        different = next((number for number in both if _form(mine[number]) != _form(theirs[number])), None)
        if different is not None:
            return self._tell(different, one, other, calls, _what_differs(mine[different], theirs[different]))
        shifted = _shifted(calls[one], calls[other])
        return self._tell(shifted, one, other, calls, "the line") if shifted is not None else None

    def _tell(self, number: int, one: int, other: int, calls: dict[int, _Calls], what: str) -> Finding:
        mine, theirs = calls[one].kinds[number], calls[other].kinds[number]
        # The other rank never comes to this line.
        odd, others = (mine, other) if _line(mine) not in calls[other].positions() else (theirs, one)
        theirs_too = {kind.place for kind in calls[others].kinds.values()}  # of a function that both call
        known = {kind.caller for kind in calls[others].kinds.values()}
        by_caller = odd.place in theirs_too and odd.caller and odd.caller not in known
        where = odd.caller if by_caller else odd.place
        return self.finding(
            severity="error",
            confidence=0.95 if what != "the line" else 0.85,
            message=f"Collective {number:,} is {_words(mine)} on rank {one} and {_words(theirs)} on rank "
            f"{other}: {what} differs, so the ranks have put different things together.",
            why="A collective meets whatever the other ranks call as their next one in the same group: nothing "
            "tells them apart but their number. If sizes fit, the numbers are wrong and nobody says so.",
            fix="Let all ranks make the same calls in the same order, with tensors of one shape: no collective "
            "inside of `if rank == 0:`, no loop over a set, and sizes that depend on data made equal first.",
            where=where,
            steps=(max(1, calls[one].steps[number]), max(1, calls[one].steps[number])),
            evidence={
                "call": float(number),
                f"rank_{one}": _words(mine),
                f"rank_{other}": _words(theirs),
                f"calls_of_rank_{one}": float(calls[one].last),
                f"calls_of_rank_{other}": float(calls[other].last),
            },
        )


def _form(kind: CollectiveKind) -> tuple[str, int, str]:
    """What must be equal on all ranks. A tensor may be flat on one of them."""
    return kind.op, math.prod(kind.shape), kind.dtype


def _what_differs(mine: CollectiveKind, theirs: CollectiveKind) -> str:
    if mine.op != theirs.op:
        return "the operation"
    return "the dtype" if mine.dtype != theirs.dtype else "the size"


def _line(kind: CollectiveKind) -> _Line:
    return kind.place.file, kind.place.line, kind.caller.file, kind.caller.line


def _shifted(mine: _Calls, theirs: _Calls) -> int | None:
    """The number of a call that one rank makes and the other does not, and that moves a line which both come
    to: its first call has another number on each of them. Not where both make as many: then the roles of ranks
    differ, and each has lines of its own."""
    if mine.last == theirs.last:
        return None
    here, there = mine.positions(), theirs.positions()
    alone = [numbers[0] for line, numbers in here.items() if line not in there]
    alone += [numbers[0] for line, numbers in there.items() if line not in here]
    moved = [max(here[line][0], there[line][0]) for line in here.keys() & there.keys()
             if here[line][0] != there[line][0]]  # fmt: skip
    first = min(alone, default=None)
    if first is None or not moved or first > min(moved):
        return None
    kinds = mine.kinds.get(first), theirs.kinds.get(first)
    if None in kinds or any(kind is not None and kind.op == _WITHOUT_VALUES for kind in kinds):
        return None
    return first


def _words(kind: CollectiveKind) -> str:
    """`all_reduce` of 2 float32 [2] at train.py:31, called at train.py:50"""
    shape = f" of {kind.dtype} {list(kind.shape)}" if kind.dtype else ""
    caller = f", called{at_line(kind.caller)}" if kind.caller else ""
    return f"`{kind.op}`{shape}{at_line(kind.place)}{caller}"
