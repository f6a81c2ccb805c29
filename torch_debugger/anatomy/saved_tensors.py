"""What autograd keeps for a backward pass that has not come, read from the nodes of its graph.

Never where saved-tensor hooks are in use: to read what such a hook has packed would run the user's code.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from typing import Any

import torch

from torch_debugger.anatomy.kinds import is_a

_RAW = "_raw_saved_"  # autograd has one for each tensor it saves, and none for numbers
_VIEWS = frozenset({"TBackward0", "TransposeBackward0", "ViewBackward0", "PermuteBackward0"})
_HALVES = (torch.float16, torch.bfloat16)


def nodes_from(roots: Iterable[Any], seen: set[Any], limit: int) -> Iterator[Any]:
    """Every node behind these that is not in `seen` yet, which grows up to the limit."""
    waiting = [node for node in roots if node is not None and node not in seen]
    seen.update(waiting)
    while waiting:
        node = waiting.pop()
        yield node
        if len(seen) < limit:
            following = [other for other, _ in node.next_functions if other is not None and other not in seen]
            seen.update(following)
            waiting += following


def saved_by(node: Any) -> Iterator[torch.Tensor]:
    """The tensors that a node keeps; none once backward has run through it."""
    kind: type = type(node)
    for name in _names_of(kind):
        try:
            value = getattr(node, name)
        except (RuntimeError, ValueError):  # let go of by backward, or overwritten since
            continue
        if is_a(value, torch.Tensor):
            yield value
        elif is_a(value, (tuple, list)):
            yield from (each for each in value if is_a(each, torch.Tensor))
    if isinstance(node, torch.autograd.function.BackwardCFunction):  # what the user's own function put aside
        yield from (each for each in vars(node).values() if is_a(each, torch.Tensor))


@functools.cache
def _names_of(kind: type) -> tuple[str, ...]:
    if issubclass(kind, torch.autograd.function.BackwardCFunction):
        return ("saved_tensors",)
    return tuple("_saved_" + name[len(_RAW) :] for name in dir(kind) if name.startswith(_RAW))


def is_copy_of_weight(tensor: torch.Tensor) -> bool:
    """A parameter in half precision, which autocast made for this step."""
    node = tensor.grad_fn if tensor.dtype in _HALVES else None
    while node is not None and node.name() in _VIEWS:
        node = node.next_functions[0][0]
    if node is None or node.name() != "ToCopyBackward0":
        return False
    origin = node.next_functions[0][0]
    return origin is not None and hasattr(origin, "variable")
