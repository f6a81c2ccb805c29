"""One call of torch.autograd.backward: what it was given, and whose gradients it makes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import nn

from torch_debugger.trials.hunt.leaves import leaves_of
from torch_debugger.trials.hunt.node_marks import NodeMarks
from torch_debugger.trials.hunt.tape import Made, Tape, leading_to, references


class BackwardCall:
    """Made before it runs, for it frees the graph."""

    def __init__(
        self,
        tape: Tape,
        tensors: Any,
        grad_tensors: Any = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        grad_variables: Any = None,
        inputs: Any = None,
    ) -> None:
        given = (tensors,) if not isinstance(tensors, (tuple, list)) else tensors
        self.losses = [each for each in given if isinstance(each, torch.Tensor)]
        self.gradients = grad_tensors if grad_tensors is not None else grad_variables
        self.keeps_graph = bool(create_graph if retain_graph is None else retain_graph)
        self.steps = [made.step for made in map(tape.made, self.losses) if made is not None]
        self.leaves = self._leaves(inputs)
        self.marks = NodeMarks(self.losses)

    def _leaves(self, inputs: Any) -> list[torch.Tensor]:
        if inputs is not None:
            return [inputs] if isinstance(inputs, torch.Tensor) else list(inputs)
        found, hidden = leaves_of(self.losses)
        if hidden:
            modules = (step.function for step in leading_to(self.steps) if isinstance(step.function, nn.Module))
            found += [parameter for module in modules for parameter in module.parameters()]
        return list({id(leaf): leaf for leaf in found}.values())


def unscaled(targets: Sequence[Made]) -> list[Made]:
    """The losses before a GradScaler has scaled them; empty where none did."""
    if not targets or not all(_is_scaling(made) for made in targets):
        return []
    operands = [references(made.step.arguments) for made in targets]
    return [each for found in operands for each in found[:1] if isinstance(each, Made)]


def _is_scaling(made: Made) -> bool:
    frames = made.step.frames
    return bool(frames) and frames[0][0].co_filename.endswith("grad_scaler.py")
