"""What every layer gives for one input."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from torch_debugger.anatomy.bare_calls import shown_where_bare
from torch_debugger.anatomy.layers import Layers, chosen_layers, inner_model
from torch_debugger.anatomy.listening import listening, not_called
from torch_debugger.anatomy.nested import copied, named_leaves
from torch_debugger.anatomy.unseen_runs import as_if_never
from torch_debugger.inspections.readings import Readings, finished, keeper


def activations(
    model: nn.Module,
    *inputs: Any,
    layers: Layers = "*",
    keep: str = "stats",
    grad: bool = False,
    **keywords: Any,
) -> Readings:
    """Runs the model once and returns what each layer gave, at the moment it gave it.

        seen = activations(model, images, layers="encoder.*")
        print(seen)                        # one line a layer
        seen["encoder.0"].std              # a number
        activations(model, images, layers=[nn.Conv2d, nn.ReLU], keep="tensors")["conv1"]

    `layers` are patterns of paths, classes, or several of both; of several classes those that the model
    has no layer of are left out, and the table says so. The model runs in its present mode
    (train or eval) on copies of the inputs, without gradients unless `grad=True`, and is left as it
    was: buffers, random numbers, hooks. All other keywords go to the model.
    """
    inner = inner_model(model)
    chosen = chosen_layers(inner, layers)
    keep_one = keeper(keep)
    seen: dict[str, Any] = {}

    def look(call: str, module: nn.Module, given: Any, output: Any) -> None:
        seen.update({call + way: keep_one(tensor) for way, tensor in named_leaves(output)})

    with as_if_never(inner), torch.set_grad_enabled(grad), listening(chosen, look) as ran:
        inner(*copied(inputs), **copied(keywords))
    return shown_where_bare(
        Readings(finished(seen), not_called(chosen, ran), "not called", absent=chosen.absent)
    )
