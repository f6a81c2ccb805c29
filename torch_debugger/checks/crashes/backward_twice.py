"""TD911: a graph was gone through twice."""

from __future__ import annotations

from torch_debugger.checks.explainers.autograd.freed_graph import explain_freed_graph
from torch_debugger.checks.explainers.crash_check import CrashCheck


class BackwardTwice(CrashCheck):
    """A backward went through a graph that an earlier backward had freed.

    Symptom:
        backward() stops with "Trying to backward through the graph a second time", often in the second round
        of a loop.
    Evidence:
        The backward calls of the function, the variables that tie this loss to an older graph, and the live
        graphs themselves: two losses with nodes in common, a state carried from round to round.
    Fix:
        Detach the state that is carried on (`h = h.detach()`), add losses that share a graph and call
        backward once, compute again what is used again; `retain_graph=True` where two passes are meant.
    Known limits:
        A graph kept in an object that is neither a module nor a variable of the functions under way is not
        found, and the crash is then not claimed.
    """

    id = "TD911"
    name = "backward-twice"
    title = "backward went through a freed graph"
    explainers = (explain_freed_graph,)
