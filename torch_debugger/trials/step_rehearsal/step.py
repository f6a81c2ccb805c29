"""A training step that can be made again, with other tensors in the place of its own."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import nn
from torch.optim import Optimizer

Exchange = Callable[[Any], Any]  # tensors anywhere in a value for others
Backward = Callable[[torch.Tensor], None]


@dataclass(frozen=True)
class Step:
    """`run(exchange, backward)` makes the forward, and calls `backward` with its loss while the user's
    variables are alive; what it returns are those that outlive the step."""

    models: Mapping[str, nn.Module]
    run: Callable[[Exchange, Backward], Any]
    optimizer: Optimizer | None
    batch: int  # how many samples it has; 0: that cannot be told
    no_batch: str = ""  # why
    accumulate: int = 1  # backwards before the optimizer steps
    clears_late: bool = False  # gradients are cleared after the forward only
    keeps_gradients: bool = False  # zero_grad(set_to_none=False)
    training: bool = True
    dtype: torch.dtype | None = None  # of autocast around it; None: as the step itself has it

    def with_batch_unknown(self, why: str) -> Step:
        return replace(self, batch=0, no_batch=why)

    def paths(self) -> dict[int, str]:
        """id of a module -> net.encoder.0, as the user would write it."""
        found: dict[int, str] = {}
        for name, model in self.models.items():
            for path, module in model.named_modules():
                own = f"{name}.{path}" if path else name
                found.setdefault(id(module), own)
        return found

    @contextlib.contextmanager
    def precision(self) -> Iterator[None]:
        if self.dtype is None:
            yield
        else:
            with torch.autocast("cpu", self.dtype, enabled=self.dtype is not torch.float32):
                yield
