"""The gradients of one backward: of every layer's output, and of every parameter."""

from __future__ import annotations

import html
import math
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from torch_debugger.anatomy.bare_calls import shown_where_bare
from torch_debugger.anatomy.layers import Layers, chosen_layers, clean_path, inner_model
from torch_debugger.anatomy.listening import listening, not_called
from torch_debugger.anatomy.nested import copied, named_leaves, tensors_in
from torch_debugger.anatomy.unseen_runs import as_if_never
from torch_debugger.errors import UsageError
from torch_debugger.inspections.readings import Readings, finished, keeper

Loss = Callable[[Any], torch.Tensor]


class Gradients:
    """`outputs` by layer, `parameters` by name, and the `loss` they belong to."""

    def __init__(self, loss: float, outputs: Readings, parameters: Readings) -> None:
        self.loss = loss
        self.outputs = outputs
        self.parameters = parameters

    def to_dict(self) -> dict[str, Any]:
        return {
            "loss": self.loss, "outputs": self.outputs.to_dict(), "parameters": self.parameters.to_dict()
        }  # fmt: skip

    def __str__(self) -> str:
        return (
            f"loss {self.loss:.6g}\n\ngradients of outputs\n{self.outputs}\n\n"
            f"gradients of parameters\n{self.parameters}"
        )

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


def gradients(
    model: nn.Module,
    *inputs: Any,
    loss: Loss | None = None,
    layers: Layers = "*",
    keep: str = "stats",
    **keywords: Any,
) -> Gradients:
    """Runs one forward and one backward; no `.grad` is touched, and nothing is left behind.

        found = gradients(model, images, loss=lambda output: F.cross_entropy(output, labels))
        found.outputs["encoder.0"].std     # the gradient of what `encoder.0` gave
        found.parameters["fc.weight"].max

    `loss` makes a number of the model's output; it can be left out where the output is one, or has
    one called `loss`. `layers` and `keep` are as in `activations`.
    """
    inner = inner_model(model)
    chosen = chosen_layers(inner, layers)
    follower = _Follower(keeper(keep))
    with torch.inference_mode(False), as_if_never(inner), torch.enable_grad():
        with listening(chosen, follower.follow) as ran:
            value = _loss_of(inner(*copied(inputs), **copied(keywords)), loss)
        follower.forward_ended()
        trained = {name: each for name, each in inner.named_parameters() if each.requires_grad}
        found = torch.autograd.grad(value, list(trained.values()), allow_unused=True) if trained else ()
        of_parameters = dict(zip(map(clean_path, trained), found, strict=True))
    outputs = follower.readings(not_called(chosen, ran), chosen.absent)
    number = math.nan if value.is_meta else value.item()
    return shown_where_bare(Gradients(number, outputs, _of_layers(of_parameters, inner, chosen, keep)))


class _Follower:
    """Notes the gradient of what each layer gave, by a hook on the node that made it."""

    def __init__(self, keep_one: Callable[[torch.Tensor], Any]) -> None:
        self._keep = keep_one
        self._seen: dict[str, Any] = {}  # None: no gradient came back yet
        self._views: dict[str, tuple[torch.Tensor, Any]] = {}

    def follow(self, call: str, module: nn.Module, given: Any, output: Any) -> None:
        for way, tensor in named_leaves(output):
            self._seen[call + way] = None
            if tensor.grad_fn is not None:
                self._listen(call + way, tensor.grad_fn, tensor.output_nr)
                if tensor._is_view():
                    self._views[call + way] = tensor, tensor.grad_fn

    def _listen(self, where: str, node: Any, index: int) -> None:
        def note(gradients: tuple[torch.Tensor | None, ...]) -> None:
            gradient = gradients[index]
            if gradient is not None:
                self._seen[where] = self._keep(gradient.detach())

        node.register_prehook(note)

    def forward_ended(self) -> None:
        """Writing into a view gives it another history; the node that made it is no part of the graph then."""
        for where, (tensor, node) in self._views.items():
            if tensor.grad_fn is not node:
                self._seen[f"{where} (a view, written over in place)"] = self._seen.pop(where)
        self._views = {}

    def readings(self, silent: list[str], absent: tuple[str, ...]) -> Readings:
        found = {where: value for where, value in self._seen.items() if value is not None}
        missing = [where for where in self._seen if where not in found]
        return Readings(finished(found), [*missing, *silent], "no gradient came back", absent=absent)


def _loss_of(output: Any, loss: Loss | None) -> torch.Tensor:
    value = loss(output) if loss is not None else _own_loss(output)
    if not isinstance(value, torch.Tensor) or value.numel() != 1:
        got = list(value.shape) if isinstance(value, torch.Tensor) else type(value).__name__
        raise UsageError(
            f"gradients() needs one number to differentiate, but got {got}. "
            "Give it a loss: gradients(model, x, loss=lambda output: F.cross_entropy(output, y))."
        )
    if not value.requires_grad:
        raise UsageError("the loss depends on nothing that requires a gradient: there are none to look at.")
    return value


def _own_loss(output: Any) -> Any:
    held = output.get("loss") if isinstance(output, dict) else getattr(output, "loss", None)
    return next(tensors_in(held), None) if held is not None else output


def _of_layers(found: dict[str, Any], model: nn.Module, chosen: dict[str, nn.Module], keep: str) -> Readings:
    """Of the parameters that the chosen layers own themselves."""
    owned = {id(each) for module in chosen.values() for each in module.parameters(recurse=False)}
    names = [clean_path(name) for name, each in model.named_parameters() if id(each) in owned]
    keep_one = keeper(keep)
    seen = {name: keep_one(found[name]) for name in names if found.get(name) is not None}
    missing = [name for name in names if name in found and name not in seen]
    return Readings(finished(seen), missing, "the loss does not depend on")
