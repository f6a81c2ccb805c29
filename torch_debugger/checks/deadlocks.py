"""Ranks that wait for each other: which of the possible reasons it is. One answer for all checks, so that no
two of them claim the same hang."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass

from torch_debugger.checks.hang_scene import Scene
from torch_debugger.records import HangFact
from torch_debugger.records.hangs import COLLECTIVE

GONE, OUT_OF_DATA, SKIPPED, SHAPES, ORDER, UNKNOWN = (
    "gone",
    "out of data",
    "skipped",
    "shapes",
    "order",
    "unknown",
)
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


@functools.lru_cache(maxsize=1)  # every check asks for the same
def deadlock_of(scene: Scene) -> Deadlock | None:
    """None where some rank still runs, or stands for a reason of its own, or too little is known."""
    waiting = scene.waiting
    if scene.world < 2 or not waiting or not scene.is_complete:
        return None
    if any(fact.kind != COLLECTIVE and rank not in scene.ended for rank, fact in scene.facts.items()):
        return None
    return (
        _out_of_data(scene, waiting)
        or _gone(scene, waiting)
        or _skipped(waiting)
        or _different_shapes(waiting)
        or _different_order(waiting)
        or Deadlock(UNKNOWN, (), waiting)
    )


def _gone(scene: Scene, waiting: dict[int, HangFact]) -> Deadlock | None:
    gone = tuple(sorted(scene.ended))
    return Deadlock(GONE, gone, waiting) if gone else None


def _out_of_data(scene: Scene, waiting: dict[int, HangFact]) -> Deadlock | None:
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
        return (
            Deadlock(SHAPES, left, behind) if all(each.doing in _MUTUAL for each in behind.values()) else None
        )
    same = len({(fact.doing, fact.place.file, fact.place.line) for fact in waiting.values()}) == 1
    if not same or len({fact.shapes for fact in waiting.values()}) < 2:
        return None
    if not all(fact.shapes for fact in waiting.values()):
        return None
    return _by(SHAPES, {rank: fact.shapes for rank, fact in waiting.items()}, waiting)


def _different_order(waiting: dict[int, HangFact]) -> Deadlock | None:
    doing = {rank: (fact.doing, fact.place.file, fact.place.line) for rank, fact in waiting.items()}
    return _by(ORDER, doing, waiting) if len(set(doing.values())) > 1 else None


def _by(reason: str, keys: Mapping[int, object], waiting: dict[int, HangFact]) -> Deadlock:
    """The odd ones are all that do not belong to the largest group; of two equal ones, to that of the lowest
    rank."""
    groups: dict[object, list[int]] = {}
    for rank in sorted(keys):
        groups.setdefault(keys[rank], []).append(rank)
    largest = max(groups.values(), key=len)
    odd = tuple(rank for rank in sorted(keys) if rank not in largest)
    return Deadlock(reason, odd, {rank: waiting[rank] for rank in largest})
