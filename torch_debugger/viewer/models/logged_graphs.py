"""Graphs that a SummaryWriter's `add_graph` has logged, in the form of the models that we have watched."""

from __future__ import annotations

from collections import Counter, defaultdict
from functools import lru_cache
from typing import Any

from torch_debugger.archive.parsing import GRAPHS
from torch_debugger.archive.run import Run
from torch_debugger.errors import DebuggerError
from torch_debugger.records.op_graph import (
    OPERATION,
    PARAMETER,
    UNKNOWN_FORM,
    GraphModule,
    GraphNode,
    ModelGraph,
)
from torch_debugger.viewer.models.layouts import layout_of
from torch_debugger.viewer.models.module_tables import MOST_MODULES

_TAG = "graph"
_MOST_DRAWN = 20_000  # operations; beyond, a page would wait for minutes
_MOST_SHAPES, _MOST_OWN, _MOST_OPERATIONS = 4, 12, 8


def names_of(run: Run, taken: list[str]) -> dict[str, int]:
    """Steps by the names under which they are offered; `taken` are those of watched models."""
    steps = run.steps_of(GRAPHS).get(_TAG, [])
    named = {"add_graph" if len(steps) == 1 else f"add_graph, step {step:,}": step for step in steps}
    return {f"{name} (logged)" if name in taken else name: step for name, step in named.items()}


def graph_answer(run: Run, name: str, step: int) -> dict[str, Any]:
    """As the question `model` answers. Raises DebuggerError for a graph that cannot be read or drawn."""
    found = run.media_at(GRAPHS, _TAG, [step])
    if not found:
        raise DebuggerError(f"The graph that was logged at step {step} is damaged: its bytes are no GraphDef.")
    graph: ModelGraph = found[-1]
    if len(graph.nodes) > _MOST_DRAWN:
        raise DebuggerError(
            f"The graph that was logged at step {step} has {len(graph.nodes):,} nodes; "
            f"more than {_MOST_DRAWN:,} are not drawn."
        )
    again = f"The last of {len(found)} graphs that were logged at this step is shown." if len(found) > 1 else ""
    top = graph.scopes[0].module if graph.scopes else ""
    return {
        "root": name,
        "class": top,
        "step": None,
        "logged": True,
        "operations": sum(node.kind == OPERATION for node in graph.nodes),
        "note": " ".join(filter(None, [graph.note, again])),
        "drawing": layout_of(graph, None),
        "modules": _rows(graph, name),
        "all_modules": len(graph.modules),
        "numbers": [],
    }


@lru_cache(maxsize=4)
def _rows(graph: ModelGraph, name: str) -> list[dict[str, Any]]:
    """One for each module, with the operations that stand directly in it."""
    path_of = {scope.name: scope.path for scope in graph.scopes}
    calls = Counter(scope.path for scope in graph.scopes)
    own: dict[str, list[GraphNode]] = defaultdict(list)
    ops: dict[str, Counter[str]] = defaultdict(Counter)
    for node in graph.nodes:
        if node.kind == PARAMETER:
            own[_holder(node, path_of)].append(node)
        elif node.kind == OPERATION:
            ops[path_of.get(node.scope, "")][node.op] += 1
    given, made = _edges(graph, path_of)
    return [
        _row(module, name, own[module.path], ops[module.path])
        | {"calls": calls[module.path], "given": given[module.path], "made": made[module.path]}
        for module in graph.modules[:MOST_MODULES]
    ]


def _row(module: GraphModule, name: str, own: list[GraphNode], ops: Counter[str]) -> dict[str, Any]:
    return {
        "path": f"{name}.{module.path}" if module.path else name,
        "class": module.module,
        "parameters": module.parameters,
        "own": [_own(node) for node in own[:_MOST_OWN]],
        "operations": [[op, count] for op, count in ops.most_common(_MOST_OPERATIONS)],
        "flops": None,
        "missing": "",
        "findings": [],
        "place": None,
    }


def _holder(node: GraphNode, path_of: dict[str, str]) -> str:
    """torch's traces name a parameter by its module, ours say the scope."""
    return path_of.get(node.scope, "") if node.scope else ".".join(node.name.split("/")[1:-1])


def _own(node: GraphNode) -> dict[str, Any]:
    form = node.outputs[0]
    known = form != UNKNOWN_FORM
    return {
        "name": node.name.rpartition("/")[2],
        "shape": list(form.shape) if known else None,
        "dtype": form.dtype if known else "",
        "trainable": None,
    }


def _edges(graph: ModelGraph, path_of: dict[str, str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The shapes that come into each module from outside of it, and those that leave it."""
    given: dict[str, list[list[int]]] = defaultdict(list)
    made: dict[str, list[list[int]]] = defaultdict(list)
    for edge in graph.edges:
        source, target = graph.nodes[edge.source], graph.nodes[edge.target]
        if edge.form == UNKNOWN_FORM or source.kind == PARAMETER:
            continue
        left, entered = (_above(path_of.get(node.scope)) for node in (source, target))
        shape = list(edge.form.shape)
        for paths, told in ((entered - left, given), (left - entered, made)):
            for path in paths:
                if shape not in told[path] and len(told[path]) < _MOST_SHAPES:
                    told[path].append(shape)
    return given, made


@lru_cache(maxsize=65536)
def _above(path: str | None) -> frozenset[str]:
    """Of layers.0.conv1 itself, layers.0, layers and the model; nothing outside of the model."""
    if path is None:
        return frozenset()
    names = path.split(".") if path else []
    return frozenset(".".join(names[:end]) for end in range(len(names) + 1))
