"""What the score's gradient says about each number of the input."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn

from torch_debugger.pictures.aims import Target, aims_for
from torch_debugger.pictures.attributing.input_gradients import input_gradients
from torch_debugger.pictures.attributing.picture import Attribution, Showing, refuse_unknown
from torch_debugger.pictures.attributing.points import explained
from torch_debugger.pictures.gradient_runs import for_gradients
from torch_debugger.pictures.runs_of_models import Inputs

if TYPE_CHECKING:
    from typing_extensions import Unpack


def saliency(
    model: nn.Module,
    inputs: Inputs,
    *,
    target: Target = None,
    layer: str | nn.Module | None = None,
    absolute: bool = True,
    **showing: Unpack[Showing],
) -> Attribution:
    """How much the score changes with each number of the input: the gradient, without its sign.

        saliency(model, images).save("saliency.png")         # for the top class of each image
        saliency(model, tokens, target=2, tokens=words).attributions    # [examples, tokens]

    Tokens are attributed through their embedding, which is found (or named: layer="embedding"). Of several
    inputs the first is explained; a dictionary of keywords may begin with any of them. `target` is as in
    class_activation. For the drawing: `labels` of classes, `tokens`, `features`, `mean` and `std` of images.
    """
    refuse_unknown("saliency", showing)
    return _by_gradient("Saliency", model, inputs, target, layer, showing, absolute=absolute, times_input=False)


def input_x_gradient(
    model: nn.Module,
    inputs: Inputs,
    *,
    target: Target = None,
    layer: str | nn.Module | None = None,
    **showing: Unpack[Showing],
) -> Attribution:
    """The gradient times the input: what each number contributes to the score, as far as it is linear.

        input_x_gradient(model, rows, target=1, features=["age", "height"]).attributions

    The rest is as in `saliency`.
    """
    refuse_unknown("input_x_gradient", showing)
    return _by_gradient(
        "Input x gradient", model, inputs, target, layer, showing, absolute=False, times_input=True
    )


def _by_gradient(
    title: str,
    model: nn.Module,
    inputs: Inputs,
    target: Target,
    layer: str | nn.Module | None,
    showing: Showing,
    *,
    absolute: bool,
    times_input: bool,
) -> Attribution:
    with for_gradients(model) as inner:
        asked = explained(inner, inputs, layer)
        leaf = asked.value.detach().clone().requires_grad_()
        rows = asked.answers(leaf, range(len(leaf)))
        aims = aims_for(target, rows)
        scores = torch.stack([aim.score(rows[aim.example]).detach() for aim in aims])
        (gradients,) = input_gradients(leaf, rows, aims)
    found = torch.stack(gradients).float()
    if times_input:
        found = found * asked.value[[aim.example for aim in aims]].float()
    return Attribution(title, found.abs() if absolute else found, asked, aims, scores, **showing)
