"""What is known of one optimizer while it lives."""

from __future__ import annotations

import weakref
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.optim import Optimizer

from torch_debugger.probes.carried import CarryTracker
from torch_debugger.records import Place, Table


@dataclass
class Held:
    name: str  # the user's variable; empty until the optimizer first steps
    optimizer: weakref.ref[Optimizer]
    place: Place  # the line that made it
    source: str  # and its text
    steps: int = 0
    backwards: int = 0  # how many there had been in the run when it last stepped
    looked: int = -1  # its number of steps when all its gradients were last looked at
    sentinel: torch.Tensor | None = None  # the parameter whose gradient is looked at in every step
    counted: int = 0  # the step of its last count of parameters
    carry: CarryTracker = field(default_factory=CarryTracker)
    parameters: list[int] = field(default_factory=list)  # their ids
    told: tuple[Any, ...] = ()  # what the last OptimizerFact said
    keys: list[int] = field(default_factory=list)  # ids of the parameters in `table`
    table: Table | None = None
    elements: Any = None  # of those parameters, as an array
    before: dict[int, torch.Tensor] = field(default_factory=dict)  # samples of weights, on deep steps
    changed: dict[int, bool] = field(default_factory=dict)  # parameter id -> by the last deep step
