"""When a condition is asked: at the moment at which all that it names is there."""

from __future__ import annotations

from enum import Enum

from torch_debugger.breakpoints.conditions import Condition
from torch_debugger.breakpoints.vocabulary import PER_CALL


class Moment(Enum):
    STEP = "at the first call of a model in a step"
    CALL = "when a module is called"
    RETURN = "when a module has returned"
    GRADIENT = "when the gradient of a module's output is there"
    LOSS = "when backward() is called"


def moment_of(condition: Condition, at: str | None) -> Moment:
    """The latest of what is named decides; `step` and `loss` are known at all times."""
    names = condition.names
    if "grad" in names:
        return Moment.GRADIENT
    if "output" in names:
        return Moment.RETURN
    if names & PER_CALL or at is not None:
        return Moment.CALL
    return Moment.LOSS if "loss" in names else Moment.STEP
