"""The processes of a run side by side: how far each is, how fast, whether they still train one model."""

from __future__ import annotations

import time
from itertools import islice
from typing import Any

import numpy as np

from torch_debugger.log.run import Run
from torch_debugger.log.run_facts import ENDED
from torch_debugger.records import MemoryFact, PhaseFact, RankEnd, RankFact
from torch_debugger.records.ranks import SIGTERM_EXIT_CODE
from torch_debugger.system.errors import UsageError
from torch_debugger.viewer.questions import Query, as_json, last_value, thin_curve
from torch_debugger.viewer.timing import STEP_TAG, WAIT_TAG


def answer_ranks(query: Query) -> dict[str, Any]:
    return query.of_run(ranks_of)


# The scalars of one rank of a run, as its own log has them; as many as a screen holds.
_MOST_TAGS = 12
_MOST_POINTS = 300


def answer_rank_curves(query: Query) -> dict[str, Any]:
    rank = query.whole("rank", 0)
    return query.of_run(lambda run: _curves(run, rank))


def _curves(run: Run, rank: int) -> dict[str, Any]:
    part = run.ranks.get(rank)
    if part is None:
        raise UsageError(f"The run {run.name!r} has no rank {rank}.")
    tags = part.tags.get("scalars", [])
    first = [part.loss_tag] if part.loss_tag is not None else []
    shown = list(dict.fromkeys([*first, *tags]))[:_MOST_TAGS]
    return {
        "rank": rank,
        "curves": [{"tag": tag, **thin_curve(part, tag, _MOST_POINTS)} for tag in shown],
        "all_tags": len(tags),
    }


# Each rank's own numbers, and where ranks that should be alike are not.
_MOST_RANKS = 4096
_MOST_LOSS_POINTS = 60
_LATE = 20  # steps over which a speed is measured: the last ones
_ALIKE = 1e-4  # of a norm: what sums in another order explain
_NORM = "weight_norm"


def ranks_of(run: Run) -> dict[str, Any]:
    every = run.ranks
    parts = dict(islice(every.items(), _MOST_RANKS))
    facts = {rank: part.last_record(RankFact) for rank, part in parts.items()}
    # A rank that holds a part of the weights has a norm of its own, and is not expected to agree.
    whole = {rank: part for rank, part in parts.items() if not getattr(facts[rank], "sharded", False)}
    norms = {rank: _by_step(part) for rank, part in whole.items() if _has(part, _NORM)}
    common = sorted(set.intersection(*(set(each) for each in norms.values()))) if len(norms) > 1 else []
    last = {rank: as_json(norm[common[-1]]) for rank, norm in norms.items()} if common else {}
    return {
        "ranks": [
            _row(rank, part, facts[rank], run.status) | {"weight_norm": last.get(rank)} for rank, part in parts.items()
        ],
        "all_ranks": len(every),
        "weights": _agreement(norms, common) if common else None,
    }


def _row(rank: int, part: Run, fact: RankFact | None, whole: str) -> dict[str, Any]:
    around = part.facts.surroundings
    host = around.system.get("host") if around is not None else None
    loss, phase, memory = part.loss_tag, part.last_record(PhaseFact), part.last_record(MemoryFact)
    return {
        "rank": rank,
        "status": _status(part, whole),
        "phase": ("training" if phase.training else "evaluating") if phase is not None else None,
        "host": fact.host if fact is not None else host,
        "last_step": part.steps,
        "silent_s": max(0.0, time.time() - part.changed),
        "step_s": _late_mean(part, STEP_TAG),
        "wait_s": _late_mean(part, WAIT_TAG),
        "memory_bytes": (memory.device_bytes or memory.resident_bytes) if memory is not None else None,
        "loss": last_value(part, loss) if loss is not None else None,
        "curve": thin_curve(part, loss, _MOST_LOSS_POINTS) if loss is not None else None,
    }


def _status(part: Run, whole: str) -> str:
    """As the rank says itself; one that said nothing while the run has ended was ended."""
    if part.facts.end is not None:
        return part.facts.end.outcome
    end = part.last_record(RankEnd)
    if end is not None and end.exit_code == SIGTERM_EXIT_CODE:
        return "stopped"
    return "killed" if whole in ENDED or end is not None else part.status


def _has(part: Run, tag: str) -> bool:
    return tag in part.tags.get("scalars", [])


def _late_mean(part: Run, tag: str) -> float | str | None:
    values = part.scalars(tag).values[-_LATE:] if _has(part, tag) else np.empty(0)
    return as_json(float(values.mean())) if len(values) else None


def _agreement(norms: dict[int, dict[int, float]], common: list[int]) -> dict[str, Any]:
    """Whether the norm of the weights is the same on all ranks, and the first step at which it is not."""
    grid = np.array([[norms[rank][step] for step in common] for rank in norms])
    lost = np.isnan(grid).all(axis=0)  # on all ranks alike
    middle = np.nanmedian(np.where(lost, 0.0, grid), axis=0)
    with np.errstate(invalid="ignore"):  # Inf of Inf
        near = np.abs(grid - middle) <= _ALIKE * np.abs(middle)
    apart = ~near & (grid != middle) & ~lost
    places = np.flatnonzero(apart.any(axis=0))
    steps = {"steps": len(common), "last_step": common[-1]}
    if not len(places):
        return {**steps, "last_alike": common[-1], "first_apart": None, "from_start": False, "ranks": []}
    diverged = [rank for rank, is_apart in zip(norms, apart[:, places[0]].tolist(), strict=True) if is_apart]
    return {
        **steps,
        "last_alike": common[int(places[0]) - 1] if places[0] else None,
        "first_apart": common[int(places[0])],
        "from_start": int(places[0]) == 0,
        "ranks": diverged,
    }


def _by_step(part: Run) -> dict[int, float]:
    curve = part.scalars(_NORM)
    return dict(zip(curve.steps.tolist(), curve.values.tolist(), strict=True))
