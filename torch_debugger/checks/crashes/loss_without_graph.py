"""TD912: backward from a loss that has no graph."""

from __future__ import annotations

from torch_debugger.checks.explainers.crash_check import CrashCheck
from torch_debugger.checks.explainers.cut_graph import explain_cut_graph


class LossWithoutGraph(CrashCheck):
    """backward() was called on a loss whose graph was cut, or that never had one.

    Symptom:
        backward() stops with "element 0 of tensors does not require grad and does not have a grad_fn", or
        the loss is a float that has no backward.
    Evidence:
        Your lines, walked back from the loss beside what their variables hold now: the operand still has a
        graph, the result has none. A model whose output has none is run once more, and the operation that took
        a graph in and gave none is named. Frozen parameters and a recording left off are counted.
    Fix:
        Take the `.detach()`, `.data`, `.item()`, `torch.tensor(...)` or `no_grad` out of the way to the loss.
    Known limits:
        Your own functions that have ended are read and not run; what they cut is told with less confidence.
    """

    id = "TD912"
    name = "loss-without-graph"
    title = "backward was called on a loss without a graph"
    explainers = (explain_cut_graph,)
