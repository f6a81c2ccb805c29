"""How tensors went through a model in one forward: the calls of its modules, and what lies between."""

from __future__ import annotations

from dataclasses import dataclass

from torch_debugger.records.op_graph import ModelGraph


@dataclass(frozen=True, slots=True)
class CallFact:
    """One call of a module: the numbers of a scope of the graph."""

    scope: str  # its name in the graph
    given: tuple[tuple[int, ...], ...]  # shapes
    made: tuple[tuple[int, ...], ...]
    macs: int | None  # multiply-accumulates of its own, without those of the calls inside it; None: not known
    uncounted: str = ""  # why not, or what is left out


@dataclass(frozen=True, slots=True)
class ModelFlow:
    """The graph's nodes are calls of layers, and the operations that autograd saw between them."""

    root: str  # the user's name for the model
    graph: ModelGraph
    calls: tuple[CallFact, ...]
    step: int
