"""SmoothGrad (arXiv:1706.03825): the gradient averaged over noisy copies of the input."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn

from torch_debugger.errors import UsageError
from torch_debugger.pictures.aims import Target
from torch_debugger.pictures.attributing.picture import Attribution, Showing, refuse_unknown
from torch_debugger.pictures.attributing.points import explained, repeated
from torch_debugger.pictures.gradient_runs import for_gradients
from torch_debugger.pictures.runs_of_models import Inputs

if TYPE_CHECKING:
    from typing_extensions import Unpack

_SHARE_OF_RANGE = 0.15  # as in the paper


def smoothgrad(
    model: nn.Module,
    inputs: Inputs,
    *,
    target: Target = None,
    samples: int = 25,
    stdev: float | None = None,
    absolute: bool = True,
    seed: int = 0,
    layer: str | nn.Module | None = None,
    batch_size: int = 32,
    **showing: Unpack[Showing],
) -> Attribution:
    """Saliency with less noise in it: averaged over noisy copies of the input.

        smoothgrad(model, images, samples=50).save("smoothgrad.png")

    The noise has `stdev`, or 15 % of each input's own range, and comes from a generator of its own: the same
    seed gives the same picture, and your random numbers stay where they are. `absolute` averages gradients
    without their signs. The rest is as in `saliency`.
    """
    refuse_unknown("smoothgrad", showing)
    if samples < 1:
        raise UsageError(f"expected at least one sample, but got {samples}.")
    generator = torch.Generator().manual_seed(seed)
    with for_gradients(model) as inner:
        asked = explained(inner, inputs, layer)
        aims, scores = asked.aims(target)
        found = []
        for aim in aims:
            value = asked.value[aim.example]
            points = value + _noise(value, samples, stdev, generator)
            gradients = asked.gradients(points, repeated([aim], samples), batch_size)
            found.append((gradients.abs() if absolute else gradients).mean(0))
    return Attribution(f"SmoothGrad of {samples} samples", torch.stack(found), asked, aims, scores, **showing)


def _noise(value: torch.Tensor, samples: int, stdev: float | None, generator: torch.Generator) -> torch.Tensor:
    drawn = torch.randn(samples, *value.shape, generator=generator).to(value.device)
    wide = stdev if stdev is not None else _SHARE_OF_RANGE * (value.max() - value.min()).float()
    return (drawn * wide).to(value.dtype)
