"""What a run says about itself, gathered from its records."""

from __future__ import annotations

import types
import typing
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

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
    hparams: dict[str, HparamValue] = {}
    seeds: dict[str, int] = {}
    for record in filter(_well_typed, records):
        latest[type(record)] = record
        if isinstance(record, HparamsFact):
            hparams |= {name: value for name, value in record.values.items() if isinstance(value, HparamValue)}
        elif isinstance(record, SeedFact):
            seeds |= {name: seed for name, seed in record.seeds.items() if isinstance(seed, int)}
    run, end, around = (latest.get(kind) for kind in (RunFact, EndFact, Surroundings))
    return Facts(run, end, around, hparams | said, seeds)


def _well_typed(record: Record) -> bool:
    """Any file may hold an event with our tag; only what is of the right kind is taken for a fact."""
    hints = typing.get_type_hints(type(record))
    return all(_fits(getattr(record, name), hint) for name, hint in hints.items())


def _fits(value: object, hint: Any) -> bool:
    kind = typing.get_origin(hint) or hint
    if kind in (types.UnionType, typing.Union):
        return any(_fits(value, option) for option in typing.get_args(hint))
    return isinstance(value, (int, float) if kind is float else kind)
