"""The weights of a model as one forward left them, and which nodes of the graph that forward has made."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from torch_debugger.anatomy.nested import tensors_in
from torch_debugger.stats.summary import norms
from torch_debugger.stats.unseen import no_grad


@dataclass
class ModelForward:
    root: str
    module: weakref.ref[nn.Module]
    names: list[str]  # head.weight
    parameters: list[int]  # ids: what has a weak reference cannot be swapped; the graph keeps them alive
    versions: list[int]
    norms: torch.Tensor | None  # only where something writes .data
    made: frozenset[int]  # the numbers of the nodes that made its outputs; the nodes would hold the graph

    @property
    def end(self) -> int:
        """Autograd numbers its nodes in the order they are made: none of this forward has a higher one."""
        return max(self.made)


def take_forward(root: str, module: nn.Module, output: Any, *, with_norms: bool) -> ModelForward | None:
    """None of one whose outputs need no gradient."""
    made = frozenset(t.grad_fn._sequence_nr() for t in tensors_in(output) if t.grad_fn is not None)
    if not made:
        return None
    named = [(name, p) for name, p in module.named_parameters() if p.requires_grad]
    tensors = [p for _, p in named]
    return ModelForward(
        root,
        weakref.ref(module),
        [name for name, _ in named],
        [id(p) for p in tensors],
        [p._version for p in tensors],
        norms_of(tensors) if tensors and with_norms else None,
        made,
    )


@no_grad()
def norms_of(tensors: Sequence[torch.Tensor]) -> torch.Tensor:
    return norms([tensor.detach() for tensor in tensors])
