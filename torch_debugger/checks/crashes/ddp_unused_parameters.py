"""TD961: gradients that DistributedDataParallel waits for, or gets twice."""

from __future__ import annotations

from torch_debugger.checks.explainers.autograd.reductions import (
    explain_left_out,
    explain_nothing_to_reduce,
    explain_ready_twice,
)
from torch_debugger.checks.explainers.crash_check import CrashCheck


class DdpUnusedParameters(CrashCheck):
    """DistributedDataParallel got no gradient for some parameters, two for one, or has none to wait for.

    Symptom:
        "Expected to have finished reduction in the prior iteration", "Expected to mark a variable ready only
        once", "DistributedDataParallel is not needed".
    Evidence:
        The parameters that DistributedDataParallel itself counts as missing, by name, and the graph of the
        last loss, which does not reach them; the checkpoint calls of the backward pass that failed.
    Fix:
        Let the parameters take part in the loss, remove them, or pass find_unused_parameters=True; for
        checkpoints, use_reentrant=False.
    Known limits:
        The loss's graph confirms only where the last loss is still held by a variable. Which of two uses
        made a gradient come twice is not known without a checkpoint. find_unused_parameters=True needs what
        forward returns to be tensors, in tuples, lists or dicts; in an object of another class it sees none.
    """

    id = "TD961"
    name = "ddp-unused-parameters"
    title = "DistributedDataParallel misses gradients, or gets them twice"
    explainers = (
        explain_left_out,
        explain_ready_twice,
        explain_nothing_to_reduce,
    )
