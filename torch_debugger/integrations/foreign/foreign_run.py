"""A run as another tracker kept it: numbers by step, hyperparameters, how it ended."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from torch_debugger.records import Scalars, Summary
from torch_debugger.records.surroundings import HparamValue

NO_STEP = "rows left out, as their step is no whole number of 64 bits"


class NoStepError(ValueError):
    """What stands for a step is no whole number, or does not fit in a log."""


@dataclass
class ForeignRun:
    identity: str  # the tracker and its number for the run: a second import is of the same
    name: str
    points: list[Scalars] = field(default_factory=list)
    summaries: list[Summary] = field(default_factory=list)  # images, histograms, tables
    hparams: dict[str, HparamValue] = field(default_factory=dict)
    outcome: str = ""  # finished | crashed | killed, or nothing where it is not said
    result: str = ""  # the result.json that torch-debugger gave to the tracker
    damaged: list[str] = field(default_factory=list)  # what of it could not be read, a sentence each
    left_out: Counter[str] = field(default_factory=Counter)  # what there may be much of: how often

    def faults(self) -> list[str]:
        return self.damaged + [f"{what}: {count:,}." for what, count in self.left_out.items()]


def step_of(value: Any) -> int:
    try:
        step = int(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise NoStepError from error
    if not -(1 << 63) <= step < 1 << 63 or (isinstance(value, float) and step != value):
        raise NoStepError
    return step
