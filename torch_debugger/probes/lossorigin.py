"""Which op between the model and the loss made a NaN or Inf, told by what autograd saved.

Used where the forward itself was finite: the loss expression cannot be run again, but its
nodes still hold their operands.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import torch

from torch_debugger.anatomy.graph_nodes import saved
from torch_debugger.anatomy.kinds import is_a
from torch_debugger.anatomy.statements import last_call_before
from torch_debugger.records import Origin, Place
from torch_debugger.stats.operands import measure_operand

Test = Callable[[torch.Tensor], bool]

# op -> (saved operand, what is wrong with it, names it goes by in source code)
_EDGES: dict[str, tuple[str, Test, tuple[str, ...]]] = {
    "LogBackward0": ("_saved_self", lambda t: bool((t <= 0).any()), ("log",)),
    "Log2Backward0": ("_saved_self", lambda t: bool((t <= 0).any()), ("log2",)),
    "Log10Backward0": ("_saved_self", lambda t: bool((t <= 0).any()), ("log10",)),
    "Log1PBackward0": ("_saved_self", lambda t: bool((t <= -1).any()), ("log1p",)),
    "SqrtBackward0": ("_saved_result", lambda t: bool(t.isnan().any()), ("sqrt",)),
    "RsqrtBackward0": ("_saved_result", lambda t: not bool(t.isfinite().all()), ("rsqrt",)),
    "DivBackward0": ("_saved_other", lambda t: bool((t == 0).any()), ("div",)),
    "ReciprocalBackward0": ("_saved_result", lambda t: not bool(t.isfinite().all()), ("reciprocal",)),
    "ExpBackward0": ("_saved_result", lambda t: not bool(t.isfinite().all()), ("exp",)),
    "AcosBackward0": ("_saved_self", lambda t: bool((t.abs() > 1).any()), ("acos",)),
    "AsinBackward0": ("_saved_self", lambda t: bool((t.abs() > 1).any()), ("asin",)),
}


def find_in_graph(root: Any, site: Place, limit: int = 256) -> Origin | None:
    """The suspicious op farthest from the loss: what follows it only passes the NaN on."""
    found: tuple[str, torch.Tensor] | None = None
    seen, queue = {root}, deque([root])
    while queue and len(seen) < limit:
        node = queue.popleft()
        edge = _EDGES.get(node.name())
        if edge is not None:
            operand = saved(node, edge[0])
            if is_a(operand, torch.Tensor) and edge[1](operand.detach()):
                found = (node.name(), operand.detach())
        for operand_node, _ in node.next_functions:
            if operand_node is not None and operand_node not in seen:
                seen.add(operand_node)
                queue.append(operand_node)
    return None if found is None else _origin(*found, site)


def _origin(node: str, operand: torch.Tensor, site: Place) -> Origin:
    names = _EDGES[node][2]
    line = last_call_before(site, names)
    return Origin("loss", None, names[0], line or Place(), (measure_operand(operand),))
