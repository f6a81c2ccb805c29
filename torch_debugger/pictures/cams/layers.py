"""Which layer to look at when none is given: the last that still knows places and that the score depends on."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate
from typing import Any

import torch
from torch import nn

from torch_debugger.anatomy.layers import chosen_layers, clean_path
from torch_debugger.anatomy.listening import listening
from torch_debugger.errors import UsageError
from torch_debugger.pictures.cams.series import SeriesInput
from torch_debugger.pictures.main_input import MainInput

CamLayer = str | nn.Module
_MOST_TRIED = 6


def given_layers(model: nn.Module, layer: CamLayer | Iterable[CamLayer]) -> dict[str, nn.Module]:
    """By path, pattern or module; several are averaged."""
    found = chosen_layers(model, layer)
    if not found:
        raise UsageError("no layer was given: name one, or leave layer= out to have one chosen.")
    return found


def layers_to_try(model: nn.Module, given: MainInput) -> dict[str, nn.Module]:
    """From the best guess on: the last convolutions, or the first norm of the last attention block.

    A block of attention is told by its two norms. Its first one lies before the attention, from where a class
    token is still reached; behind it only the class token itself has a gradient. Where norms come last in
    their blocks, that leads to the one before.
    """
    named = [(clean_path(path), module) for path, module in model.named_modules()]
    order = {path: place for place, (path, _) in enumerate(named)}
    kinds = _CONVOLUTIONS[isinstance(given, SeriesInput)]
    convolutions = [(path, each) for path, each in named if isinstance(each, kinds)]
    blocks = [norms for path, module in named if len(norms := _norms(path, module)) > 1]
    behind = max((order[path] for path, _ in convolutions), default=-1)
    if blocks and order[blocks[-1][0][0]] > behind:
        earlier = [norm for norms in reversed(blocks[:-1]) for norm in reversed(norms)]
        return dict([blocks[-1][0], *earlier][:_MOST_TRIED])
    best = _last_called(model, given, [path for path, _ in convolutions])
    if not best:
        raise UsageError(
            "this model runs no convolution and no block with two layer norms to look at: name one of its"
            " layers, as layer=, that gives [images, channels, height, width] or tokens of an image."
        )
    known = dict(named)
    return {path: known[path] for path in best[:_MOST_TRIED]}


_CONVOLUTIONS = {False: (nn.Conv2d, nn.ConvTranspose2d), True: (nn.Conv1d, nn.ConvTranspose1d)}


def _last_called(model: nn.Module, given: MainInput, convolutions: list[str]) -> list[str]:
    """Each before those called earlier, and before each what is around it and keeps its places.

    A convolution alone may be a shortcut, or one of the branches that a block adds up or concatenates.
    """
    if not convolutions:
        return []
    seen = _shapes_given(model, given, convolutions)
    called = [path for path in reversed(seen) if path in convolutions]
    fitting = [path for path in called if seen[path][2:].numel() > 1] or called
    return list(dict.fromkeys(each for path in fitting for each in (_around(path, seen), path)))


def _shapes_given(model: nn.Module, given: MainInput, paths: list[str]) -> dict[str, torch.Size]:
    """Of these layers and all around them, in the order in which their last calls ended."""
    wanted = {part for path in paths for part in accumulate(path.split("."), "{}.{}".format)}
    named = {clean_path(path): module for path, module in model.named_modules()}
    seen: dict[str, torch.Size] = {}

    def hear(call: str, module: nn.Module, taken: Any, output: Any) -> None:
        path = call.partition("#")[0]
        seen.pop(path, None)
        if isinstance(output, torch.Tensor):
            seen[path] = output.shape

    with torch.no_grad(), listening({path: named[path] for path in wanted & set(named)}, hear):
        given.ask(model)
    return seen


def _around(path: str, seen: dict[str, torch.Size]) -> str:
    """The outermost layer that holds it, ends after it and has the same places."""
    order = list(seen)
    for outer in accumulate(path.split("."), "{}.{}".format):
        if outer in seen and order.index(outer) >= order.index(path) and seen[outer][2:] == seen[path][2:]:
            return outer
    return path


def _norms(path: str, module: nn.Module) -> list[tuple[str, nn.Module]]:
    return [
        (f"{path}.{name}".lstrip("."), child)
        for name, child in module.named_children()
        if _is_layer_norm(child)
    ]


def _is_layer_norm(module: nn.Module) -> bool:
    return isinstance(module, nn.LayerNorm) or type(module).__name__.endswith(("LayerNorm", "RMSNorm"))
