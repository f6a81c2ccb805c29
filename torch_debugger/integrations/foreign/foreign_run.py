"""A run as another tracker kept it: numbers by step, and hyperparameters."""

from __future__ import annotations

from dataclasses import dataclass, field

from torch_debugger.records import Scalars
from torch_debugger.records.surroundings import HparamValue


@dataclass
class ForeignRun:
    name: str
    points: list[Scalars] = field(default_factory=list)
    hparams: dict[str, HparamValue] = field(default_factory=dict)
