"""Steps without a line of the user's from the model to the loss: a trainer of a library has them.

Two kinds can be run again nevertheless: models that give their loss with their output, when they are given the
labels, and modules with a `training_step`, which gives the loss of a batch.
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from torch_debugger.anatomy.nested import copied, tensors_in
from torch_debugger.trials.hunt.model import Model

_SHARES = (1, 2, 4, 8, 16, 32)  # a trainer divides the loss by the batches it accumulates
_MOST_LOSSES = 4  # of an output
_LOGGING = ("log", "log_dict")  # of a LightningModule; allowed in its own loop only


@dataclass(frozen=True)
class OwnLoss:
    """How such a loss is computed; what is computed ends in backward(), as the lines of a script do."""

    compute: Callable[[], torch.Tensor]
    given: bool = True  # the model is given what it was given in the step
    file: str = ""  # where gradients would be clipped
    number: int = 0  # among all that are tried

    def function(self) -> Callable[[], Any]:
        return lambda: torch.autograd.backward(self.compute())


def own_losses(models: Mapping[str, Model], batch: Any) -> Iterator[OwnLoss]:
    for number, loss in enumerate(_all_losses(models, batch)):
        yield dataclasses.replace(loss, number=number)


def _all_losses(models: Mapping[str, Model], batch: Any) -> Iterator[OwnLoss]:
    for model, share in itertools.product(models.values(), _SHARES):
        if callable(getattr(model.module, "training_step", None)) and batch is not None:
            yield OwnLoss(_of_training_step(model.module, batch, share), given=False)
        elif model.call is not None:
            for place in range(_MOST_LOSSES):
                yield OwnLoss(_of_output(model, place, share))


def _of_output(model: Model, place: int, share: int) -> Callable[[], torch.Tensor]:
    def compute() -> torch.Tensor:
        assert model.call is not None
        arguments, keywords = copied(model.call)
        given = [each for each in tensors_in(model.module(*arguments, **keywords)) if _is_loss(each)]
        return given[place] / share

    return compute


def _of_training_step(module: nn.Module, batch: Any, share: int) -> Callable[[], torch.Tensor]:
    def compute() -> torch.Tensor:
        with _not_logging(module):
            result = module.training_step(copied(batch), 0)  # type: ignore[operator]
        loss = result["loss"] if isinstance(result, Mapping) else result
        return torch.as_tensor(loss) / share

    return compute


@contextlib.contextmanager
def _not_logging(module: nn.Module) -> Iterator[None]:
    for name in _LOGGING:
        module.__dict__[name] = lambda *arguments, **keywords: None
    try:
        yield
    finally:
        for name in _LOGGING:
            module.__dict__.pop(name, None)


def _is_loss(tensor: torch.Tensor) -> bool:
    return tensor.numel() == 1 and tensor.requires_grad
