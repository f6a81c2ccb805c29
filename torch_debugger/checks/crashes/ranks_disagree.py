"""TD962: ranks that do not agree on the model, on shapes, or on what comes next."""

from __future__ import annotations

from torch_debugger.checks.explainers.crash_check import CrashCheck
from torch_debugger.checks.explainers.processes.spawned_processes import DISAGREEMENTS


class RanksDisagree(CrashCheck):
    """Two ranks hold different models, hand different shapes to a collective, or one of them is gone.

    Symptom:
        "appears not to match sizes of the same param in process 0", "DDP expects same model across all
        ranks", "invalid tensor size", "Connection closed by peer", a collective that times out.
    Evidence:
        What torch says of both ranks, at a line of torch.distributed or DistributedDataParallel. Of a rank
        that is gone only its absence is known, and the confidence is low.
    Fix:
        Make on every rank what depends on data from the same data; give every rank as many batches, of
        one size; read the output of the rank that failed first.
    Known limits:
        One process sees its own side only. With gloo some mismatches end the process at once, without an
        exception, or pass unnoticed.
    """

    id = "TD962"
    name = "ranks-disagree"
    title = "the ranks do not agree"
    explainers = DISAGREEMENTS
