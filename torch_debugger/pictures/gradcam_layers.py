"""Which layer to look at when none is given: the last that still knows places and that the score depends on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import torch
from torch import nn

from torch_debugger.model.hooks import listening
from torch_debugger.model.layers import chosen_layers, clean_path
from torch_debugger.model.nested_tensors import exchanged, tensors_in
from torch_debugger.pictures.layer_units import channels_behind
from torch_debugger.pictures.model_runs import Inputs, MainInput, main_input
from torch_debugger.pictures.target_gradients import (
    Aim,
    KeptOutputs,
    Target,
    UnfitLayerError,
    aims_for,
    gradients_by_turns,
    rows_of,
)
from torch_debugger.pictures.token_grids import Grid, Reshape, grid_of, reshaped_grid
from torch_debugger.system.errors import UsageError

CamLayer = str | nn.Module
_MOST_TRIED = 6


def requested_layers(model: nn.Module, layer: CamLayer | Iterable[CamLayer]) -> dict[str, nn.Module]:
    """By path, pattern or module; several are averaged."""
    found = chosen_layers(model, layer)
    if not found:
        raise UsageError("no layer was given: name one, or leave layer= out to have one chosen.")
    return found


def layers_to_try(model: nn.Module, model_input: MainInput) -> dict[str, nn.Module]:
    """From the best guess on: the last convolutions, or the first norm of the last attention block.

    A block of attention is told by its two norms. Its first one lies before the attention, from where a class
    token is still reached; behind it only the class token itself has a gradient. Where norms come last in
    their blocks, that leads to the one before.
    """
    named = [(clean_path(path), module) for path, module in model.named_modules()]
    order = {path: place for place, (path, _) in enumerate(named)}
    kinds = _CONVOLUTIONS[isinstance(model_input, SeriesInput)]
    convolutions = [(path, each) for path, each in named if isinstance(each, kinds)]
    blocks = [norms for path, module in named if len(norms := _norms(path, module)) > 1]
    behind = max((order[path] for path, _ in convolutions), default=-1)
    if blocks and order[blocks[-1][0][0]] > behind:
        earlier = [norm for norms in reversed(blocks[:-1]) for norm in reversed(norms)]
        return dict([blocks[-1][0], *earlier][:_MOST_TRIED])
    best = _last_called(model, model_input, [path for path, _ in convolutions]) if convolutions else []
    if not best:
        raise UsageError(
            "this model runs no convolution and no block with two layer norms to look at: name one of its"
            " layers, as layer=, that gives [images, channels, height, width] or tokens of an image."
        )
    known = dict(named)
    return {path: known[path] for path in best[:_MOST_TRIED]}


_CONVOLUTIONS = {False: (nn.Conv2d, nn.ConvTranspose2d), True: (nn.Conv1d, nn.ConvTranspose1d)}


def _last_called(model: nn.Module, model_input: MainInput, convolutions: list[str]) -> list[str]:
    """Each before those called earlier, and before each what is around it and keeps its places.

    A convolution alone may be a shortcut, or one of the branches that a block adds up or concatenates.
    """
    wanted = {part for path in convolutions for part in accumulate(path.split("."), "{}.{}".format)}
    named = {clean_path(path): module for path, module in model.named_modules()}
    seen: dict[str, torch.Size] = {}  # of these and all around them, in the order in which their last calls ended

    def hear(call: str, module: nn.Module, taken: Any, output: Any) -> None:
        path = call.partition("#")[0]
        seen.pop(path, None)
        if isinstance(output, torch.Tensor):
            seen[path] = output.shape

    with torch.no_grad(), listening({path: named[path] for path in wanted & set(named)}, hear):
        model_input.ask(model)
    called = [path for path in reversed(seen) if path in convolutions]
    fitting = [path for path in called if seen[path][2:].numel() > 1] or called
    return list(dict.fromkeys(each for path in fitting for each in (_around(path, seen), path)))


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
        if isinstance(child, nn.LayerNorm) or type(child).__name__.endswith(("LayerNorm", "RMSNorm"))
    ]


# One look at chosen layers: their activations and gradients, brought into the form of an image.
@dataclass(frozen=True)
class LayerActivations:
    """All maps are of these aims, in their order; both dictionaries go by the layer's path."""

    model: nn.Module
    given: MainInput
    layers: dict[str, nn.Module]
    aims: list[Aim]
    scores: torch.Tensor  # [aims], float32
    kept: KeptOutputs
    grids: dict[str, Grid]
    gradients: dict[str, torch.Tensor]  # [aims, channels, height, width], float32; empty where none were asked for
    is_the_output: bool

    @property
    def silent(self) -> bool:
        """No gradient anywhere: the score does not move with these layers."""
        return bool(self.gradients) and not any(each.any() for each in self.gradients.values())

    def activations(self, path: str) -> torch.Tensor:
        """[aims, channels, height, width], float32"""
        examples = [aim.example for aim in self.aims]
        return self.grids[path].reshape(self.kept.tensors[path].detach())[examples].float()


def look_at(
    model: nn.Module,
    model_input: MainInput,
    layers: dict[str, nn.Module],
    target: Target,
    *,
    gradients: bool,
    reshape: Reshape | None = None,
) -> LayerActivations:
    """One forward, and a backward for each target that an example has."""
    kept = KeptOutputs()
    with torch.set_grad_enabled(gradients), kept.listening(layers):
        rows = rows_of(model_input.ask(model), model_input.count)
        kept.closed = True
        aims = aims_for(target, rows)
        scores = [aim.score(rows[aim.example]) for aim in aims]
        grids = {path: _grid(path, module, kept, model_input, reshape) for path, module in layers.items()}
        found = _gradients(aims, scores, kept, grids) if gradients else {}
    numbers = torch.stack(scores).detach().float()
    # The scores of all places, as a segmenting model's last convolution gives them, explain nothing.
    form = 3 if isinstance(model_input, SeriesInput) else 4
    kept_maps = [each for each in kept.tensors.values() if each.dim() == form]
    is_output = isinstance(rows, torch.Tensor) and rows.dim() == form
    is_output = is_output and any(each.shape[1] == rows.shape[1] for each in kept_maps)
    return LayerActivations(model, model_input, layers, aims, numbers, kept, grids, found, is_output)


def _grid(path: str, module: nn.Module, kept: KeptOutputs, model_input: MainInput, reshape: Reshape | None) -> Grid:
    if path not in kept.tensors:
        raise UnfitLayerError(f"layer `{path}` was not called, or gave no tensor of numbers, for this input.")
    tensor = kept.tensors[path]
    high, wide = model_input.tensor.shape[-2:]
    if isinstance(model_input, SeriesInput):
        grid = series_grid(tensor, module, model_input.count, reshape)
        what, expected = "series", "[examples, channels, places]"
    else:
        grid = reshaped_grid(tensor, reshape) if reshape else grid_of(tensor, module, model_input.count, (high, wide))
        what = f"{high} x {wide} image"
        expected = "[images, channels, height, width], or tokens that fill a grid"
    made = None if grid is None else grid.reshape(tensor.detach())
    if reshape is not None and made is not None and (made.dim() != 4 or len(made) != model_input.count):
        raise UsageError(
            f"reshape= made {list(made.shape)} of what layer `{path}` gives, {list(tensor.shape)}: expected"
            f" [{model_input.count}, channels, height, width]."
        )
    if grid is None or made is None or (reshape is None and made.shape[2:].numel() == 1):
        raise UnfitLayerError(
            f"layer `{path}` gives {list(tensor.shape)}, without places of the {what}: expected {expected}."
            " Choose an earlier layer, or give reshape=, a function that makes it so."
        )
    return grid


def _gradients(
    aims: list[Aim], scores: list[torch.Tensor], kept: KeptOutputs, grids: dict[str, Grid]
) -> dict[str, torch.Tensor]:
    for path in kept.without_gradients:
        raise UnfitLayerError(
            f"layer `{path}` runs under torch.no_grad() in the model's own forward (so does a checkpoint with"
            " use_reentrant=True), and no gradient reaches it: choose a later layer, or take that off."
        )
    found: dict[str, list[Any]] = {path: [None] * len(aims) for path in kept.tensors}
    named = ", ".join(f"`{path}`" for path in kept.tensors)
    for turn, gradients in gradients_by_turns(aims, scores, list(kept.tensors.values()), named):
        for path, gradient in zip(kept.tensors, gradients, strict=True):
            if gradient is None:
                raise UnfitLayerError(
                    f"the score does not depend on layer `{path}`: its output is not used for it, or only after"
                    " .detach(), argmax or under torch.no_grad()."
                )
            shaped = grids[path].reshape(gradient)
            for place in turn:
                found[path][place] = shaped[aims[place].example]
    return {path: torch.stack(each).float() for path, each in found.items()}


# Series as images of one row: every method makes its maps of them as it does of images.
@dataclass(frozen=True)
class SeriesInput(MainInput):
    """`tensor` is [examples, channels, 1, places]; the model is given it without the one."""

    def exchanged_for(self, new: torch.Tensor, rows: torch.Tensor | None = None) -> Any:
        return super().exchanged_for(new.squeeze(2), rows)


def first_of_series(model: nn.Module, inputs: Inputs) -> nn.Conv1d | None:
    """The first convolution of a model that reads series."""
    arguments = dict(inputs) if hasattr(inputs, "keys") else inputs
    if any(isinstance(each, (nn.Conv2d, nn.Conv3d)) for each in model.modules()):
        return None
    if any(each.dim() == 4 for each in tensors_in(arguments)):
        return None
    return next((each for each in model.modules() if isinstance(each, nn.Conv1d)), None)


def series_input(model: nn.Module, inputs: Inputs, first: nn.Conv1d) -> SeriesInput:
    """[examples, channels, places], or a single one."""

    def fits(each: torch.Tensor) -> bool:
        return each.dim() == 3 or (each.dim() == 2 and len(each) == first.in_channels)

    model_input = main_input(model, inputs, fits, "series, [examples, channels, places]")
    batch = model_input.tensor if model_input.tensor.dim() == 3 else model_input.tensor.unsqueeze(0)
    lifted = batch.unsqueeze(2)
    return SeriesInput(
        exchanged(model_input.inputs, lambda each: lifted if each is model_input.tensor else each), lifted
    )


def series_grid(tensor: torch.Tensor, module: nn.Module, count: int, reshape: Reshape | None) -> Grid | None:
    """None where the tensor has no places of the series; `reshape` makes [examples, channels, places]."""
    if reshape is not None:
        return Grid(lambda each: reshape(each).unsqueeze(2), tensor.dim() - 1)
    if tensor.dim() != 3 or len(tensor) != count:
        return None
    if channels_behind(module):
        return Grid(lambda each: each.transpose(1, 2).unsqueeze(2), 2)
    return Grid(lambda each: each.unsqueeze(2), 1)
