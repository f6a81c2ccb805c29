"""Modules whose parameters nothing read in this run: a branch not taken, a layer that was forgotten."""

from __future__ import annotations

from torch_debugger.anatomy.graph_scopes import scoped
from torch_debugger.records.op_graph import PARAMETER, ModelGraph

_MOST_NAMED = 6


def unused_line(graph: ModelGraph) -> list[str]:
    unused = unused_modules(graph)
    if not unused:
        return []
    more = len(unused) - _MOST_NAMED
    named = ", ".join(f"`{path}`" for path in unused[:_MOST_NAMED])
    return [f"not used in this run: {named}{f' and {more} more' if more > 0 else ''}"]


def unused_modules(graph: ModelGraph) -> list[str]:
    """Paths, the outermost only; none for a graph that is not whole."""
    if graph.note or not graph.scopes:
        return []
    root = graph.scopes[0].name
    read = [node.name for node in graph.nodes if node.kind == PARAMETER]
    called = {scope.path for scope in graph.scopes}
    found: list[str] = []
    for module in graph.modules:
        begins = f"{scoped(root, module.path)}/"
        if not module.path or not module.parameters or module.path in called:
            continue
        if not any(name.startswith(begins) for name in read) and not _is_below(module.path, found):
            found.append(module.path)
    return found


def _is_below(path: str, others: list[str]) -> bool:
    return any(path.startswith(f"{other}.") for other in others)
