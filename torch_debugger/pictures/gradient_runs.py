"""Running a user's model for gradients of what its layers gave: no parameter takes part in them."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

from torch_debugger.anatomy.listening import listening
from torch_debugger.anatomy.nested import exchanged, first_tensor
from torch_debugger.errors import UsageError
from torch_debugger.pictures.runs_of_models import for_a_picture


class UnfitLayerError(UsageError):
    """This layer cannot be looked at; where none was named, the next is tried."""


@contextlib.contextmanager
def for_gradients(model: nn.Module) -> Iterator[nn.Module]:
    """The graph begins where a layer's output is kept, and no parameter gets a gradient.

    That is less work and less memory than a hook in a common forward, which builds the graph of all of it.
    """
    with (
        for_a_picture(model, gradients=True) as inner,
        _parameters_at_rest(inner),
        _recurrence_differentiable(inner),
    ):
        yield inner


@contextlib.contextmanager
def _parameters_at_rest(model: nn.Module) -> Iterator[None]:
    parameters = list(model.parameters())
    if any(parameter.is_inference() for parameter in parameters):
        raise UsageError(
            "this model's weights were made inside torch.inference_mode() and cannot take part in a gradient:"
            " make or load the model outside of it."
        )
    resting = [parameter for parameter in parameters if parameter.requires_grad]
    try:
        for parameter in resting:
            parameter.requires_grad_(False)
        yield
    finally:
        for parameter in resting:
            parameter.requires_grad_(True)


@contextlib.contextmanager
def _recurrence_differentiable(model: nn.Module) -> Iterator[None]:
    """cuDNN has no backward for recurrent layers in evaluation mode."""
    recurrent = [module for module in model.modules() if isinstance(module, nn.RNNBase)]
    if torch.backends.cudnn.enabled and any(
        weight.is_cuda for each in recurrent for weight in each.parameters()
    ):
        with torch.backends.cudnn.flags(enabled=False):
            yield
    else:
        yield


class KeptOutputs:
    """What chosen layers gave in one run (in their last call), with a gradient of its own.

    The rest of the model gets a copy: what it writes in place does not reach the kept one.
    """

    def __init__(self) -> None:
        self.tensors: dict[str, torch.Tensor] = {}
        self.calls: Counter[str] = Counter()
        self.without_gradients: set[str] = set()
        self.closed = False

    @contextlib.contextmanager
    def listening(self, layers: dict[str, nn.Module]) -> Iterator[None]:
        """Gradients are taken inside as well: a checkpointed part runs again for them, with the same ears."""
        with listening(layers, self._keep):
            yield

    def _keep(self, call: str, module: nn.Module, given: Any, output: Any) -> Any:
        path = call.partition("#")[0]
        tensor = first_tensor(output)
        if tensor is None or not tensor.is_floating_point():
            return None
        if not torch.is_grad_enabled():
            self.without_gradients.add(path)
            self._note(path, tensor.clone())
            return None
        own = tensor if tensor.requires_grad else tensor.detach().requires_grad_()
        self._note(path, own)
        return exchanged(output, lambda each: own.clone() if each is tensor else each)

    def _note(self, path: str, tensor: torch.Tensor) -> None:
        if not self.closed:
            self.tensors[path] = tensor
            self.calls[path] += 1


def gradients_of(score: torch.Tensor, kept: KeptOutputs, *, again: bool) -> dict[str, torch.Tensor]:
    """Of one number with respect to every kept output; `again` where the graph is needed once more."""
    paths = list(kept.tensors)
    _refuse_without_graph(score, kept)
    found = differentiated(score, [kept.tensors[path] for path in paths], again=again)
    for path, gradient in zip(paths, found, strict=True):
        if gradient is None:
            raise UnfitLayerError(
                f"the score does not depend on layer `{path}`: its output is not used for it, or only after"
                " .detach(), argmax or under torch.no_grad()."
            )
    return {path: gradient for path, gradient in zip(paths, found, strict=True) if gradient is not None}


def differentiated(
    score: torch.Tensor, tensors: list[torch.Tensor], *, again: bool
) -> list[torch.Tensor | None]:
    try:
        found = torch.autograd.grad(score, tensors, retain_graph=again, allow_unused=True)
    except RuntimeError as error:
        if "use_reentrant" not in str(error):
            raise
        raise UsageError(
            "a part of this model is checkpointed with use_reentrant=True, and torch takes no gradient of a"
            " single tensor through it: call torch.utils.checkpoint with use_reentrant=False."
        ) from None
    return [None if each is None else each.detach() for each in found]


def _refuse_without_graph(score: torch.Tensor, kept: KeptOutputs) -> None:
    for path in kept.without_gradients:
        raise UnfitLayerError(
            f"layer `{path}` runs under torch.no_grad() in the model's own forward (so does a checkpoint with"
            " use_reentrant=True), and no gradient reaches it: choose a later layer, or take that off."
        )
    if not score.requires_grad:
        some = ", ".join(f"`{path}`" for path in kept.tensors)
        raise UnfitLayerError(
            f"the score cannot be differentiated with respect to {some}: between them lies argmax, .detach(),"
            " torch.no_grad() or a way through numpy."
        )
