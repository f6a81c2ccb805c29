"""TD912: backward from a loss that has no graph."""

from __future__ import annotations

from torch_debugger.checks.explainers.autograd.cut_graph import explain_cut_graph
from torch_debugger.checks.explainers.autograd.differentiated import explain_differentiated
from torch_debugger.checks.explainers.autograd.rebound_weights import explain_rebound_weights
from torch_debugger.checks.explainers.crash_check import CrashCheck


class LossWithoutGraph(CrashCheck):
    """backward() was called on a loss whose graph was cut, or that never had one.

    Symptom:
        backward() stops with "element 0 of tensors does not require grad and does not have a grad_fn", or
        the loss is a float that has no backward; or a weight updated by hand has None as its `.grad`, or
        autograd.grad says of an input that it does not require grad or was not used in the graph.
    Evidence:
        Your lines, walked back from the loss beside what their variables hold now: the operand still has a
        graph, the result has none. A model whose output has none is run once more, and the operation that took
        a graph in and gave none is named. Frozen parameters and a recording left off are counted.
        A variable that was made to be trained and holds an update's new tensor now is found beside the update.
        The inputs of autograd.grad are looked for in the graph of its outputs.
    Fix:
        Take the `.detach()`, `.data`, `.item()`, `torch.tensor(...)` or `no_grad` out of the way to the loss;
        update weights in place (`w -= lr * w.grad` under no_grad); let an input require grad before its use.
    Known limits:
        Your own functions that have ended are read and not run; what they cut is told with less confidence.
    """

    id = "TD912"
    name = "loss-without-graph"
    title = "backward was called on a loss without a graph"
    explains = ("none-for-tensor",)
    explainers = (explain_rebound_weights, explain_cut_graph, explain_differentiated)
