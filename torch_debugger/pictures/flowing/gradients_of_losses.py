"""The gradients of a model's parameters, those that are there or those of a loss, without touching any."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from torch_debugger.anatomy.layers import clean_path, inner_model
from torch_debugger.errors import UsageError
from torch_debugger.pictures.runs_of_models import Inputs, call, for_a_picture
from torch_debugger.pictures.samples import as_batch

Loss = torch.Tensor | Callable[..., Any]
Gradients = dict[str, torch.Tensor | None]  # by parameter, in the model's order; None: there is none


def find_gradients(model: nn.Module, inputs: Inputs | None, loss: Loss | None, targets: Any) -> Gradients:
    inner = inner_model(model)
    trained = {clean_path(name): each for name, each in inner.named_parameters() if each.requires_grad}
    if not trained:
        raise UsageError("no parameter of this model requires a gradient: everything is frozen.")
    if loss is None and inputs is None:
        return _present(trained)
    if loss is not None and not callable(loss):
        return _of(loss, trained)
    with for_a_picture(model, gradients=True, present_mode=True):
        return _of(_loss(inner, inputs, loss, targets), trained)


def _present(trained: dict[str, nn.Parameter]) -> Gradients:
    found: Gradients = {name: each.grad for name, each in trained.items()}
    if all(gradient is None for gradient in found.values()):
        raise UsageError(
            "no parameter has a gradient: call this after loss.backward() and before zero_grad(), or give it "
            "a loss: gradient_flow(model, x, loss=lambda output: F.cross_entropy(output, y))."
        )
    return found


def _loss(model: nn.Module, inputs: Inputs | None, loss: Callable[..., Any] | None, targets: Any) -> Any:
    if inputs is None:
        assert loss is not None
        return loss(model) if _takes_argument(loss) else loss()
    output = call(model, as_batch(model, inputs))
    if loss is None:
        return output.get("loss") if isinstance(output, dict) else getattr(output, "loss", output)
    return loss(output) if targets is None else loss(output, targets)


def _takes_argument(loss: Callable[..., Any]) -> bool:
    try:
        parameters = inspect.signature(loss).parameters.values()
    except (TypeError, ValueError):  # written in C
        return True
    return any(each.default is each.empty and each.kind is not each.VAR_KEYWORD for each in parameters)


def _of(loss: Any, trained: dict[str, nn.Parameter]) -> Gradients:
    if not isinstance(loss, torch.Tensor) or loss.numel() != 1:
        got = list(loss.shape) if isinstance(loss, torch.Tensor) else f"{type(loss).__name__} without a graph"
        raise UsageError(
            f"expected one number to differentiate, but got {got}. Give a loss: "
            "gradient_flow(model, x, loss=lambda output: F.cross_entropy(output, y))."
        )
    if not loss.requires_grad:
        raise UsageError("the loss depends on nothing that requires a gradient: there is none to show.")
    found = torch.autograd.grad(loss, list(trained.values()), allow_unused=True, retain_graph=True)
    return dict(zip(trained, found, strict=True))
