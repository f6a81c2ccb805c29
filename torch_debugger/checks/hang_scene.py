"""Everybody at the moment of a hang: who waits for whom, as far as the ranks have told."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from torch_debugger.checks.rank_states import RankStates
from torch_debugger.checks.state import RunState
from torch_debugger.records import CrashFact, HangFact, Place, RankEnd
from torch_debugger.records.hangs import COLLECTIVE, ENDED
from torch_debugger.records.ranks import ranks_in_words

# Of the time that a rank is given: one that has waited less may be on its way.
_LEAST_STILL = 0.25


@dataclass(frozen=True, eq=False)
class Scene:
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
        return {
            rank: fact for rank, fact in self.facts.items() if fact.kind == COLLECTIVE and rank in self.standing
        }

    def stuck(self, kinds: Collection[str]) -> dict[int, HangFact]:
        """Standing by themselves, in a wait of one of these kinds, and sure of it."""
        return {rank: fact for rank, fact in self.facts.items() if fact.kind in kinds and fact.final}

    @functools.cached_property
    def standing(self) -> frozenset[int]:
        return frozenset(rank for rank, fact in self.facts.items() if stands(fact))

    @functools.cached_property
    def is_complete(self) -> bool:
        """Every rank is known to stand or to have ended: nobody can bring the others on."""
        return self.standing | self.ended >= set(range(self.world))

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
        ended = self.ended
        for rank in range(min(self.world, 64)):
            if rank in ended:
                found[f"rank {rank}"] = self.end_words(rank)
            elif rank in self.facts:
                found[f"rank {rank}"] = state_words(self.facts[rank])
            else:
                found[f"rank {rank}"] = "has told nothing"
        return found


def scene_alone(state: RunState) -> Scene | None:
    """Of a program of one process; None while it is not sure."""
    hang = state.hang
    return Scene({0: hang}, {}, {}, 1) if hang is not None and hang.final and hang.world == 1 else None


def scene_of(ranks: RankStates) -> Scene | None:
    """None while nobody is sure."""
    facts = {rank: state.hang for rank, state in ranks.states.items() if state.hang is not None}
    if ranks.world_size < 2 or not any(fact.final for fact in facts.values()):
        return None
    return Scene(facts, ranks.ends, ranks.crashes, ranks.world_size)


def stands(fact: HangFact) -> bool:
    return fact.final or (fact.kind != ENDED and fact.still_s >= _LEAST_STILL * fact.expected_s)


def subject(rank: int, scene: Scene) -> str:
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


def state_words(fact: HangFact) -> str:
    begun = next((f", {group.sequence} collectives begun" for group in fact.groups if group.sequence >= 0), "")
    if not stands(fact):
        return f"runs, at {short_spot(fact.place)}{begun}"
    return f"{fact.still_s:.0f} s in {wait_words(fact, short_spot)}{begun}"


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
