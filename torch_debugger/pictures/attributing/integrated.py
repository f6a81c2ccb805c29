"""Integrated gradients (arXiv:1703.01365): gradients along the way from a baseline to the input."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import nn

from torch_debugger.errors import UsageError
from torch_debugger.pictures.aims import Target
from torch_debugger.pictures.attributing.baselines import baseline_for
from torch_debugger.pictures.attributing.picture import Attribution, Showing, refuse_unknown
from torch_debugger.pictures.attributing.points import explained, repeated
from torch_debugger.pictures.gradient_runs import for_gradients
from torch_debugger.pictures.runs_of_models import Inputs

if TYPE_CHECKING:
    from typing_extensions import Unpack

METHODS = ("gausslegendre", "riemann_left", "riemann_right", "riemann_middle", "riemann_trapezoid")
_WIDE_GAP = 0.05  # of the score's change


def integrated_gradients(
    model: nn.Module,
    inputs: Inputs,
    *,
    target: Target = None,
    baseline: Any = None,
    steps: int = 50,
    method: str = "gausslegendre",
    layer: str | nn.Module | None = None,
    batch_size: int = 32,
    **showing: Unpack[Showing],
) -> Attribution:
    """What each number of the input contributes to the score's change from a baseline.

        found = integrated_gradients(model, images, target=3)
        found.attributions     # sum up to score - score of the baseline, but for
        found.gap              # this much for each: more steps make it smaller
        integrated_gradients(model, tokens, baseline=pad_id, tokens=words)

    `baseline` is a number, a tensor like the input, or for tokens also the id (or ids) of neutral ones; zero
    where none is given. `method`: gausslegendre, riemann_left, riemann_right, riemann_middle,
    riemann_trapezoid. The rest is as in `saliency`.
    """
    refuse_unknown("integrated_gradients", showing)
    places, widths = _steps(method, steps)
    with for_gradients(model) as inner:
        asked = explained(inner, inputs, layer)
        aims, scores = asked.aims(target)
        examples = [aim.example for aim in aims]
        value = asked.value[examples]
        start = baseline_for(asked, baseline)[examples]
        total = torch.zeros_like(value, dtype=torch.float32)
        for number, aim in enumerate(aims):  # one at a time: the points of all at once need not fit in memory
            way = torch.tensor(places, dtype=value.dtype, device=value.device)
            way = way.view(-1, *[1] * (value.dim() - 1))
            points = start[number] + way * (value[number] - start[number])
            gradients = asked.gradients(points, repeated([aim], steps), batch_size)
            total[number] = torch.einsum("s...,s->...", gradients, torch.tensor(widths, device=value.device))
        found = total * (value - start).float()
        change = scores - asked.scores(start, aims, batch_size)
    gap = found.flatten(1).sum(1) - change
    picture = Attribution("Integrated gradients", found, asked, aims, scores, **showing)
    picture.gap = gap.cpu().numpy()
    picture.note = picture.note or _note(gap, change, steps)
    return picture


def _steps(method: str, steps: int) -> tuple[list[float], list[float]]:
    """Where on the way gradients are taken, and how much each of them counts."""
    if method not in METHODS:
        raise UsageError(f"no method {method!r} to integrate by. There is {', '.join(METHODS)}.")
    if steps < 2:
        raise UsageError(f"expected steps of at least 2, but got {steps}.")
    if method == "gausslegendre":
        places, widths = np.polynomial.legendre.leggauss(steps)
        return (0.5 * (1 + places)).tolist(), (0.5 * widths).tolist()
    first, last = {
        "riemann_left": (0.0, 1 - 1 / steps),
        "riemann_right": (1 / steps, 1.0),
        "riemann_middle": (0.5 / steps, 1 - 0.5 / steps),
        "riemann_trapezoid": (0.0, 1.0),
    }[method]
    equal = np.full(steps, 1 / steps)
    if method == "riemann_trapezoid":
        equal[[0, -1]] /= 2
    return np.linspace(first, last, steps).tolist(), equal.tolist()


def _note(gap: torch.Tensor, change: torch.Tensor, steps: int) -> str:
    share = (gap.abs() / change.abs().clamp(min=1e-6)).max().item()
    hint = f": take more than {steps} steps" if share > _WIDE_GAP else ""
    missed = "less than 0.01 %" if share < 1e-4 else f"at most {100 * share:.2g} %"
    return f"Their sum misses the score's change from the baseline by {missed}{hint}."
