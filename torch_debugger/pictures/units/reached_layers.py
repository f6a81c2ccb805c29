"""Whether and how a layer is reached: how often it is called, and how its output lies in memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from torch_debugger.anatomy.layers import one_layer
from torch_debugger.anatomy.listening import listening
from torch_debugger.errors import UsageError
from torch_debugger.pictures.runs_of_models import Layer, pass_to
from torch_debugger.pictures.units.channel_axes import LastKnown, Layout, batch_axis, has_known_channels
from torch_debugger.pictures.units.cut_forward import CutForward, given_by


@dataclass(frozen=True)
class ReachedLayer:
    cut: CutForward
    layout: Layout
    output: torch.Tensor  # for one example


def reach(model: nn.Module, layer: Layer, one: Any, two: Any) -> ReachedLayer:
    """Runs the model with inputs of one example, and up to the layer with two. As everywhere, the last call
    of a layer counts. What fails behind the layer does not matter: it is never run again."""
    path, module = one_layer(model, layer)
    last, outputs, axes = LastKnown(), list[Any](), list[int]()

    def after(call: str, called: nn.Module, given: Any, output: Any) -> None:
        if has_known_channels(called):
            last.see(called, output)
        if called is module:
            outputs.append(output)
            axes.append(last.channel_axis(given_by(path, outputs)))

    heard = {name: each for name, each in model.named_modules() if has_known_channels(each) or each is module}
    with listening(heard, after):
        _run(model, one, outputs)
    single = given_by(path, outputs)
    cut = CutForward(model, path, module, len(outputs))
    return ReachedLayer(cut, Layout(batch_axis(single.shape, cut(two).shape), axes[-1]), single)


def _run(model: nn.Module, inputs: Any, outputs: list[Any]) -> None:
    try:
        pass_to(model, inputs)
    except UsageError:
        raise
    except Exception:  # of the user's own forward: behind the layer it does not matter, that part never runs
        if not outputs:
            raise
