"""What a run says about itself, gathered from its records."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from torch_debugger.archive.hparams import merge_hparams
from torch_debugger.records import EndFact, HparamsFact, Record, RunFact, SeedFact, Surroundings
from torch_debugger.records.surroundings import HparamValue

KINDS = (RunFact, EndFact, Surroundings, HparamsFact, SeedFact)


@dataclass(frozen=True, slots=True)
class Facts:
    run: RunFact | None = None
    end: EndFact | None = None
    surroundings: Surroundings | None = None
    hparams: dict[str, HparamValue] = field(default_factory=dict)
    seeds: dict[str, int] = field(default_factory=dict)


def gather(records: Iterable[Record], said: dict[str, HparamValue]) -> Facts:
    """`said` are the hyperparameters given by hand, which count more than those that were found."""
    latest: dict[type, Any] = {}
    told: list[HparamsFact] = []
    seeds: dict[str, int] = {}
    for record in records:
        latest[type(record)] = record
        if isinstance(record, HparamsFact):
            told.append(record)
        elif isinstance(record, SeedFact):
            seeds |= record.seeds
    run, end, around = (latest.get(kind) for kind in (RunFact, EndFact, Surroundings))
    return Facts(run, end, around, merge_hparams(told) | said, seeds)
