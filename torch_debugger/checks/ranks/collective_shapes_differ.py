"""Ranks that bring tensors of different shapes to one collective."""

from __future__ import annotations

from collections.abc import Iterable

from torch_debugger.checks.deadlocks import SHAPES, Deadlock, deadlock_of
from torch_debugger.checks.hang_check import HangCheck
from torch_debugger.checks.hang_scene import Scene, patience, seconds, verb, wait_words
from torch_debugger.records import Finding, HangFact
from torch_debugger.records.ranks import ranks_in_words


class CollectiveShapesDiffer(HangCheck):
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

    def judge(self, scene: Scene) -> Iterable[Finding]:
        deadlock = deadlock_of(scene)
        if deadlock is not None and deadlock.reason == SHAPES:
            yield self._finding(deadlock, scene)

    def _finding(self, deadlock: Deadlock, scene: Scene) -> Finding:
        odd, others = scene.facts[deadlock.odd[0]], deadlock.first
        has_left = _number(odd) > _number(others)
        return self.finding(
            severity="error",
            confidence=0.75 if has_left else 0.95,
            message=_left(deadlock, odd) if has_left else _together(deadlock, odd),
            why="All ranks must give tensors of the same shape and dtype: one that brings less is done "
            f"while the others wait for the rest. Nothing has moved for {seconds(others.still_s)}. "
            f"{patience(others)}",
            fix="Bring the tensors to one shape before the call: pad them to the largest size (all_reduce "
            "the sizes with MAX first), or use all_gather_object for small things.",
            where=others.place if has_left else odd.place,
            first_step=others.step,
            last_step=others.step,
            evidence={"stood still": seconds(others.still_s), **_tensors(scene), **scene.rows()},
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
        f"{ranks_in_words(deadlock.waiting).capitalize()} {verb(deadlock.waiting)} in {wait_words(fact)} "
        f"with {_shapes(fact.shapes)}, which is collective number {_number(fact):,}; {left} already left "
        f"that number and {verb(deadlock.odd)} in {wait_words(odd)}: what {left} brought to it had another "
        "size."
    )


def _tensors(scene: Scene) -> dict[str, float | str]:
    return {f"tensors of rank {rank}": _shapes(fact.shapes) for rank, fact in sorted(scene.facts.items())[:16]}


def _shapes(shapes: tuple[str, ...]) -> str:
    return " and ".join(dict.fromkeys(shapes)) or "no tensor"
