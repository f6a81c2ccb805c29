"""TD955: a learning rate scheduler was built or stepped wrongly."""

from __future__ import annotations

from torch_debugger.checks.explainers.building.scheduler_calls import explain_scheduler
from torch_debugger.checks.explainers.crash_check import CrashCheck


class SchedulerCall(CrashCheck):
    """A learning rate scheduler was built from the wrong things or stepped wrongly.

    Symptom:
        "step() missing 1 required positional argument: 'metrics'", "Tried to step 301 times. The specified
        number of total steps is 300", "Net is not an Optimizer", "Expected 2 lr_lambdas, but got 1".
    Evidence:
        The scheduler and what its frames hold: the optimizer it was given, its length, its milestones; and the
        loaders, numbers of epochs and losses your line has in reach.
    Fix:
        The call as it should be written, with the number of steps, epochs x batches, worked out.
    Known limits:
        How often a scheduler is stepped is known where a DataLoader and a number of epochs are in reach.
    """

    id = "TD955"
    name = "scheduler-call"
    title = "a learning rate scheduler was built or stepped wrongly"
    explainers = (explain_scheduler,)
