"""What checks of a hang have in common: they judge when a rank is sure, and take it back when it goes on."""

from __future__ import annotations

import abc
import dataclasses
import functools
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from torch_debugger.checks.base import RunState
from torch_debugger.checks.rank_checks import RankCheck, RankStates
from torch_debugger.records import CrashFact, EndFact, Finding, HangFact, HangOver, Place, RankEnd, Record, Standing
from torch_debugger.records.ranks import CALL, COLLECTIVE, ENDED, EVENT, LOCK, LOOP, READ, SLEEP, ranks_in_words


class HangCheck(RankCheck):
    alone = True
    reads = (HangFact, HangOver, EndFact)
    explains: ClassVar[tuple[str, ...]] = ("training-stands-still",)

    def __init__(self) -> None:
        # With the ranks that stood still: where they go on, it was slow and no hang.
        self._found: dict[tuple[str, str], tuple[Finding, frozenset[int]]] = {}

    @abc.abstractmethod
    def judge(self, scene: HangSituation) -> Iterable[Finding]:
        """Somebody is sure that nothing goes on; is it for the reason that this check knows?"""

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        if isinstance(record, HangFact):
            hang = state.hang  # of a program of one process
            alone = hang is not None and hang.final and hang.world == 1
            return self._found_in(HangSituation({0: hang}, {}, {}, 1) if hang is not None and alone else None)
        return self._take_back(record, 0)

    def see_rank(self, rank: int, record: Record, ranks: RankStates) -> Iterable[Finding]:
        if not isinstance(record, HangFact):
            return self._take_back(record, rank)
        # One that tells its end says nothing of the others, who may have gone on and ended as well.
        return () if record.kind == ENDED else self._found_in(ranks.once(scene_of))

    def _found_in(self, scene: HangSituation | None) -> Iterable[Finding]:
        if scene is None:
            return
        for finding in self.judge(scene):
            self._found[finding.key] = finding, scene.standing
            yield finding

    def _take_back(self, record: Record, rank: int) -> Iterable[Finding]:
        """It was slow, and no hang: it went on, or has reached its end."""
        if isinstance(record, EndFact) and record.outcome != "finished":
            return
        found = {key: finding for key, (finding, still) in self._found.items() if rank in still}
        self._found = {key: each for key, each in self._found.items() if key not in found}
        took = f" for {seconds(record.still_s)}" if isinstance(record, HangOver) else ""
        for finding in found.values():
            went_on = f"The training stood still{took} and then went on by itself. "
            yield dataclasses.replace(finding, severity="note", message=went_on + finding.message)


# Everybody at the moment of a hang: who waits for whom, as far as the ranks have told.

# Of the time that a rank is given: one that has waited less may be on its way.
_LEAST_STILL = 0.25


@dataclass(frozen=True, eq=False)
class HangSituation:
    """By rank; a program of one process is rank 0 of 1. Of a thousand ranks each tells twice, and many checks
    look at it each time: what they ask for is found once."""

    facts: Mapping[int, HangFact]
    ends: Mapping[int, RankEnd]
    crashes: Mapping[int, CrashFact]
    world: int

    @property
    def first(self) -> HangFact:
        """The one that stood first, of those who are sure; one that waits for other ranks only where all do."""
        sure = [fact for fact in self.facts.values() if fact.final]
        return max(sure, key=lambda fact: (fact.kind != COLLECTIVE, fact.still_s))

    @functools.cached_property
    def waiting(self) -> dict[int, HangFact]:
        """In a collective, for others."""
        return {rank: fact for rank, fact in self.facts.items() if fact.kind == COLLECTIVE and rank in self.standing}

    def stuck(self, kinds: Collection[str]) -> dict[int, HangFact]:
        """Standing by themselves, in a wait of one of these kinds, and sure of it."""
        return {rank: fact for rank, fact in self.facts.items() if fact.kind in kinds and fact.final}

    @functools.cached_property
    def standing(self) -> frozenset[int]:
        return frozenset(rank for rank, fact in self.facts.items() if stands(fact))

    @functools.cached_property
    def ended(self) -> set[int]:
        """Those whose scripts are over, in one way or another."""
        over = {*self.ends, *self.crashes, *(rank for rank, fact in self.facts.items() if fact.kind == ENDED)}
        return over - self.standing  # else it was told before

    def others(self, ranks: Collection[int]) -> str:
        """Ranks 0-2 wait for it in all_reduce at train.py:88."""
        waiting = {rank: fact for rank, fact in self.waiting.items() if rank not in ranks}
        groups: dict[str, list[int]] = {}
        for rank, fact in sorted(waiting.items()):
            groups.setdefault(f"in {wait_words(fact)}", []).append(rank)
        parts = [f"{ranks_in_words(members)} {verb(members)} {spot}" for spot, members in groups.items()]
        text = "; ".join(parts)
        return f" {text[0].upper()}{text[1:]}." if text else ""

    def has_failed(self, rank: int) -> bool:
        return rank in self.crashes or (rank in self.ends and self.ends[rank].exit_code != 0)

    def end_words(self, rank: int) -> str:
        """has crashed with KeyError; has reached the end of its script"""
        crash, end = self.crashes.get(rank), self.ends.get(rank)
        if crash is not None:
            return f"has crashed with {crash.kind}"
        if end is not None and end.exit_code > 128:
            return f"was killed by signal {end.exit_code - 128}"
        if end is not None and end.exit_code:
            return f"has ended with exit code {end.exit_code}"
        return "has reached the end of its script"

    def rows(self) -> dict[str, float | str]:
        """A line of evidence for every rank; of many, those that differ."""
        if self.world == 1:
            return {}
        found: dict[str, float | str] = {}
        for rank in range(min(self.world, 64)):
            fact = self.facts.get(rank)
            if rank in self.ended:
                words = self.end_words(rank)
            elif fact is None:
                words = "has told nothing"
            else:
                words = f"runs, at {short_spot(fact.place)}"
                if stands(fact):
                    words = f"{fact.still_s:.0f} s in {wait_words(fact, short_spot)}"
                sequence = next((group.sequence for group in fact.groups if group.sequence >= 0), None)
                words += f", {sequence} collectives begun" if sequence is not None else ""
            found[f"rank {rank}"] = words
        return found


def scene_of(ranks: RankStates) -> HangSituation | None:
    """None while nobody is sure."""
    facts = {rank: state.hang for rank, state in ranks.states.items() if state.hang is not None}
    if ranks.world_size < 2 or not any(fact.final for fact in facts.values()):
        return None
    return HangSituation(facts, ranks.ends, ranks.crashes, ranks.world_size)


def stands(fact: HangFact) -> bool:
    return fact.final or (fact.kind != ENDED and fact.still_s >= _LEAST_STILL * fact.expected_s)


def subject(rank: int, scene: HangSituation) -> str:
    return "The training" if scene.world == 1 else f"Rank {rank}"


def verb(ranks: Collection[int]) -> str:
    return "waits" if len(ranks) == 1 else "wait"


def spot(place: Place) -> str:
    """train.py:88, with the whole path: reports shorten it."""
    return f"{place.file}:{place.line}" if place.file and place.line else "a place that is not known"


def short_spot(place: Place) -> str:
    """For a table."""
    return f"{place.file.rpartition('/')[2]}:{place.line}" if place.file and place.line else "an unknown line"


def wait_words(fact: HangFact, at: Callable[[Place], str] = spot) -> str:
    """all_reduce at train.py:88"""
    return f"{doing_words(fact)} at {at(fact.place)}"


def doing_words(fact: HangFact) -> str:
    return "the exchange of gradients in backward()" if fact.doing == "backward" else f"`{fact.doing}`"


def seconds(value: float) -> str:
    """12 s, 4 min, 0.3 s"""
    if value >= 120:
        return f"{value / 60:.0f} min"
    return f"{value:.0f} s" if value >= 10 else f"{value:.1f} s"


def patience(fact: HangFact) -> str:
    """Why that is too long."""
    if fact.slowest_s >= fact.still_s:
        return f"It was given {seconds(fact.expected_s)}."
    if fact.slowest_s >= 0.05:
        return (
            "Up to then the longest pause between two signs of life (steps, backward passes, calls of a "
            f"model) was {seconds(fact.slowest_s)}."
        )
    return "Until then it went on many times a second." if fact.step > 1 else "It has not made a step yet."


def nccl_advice(fact: HangFact) -> str:
    """What helps to find out more the next time; nothing is set without the user."""
    if not any("nccl" in group.backend for group in fact.groups):
        return ""
    recorder = "" if fact.recorded else " Set TORCH_FR_BUFFER_SIZE=2000 to let PyTorch record its collectives."
    return (
        " With NCCL, TORCH_NCCL_ASYNC_ERROR_HANDLING (before torch 2.2: NCCL_ASYNC_ERROR_HANDLING, still read "
        "where the new name is not set) at its default, 3, lets the ranks fail after the timeout of "
        f"init_process_group(timeout=...); 0 lets them wait for ever.{recorder}"
    )


def recorded_rows(fact: HangFact) -> dict[str, float | str]:
    return {f"recorded {number}": words for number, words in enumerate(fact.recorded, 1)}


# The workers of a loader that a training waits for.
_DOES = {LOCK: "waits for a lock", EVENT: "waits", READ: "reads", SLEEP: "sleeps", LOOP: "computes", CALL: "waits"}


def awaited(fact: HangFact) -> Standing | None:
    """The worker whose batch comes next."""
    return next((each for each in fact.stacks if each.who == f"worker {fact.worker}"), None)


def worker_row(fact: HangFact) -> dict[str, float | str]:
    """A line of evidence for every worker."""
    rows: dict[str, float | str] = {}
    for each in fact.stacks:
        if not each.who.startswith("worker "):
            continue
        does = _DOES.get(each.kind, "has no batch to make") if each.is_alive else "has ended"
        place = f" at {short_spot(each.users_line)}" if each.kind and each.users_line else ""
        rows[each.who] = f"{does}{place}"
    return rows


def nothing_moves(fact: HangFact) -> str:
    return f"Nothing has moved for {seconds(fact.still_s)}. {patience(fact)}"


# Ranks that wait for each other: which of the possible reasons it is. One answer for all checks, so that no two of
# them claim the same hang.
GONE, OUT_OF_DATA, SKIPPED, SHAPES, ORDER, UNKNOWN = "gone", "out of data", "skipped", "shapes", "order", "unknown"
# Nobody returns from these before everybody has called them.
_MUTUAL = {
    "all_reduce", "all_gather", "all_gather_into_tensor", "all_gather_object", "barrier", "reduce_scatter",
    "reduce_scatter_tensor", "all_to_all", "all_to_all_single", "backward",
}  # fmt: skip


@dataclass(frozen=True)
class Deadlock:
    """`odd` are the ranks that do not do what the others wait for."""

    reason: str
    odd: tuple[int, ...]
    waiting: Mapping[int, HangFact]  # the others, each in a collective

    @property
    def first(self) -> HangFact:
        """Of those who wait, the one that has for the longest time."""
        return max(self.waiting.values(), key=lambda fact: fact.still_s)


class DeadlockCheck(HangCheck):
    """Explains the deadlocks that have one of the reasons."""

    reason: ClassVar[str]

    @abc.abstractmethod
    def explain(self, deadlock: Deadlock, scene: HangSituation) -> Finding: ...

    def judge(self, scene: HangSituation) -> Iterable[Finding]:
        deadlock = deadlock_of(scene)
        return [self.explain(deadlock, scene)] if deadlock is not None and deadlock.reason == self.reason else ()


@functools.lru_cache(maxsize=1)  # every check asks for the same
def deadlock_of(scene: HangSituation) -> Deadlock | None:
    """None where some rank still runs, or stands for a reason of its own, or too little is known."""
    waiting = scene.waiting
    if scene.world < 2 or not waiting or not scene.standing | scene.ended >= set(range(scene.world)):
        return None
    if any(fact.kind != COLLECTIVE and rank not in scene.ended for rank, fact in scene.facts.items()):
        return None
    found = _out_of_data(scene, waiting)
    if found is None and scene.ended:
        found = Deadlock(GONE, tuple(sorted(scene.ended)), waiting)
    found = found or _skipped(waiting) or _different_shapes(waiting)
    if found is not None:
        return found
    doing = {rank: (fact.doing, fact.place.file, fact.place.line) for rank, fact in waiting.items()}
    return _by(ORDER, doing, waiting) if len(set(doing.values())) > 1 else Deadlock(UNKNOWN, (), waiting)


def _out_of_data(scene: HangSituation, waiting: dict[int, HangFact]) -> Deadlock | None:
    """Some have finished their pass over the data, and the others are in the middle of theirs. One that has
    ended must have done so in good order, and after fewer steps."""
    crashed = {*scene.crashes, *(rank for rank, end in scene.ends.items() if end.exit_code)}
    done = {rank for rank, fact in scene.facts.items() if fact.is_out_of_data and rank not in crashed}
    left = {rank: fact for rank, fact in waiting.items() if rank not in done and fact.batches >= 0}
    if not done or not left or done | set(left) != set(scene.facts):
        return None
    furthest = max(scene.facts[rank].batches for rank in done)
    if furthest >= min(fact.batches for fact in left.values()):
        return None
    return Deadlock(OUT_OF_DATA, tuple(sorted(done)), left)


def _skipped(waiting: dict[int, HangFact]) -> Deadlock | None:
    """Some wait in a line that only some ranks come to, under an `if rank == 0:`, and the others elsewhere.
    Those that do not come are the others, but the line to change is that one."""
    inside = {rank: fact for rank, fact in waiting.items() if fact.condition}
    places = {(fact.place.file, fact.place.line) for fact in inside.values()}
    others = [fact for rank, fact in waiting.items() if rank not in inside]
    if len(places) != 1 or not others or any((each.place.file, each.place.line) in places for each in others):
        return None
    return Deadlock(SKIPPED, tuple(sorted(set(waiting) - set(inside))), inside)


def _different_shapes(waiting: dict[int, HangFact]) -> Deadlock | None:
    """The same operation with different tensors; or one in which nobody is free to go before all have come,
    and some have gone: what they brought was shorter."""
    begun = {rank: fact.groups[0].sequence if fact.groups else -1 for rank, fact in waiting.items()}
    fewest = min(begun.values())  # once: there may be a thousand
    behind = {rank: waiting[rank] for rank, number in begun.items() if number == fewest}
    if fewest > 0 and len(behind) < len(waiting):
        left = tuple(rank for rank in sorted(waiting) if rank not in behind)
        return Deadlock(SHAPES, left, behind) if all(each.doing in _MUTUAL for each in behind.values()) else None
    same = len({(fact.doing, fact.place.file, fact.place.line) for fact in waiting.values()}) == 1
    if not same or len({fact.shapes for fact in waiting.values()}) < 2:
        return None
    if not all(fact.shapes for fact in waiting.values()):
        return None
    return _by(SHAPES, {rank: fact.shapes for rank, fact in waiting.items()}, waiting)


def _by(reason: str, keys: Mapping[int, object], waiting: dict[int, HangFact]) -> Deadlock:
    """The odd ones are all that do not belong to the largest group; of two equal ones, to that of the lowest
    rank."""
    groups: dict[object, list[int]] = {}
    for rank in sorted(keys):
        groups.setdefault(keys[rank], []).append(rank)
    largest = max(groups.values(), key=len)
    odd = tuple(rank for rank in sorted(keys) if rank not in largest)
    return Deadlock(reason, odd, {rank: waiting[rank] for rank in largest})
