"""A run as another tracker kept it: numbers by step, hyperparameters, how it ended."""

from __future__ import annotations

from dataclasses import dataclass, field

from torch_debugger.records import Scalars
from torch_debugger.records.surroundings import HparamValue


@dataclass
class ForeignRun:
    identity: str  # the tracker and its number for the run: a second import is of the same
    name: str
    points: list[Scalars] = field(default_factory=list)
    hparams: dict[str, HparamValue] = field(default_factory=dict)
    outcome: str = ""  # finished | crashed | killed, or nothing where it is not said
    result: str = ""  # the result.json that torch-debugger gave to the tracker
    damaged: list[str] = field(default_factory=list)  # what of it could not be read, a sentence each
