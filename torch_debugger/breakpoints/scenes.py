"""What the names of a condition stand for at one moment; the same names are at hand at the prompt."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn

from torch_debugger.breakpoints.measures import NoAnswerError


@dataclass
class Scene:
    """One call of a module, one gradient or one loss."""

    step: int
    module: nn.Module | None = None
    path: str = ""
    loss: float | None = None
    tensors: dict[str, Any] = field(default_factory=dict)  # input, output, grad: those that there are

    def value(self, name: str) -> Any:
        found = _READ[name](self) if name in _READ else self.tensors.get(name)
        if found is None:
            raise NoAnswerError
        return found

    def parameter(self, name: str) -> torch.Tensor:
        """Of the module itself, parameter or buffer, without asking the module."""
        held = vars(self.module) if self.module is not None else {}
        for kind in ("_parameters", "_buffers"):
            found: torch.Tensor | None = held.get(kind, {}).get(name)
            if found is not None and not nn.parameter.is_lazy(found):
                return found
        raise NoAnswerError

    def at_hand(self) -> dict[str, Any]:
        names = {"module": self.module, **self.tensors, "step": self.step, "loss": self.loss}
        return {name: value for name, value in names.items() if value is not None}


_READ: dict[str, Callable[[Scene], Any]] = {
    "step": lambda scene: scene.step,
    "loss": lambda scene: scene.loss,
    "module": lambda scene: type(scene.module).__name__,
    "path": lambda scene: scene.path,
    "training": lambda scene: scene.module.training if scene.module is not None else None,
    "weight": lambda scene: scene.parameter("weight"),
    "bias": lambda scene: scene.parameter("bias"),
}


def given(arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """`input`: the one thing a module was called with, several as a tuple, named ones under their names."""
    if keywords:
        return {**dict(enumerate(arguments)), **keywords}
    return arguments[0] if len(arguments) == 1 else arguments
