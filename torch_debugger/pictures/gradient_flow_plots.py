"""How large the gradients of each layer are."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure
from numpy.typing import NDArray
from torch import nn

from torch_debugger.model.layers import clean_path, inner_model
from torch_debugger.pictures.figures import (
    ACCENT,
    PALE,
    SECOND,
    Floats,
    plain_axes,
    put_below,
    shortened,
    titled_figure,
)
from torch_debugger.pictures.histograms import is_bias
from torch_debugger.pictures.model_runs import Inputs, as_batch, call, for_a_picture
from torch_debugger.pictures.picture import Picture
from torch_debugger.stats.values import values_of
from torch_debugger.system.errors import UsageError

# Gradients by layer: how much of the loss's gradient reaches the first of them.
_VANISHED = 1e-7  # of the largest: float32 keeps seven digits
_EXPLODED = 1e3  # times the layers between it and the loss
_HUGE = 1e6  # also with the scale of a GradScaler in it
_NAMES = 60  # that can be read along an axis


class GradientFlow(Picture):
    """`layers` in order, `mean` and `largest` of |grad| for each (NaN where there is none), and the names of
    those that are `missing`, `vanished` or `exploded`."""

    def __init__(self, layers: Sequence[str], mean: Sequence[float], largest: Sequence[float], frozen: int) -> None:
        self.layers = tuple(layers)
        self.mean, self.largest = np.array(mean), np.array(largest)
        exploded = _exploded(self.mean)
        top = _top(self.largest[~exploded])
        cases = [np.isnan(self.mean), self.largest <= _VANISHED * top, exploded]
        self.missing, self.vanished, self.exploded = (
            [name for name, chosen in zip(self.layers, which, strict=True) if chosen] for which in cases
        )
        meanings = [
            (self.missing, "No gradient (None)", "the loss does not depend on them, or backward has not run."),
            (self.vanished, "Vanished", "zero, or less than 1e-7 of the largest gradient."),
            (self.exploded, "Exploded", "not finite, above 1e6, or 1000 times the layers behind."),
        ]
        said = [f"{word}: {_listed(names)}: {meaning}" for names, word, meaning in meanings if names]
        if frozen:
            said.append(f"Frozen parameters left out: {frozen}.")
        said = said or ["Every layer has a gradient; none has vanished or exploded."]
        super().__init__("Gradients by layer", {"mean": self.mean, "largest": self.largest}, self._figure, said)

    def _figure(self) -> Figure:
        count = len(self.layers)
        width = min(16.0, max(5.5, 0.24 * count + 1.5))
        figure = titled_figure(width, 4.6, f"{self.title}: mean and largest |grad|")
        axes = plain_axes(figure.add_subplot(), "layers in the model's order", "|grad|, logarithmic")
        places = np.arange(count)
        # One decade below the least mean; at most fifteen below the top.
        positive = self.mean[np.isfinite(self.mean) & (self.mean > 0)]
        top = _top(self.largest) or 1.0
        floor = max(float(positive.min()) / 10, top * 1e-15) if positive.size else top * 1e-3
        seen = np.where(np.isfinite(self.largest) & (self.largest > 0), self.largest, np.nan)
        axes.vlines(places, floor, seen, color=PALE, linewidth=max(1.0, min(7.0, 420 / count)), label="largest")
        mean = np.where(np.isfinite(self.mean) & (self.mean > 0), self.mean, np.nan)
        axes.plot(places, mean, "o-", color=ACCENT, markersize=3.5, linewidth=1.2, label="mean")
        axes.set_yscale("log")
        axes.set_ylim(floor, top * 3)
        # Below, what is missing or vanished; above, what exploded.
        where = {name: place for place, name in enumerate(self.layers)}
        marks = [(self.missing, "x", "no gradient", 0.03), (self.vanished, "v", "vanished", 0.03)]
        for names, form, word, height in [*marks, (self.exploded, "^", "exploded", 0.97)]:
            if names:
                axes.plot(
                    [where[name] for name in names], [height] * len(names), form, color=SECOND, markersize=6,
                    label=word, transform=axes.get_xaxis_transform(), clip_on=False,
                )  # fmt: skip
        axes.set_xlim(-0.8, count - 0.2)
        every = math.ceil(count / _NAMES)
        names = [shortened(name, 28) for name in self.layers[::every]]
        axes.set_xticks(places[::every], names, rotation=90, fontsize=7)
        axes.legend(fontsize=8, frameon=False, loc="lower left", bbox_to_anchor=(0, 1.0), ncols=6, borderpad=0)
        more = [f"One layer in {every} is named."] if every > 1 else []
        put_below(figure, [*self.remarks, *more])
        return figure


def gradient_flow(
    model: nn.Module,
    inputs: Inputs | None = None,
    *,
    loss: Loss | None = None,
    targets: Any = None,
    biases: bool = False,
) -> GradientFlow:
    """Mean and largest |grad| of each layer's weights, in the model's order, on a logarithmic axis.

        gradient_flow(model).save("flow.png")                      # after loss.backward()
        gradient_flow(model, loss=loss)                            # of a loss, before its backward
        gradient_flow(model, images, loss=F.cross_entropy, targets=labels)
        gradient_flow(model, loss=lambda model: step_loss(model, batch))

    Missing, vanished and exploded gradients are marked and told in words (`.remarks`, and the names in
    `.missing`, `.vanished`, `.exploded`). Where a loss is given, the model runs in its present mode and no
    `.grad` is touched. Gradients of a scaled loss (GradScaler) are shown with the scale in them.
    """
    found = find_gradients(model, inputs, loss, targets)
    kept = {name: each for name, each in found.items() if biases or not is_bias(name)}
    if not kept:
        raise UsageError("only biases require a gradient here: give biases=True to see them.")
    sizes = []
    for gradient in kept.values():
        values = values_of(gradient)[0] if gradient is not None else None
        if values is None or not values.numel():
            sizes.append((math.nan, math.nan))
            continue
        magnitudes = values.abs().to(torch.float64)
        top = float(magnitudes.max())
        sizes.append((float(magnitudes.mean()), top) if math.isfinite(top) else (math.inf, math.inf))
    frozen = sum(not each.requires_grad for each in inner_model(model).parameters())
    names = [name.removesuffix(".weight") for name in kept]
    return GradientFlow(names, [mean for mean, _ in sizes], [top for _, top in sizes], frozen)


def _exploded(mean: Floats) -> NDArray[np.bool_]:
    """What grew on its way back from the loss, or stands alone. The last layers of a chain in which gradients
    vanish are also far above the others, but nothing grew there."""
    found = mean > _HUGE
    for place in np.flatnonzero(np.isfinite(mean) & (mean > 1.0)):
        behind, others = mean[place + 1 :], np.delete(mean, place)
        known, rest = behind[np.isfinite(behind)], others[np.isfinite(others)]
        grew = known.size > 0 and mean[place] > _EXPLODED * np.median(known)
        found[place] |= grew or (rest.size > 0 and mean[place] > _EXPLODED * rest.max())
    return found


def _top(sizes: Floats) -> float:
    finite = sizes[np.isfinite(sizes)]
    return float(finite.max()) if finite.size else 0.0


def _listed(names: Sequence[str], most: int = 6) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


# The gradients of a model's parameters, those that are there or those of a loss, without touching any.
Loss = torch.Tensor | Callable[..., Any]
Gradients = dict[str, torch.Tensor | None]  # by parameter, in the model's order; None: there is none


def find_gradients(model: nn.Module, inputs: Inputs | None, loss: Loss | None, targets: Any) -> Gradients:
    inner = inner_model(model)
    trained = {clean_path(name): each for name, each in inner.named_parameters() if each.requires_grad}
    if not trained:
        raise UsageError("no parameter of this model requires a gradient: everything is frozen.")
    if loss is None and inputs is None:
        found: Gradients = {name: each.grad for name, each in trained.items()}
        if all(gradient is None for gradient in found.values()):
            raise UsageError(
                "no parameter has a gradient: call this after loss.backward() and before zero_grad(), or give it "
                "a loss: gradient_flow(model, x, loss=lambda output: F.cross_entropy(output, y))."
            )
        return found
    if loss is not None and not callable(loss):
        return _of(loss, trained)
    with for_a_picture(model, gradients=True, present_mode=True):
        return _of(_loss(inner, inputs, loss, targets), trained)


def _loss(model: nn.Module, inputs: Inputs | None, loss: Callable[..., Any] | None, targets: Any) -> Any:
    if inputs is None:
        assert loss is not None
        try:
            parameters = inspect.signature(loss).parameters.values()
        except (TypeError, ValueError):  # written in C
            return loss(model)
        takes = any(each.default is each.empty and each.kind is not each.VAR_KEYWORD for each in parameters)
        return loss(model) if takes else loss()
    output = call(model, as_batch(model, inputs))
    if loss is None:
        return output.get("loss") if isinstance(output, dict) else getattr(output, "loss", output)
    return loss(output) if targets is None else loss(output, targets)


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
