"""The methods of class activation by name, and the maps each of them makes."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.conv import _ConvNd

from torch_debugger.model.hooks import listening
from torch_debugger.model.layers import clean_path
from torch_debugger.model.nested_tensors import exchanged, first_tensor
from torch_debugger.pictures.gradcam_layers import (
    LayerActivations,
    SeriesInput,
    layers_to_try,
    look_at,
    requested_layers,
)
from torch_debugger.pictures.model_runs import MainInput
from torch_debugger.pictures.target_gradients import (
    Aim,
    KeptOutputs,
    OtherReLUs,
    Target,
    UnfitLayerError,
    aims_for,
    input_gradients,
    rows_of,
)
from torch_debugger.pictures.token_grids import Reshape
from torch_debugger.system.errors import UsageError

METHODS = {
    "gradcam": "Grad-CAM",
    "gradcam++": "Grad-CAM++",
    "xgradcam": "XGrad-CAM",
    "layercam": "Layer-CAM",
    "hirescam": "HiRes-CAM",
    "gradcam_elementwise": "Grad-CAM, element by element,",
    "eigencam": "Eigen-CAM",
    "eigengradcam": "Eigen-Grad-CAM",
    "ablationcam": "Ablation-CAM",
    "scorecam": "Score-CAM",
    "fullgrad": "FullGrad",
    "guided_backprop": "Guided backpropagation",
    "guided_gradcam": "Guided Grad-CAM",
}
_ALSO_CALLED = {"gradcamplusplus": "gradcam++", "gradcampp": "gradcam++"}
_WITHOUT_GRADIENTS = ("eigencam", "ablationcam", "scorecam")


@dataclass(frozen=True)
class Maps:
    """`maps` from 0 to 1, of the image's size; `raw` as the method made them, of the first layer."""

    maps: torch.Tensor
    raw: torch.Tensor
    aims: list[Aim]
    scores: torch.Tensor
    layer: str = ""
    note: str = ""


@dataclass(frozen=True)
class ActivationRequest:
    """What was asked of `class_activation`, apart from the drawing."""

    layer: Any
    target: Target
    reshape: Reshape | None
    batch_size: int


def method_called(name: str) -> str:
    plain = {each.replace("_", ""): each for each in METHODS} | _ALSO_CALLED
    requested = str(name).lower().replace("_", "").replace("-", "").replace(" ", "")
    if requested not in plain:
        near = difflib.get_close_matches(requested, plain, n=1)
        hint = f" Did you mean {plain[near[0]]!r}?" if near else ""
        raise UsageError(f"no method {name!r}.{hint} There is {', '.join(METHODS)}.")
    return plain[requested]


def maps_by(method: str, model: nn.Module, model_input: MainInput, request: ActivationRequest) -> Maps:
    if method == "fullgrad":
        raw, aims, scores = full_gradient(model, model_input, request.target)
        return Maps(to_unit_range(raw), raw, aims, scores)
    if method == "guided_backprop":
        return _guided(model, model_input, request.target)
    if method == "guided_gradcam":
        cam, guided = maps_by("gradcam", model, model_input, request), _guided(model, model_input, request.target)
        both = guided.raw * cam.maps.unsqueeze(1)
        note = cam.note or guided.note
        return Maps(to_unit_range(both.abs().amax(1)), both, cam.aims, cam.scores, cam.layer, note)
    gradients = method not in _WITHOUT_GRADIENTS
    if request.layer is None:
        look = _first_fitting(model, model_input, request, gradients)
    else:
        layers = requested_layers(model, request.layer)
        look = look_at(model, model_input, layers, request.target, gradients=gradients, reshape=request.reshape)
    raws = []
    for path in look.layers:
        activations = look.activations(path)
        if method == "ablationcam":
            raw = weighted(activations, ablation_weights(look, path, request.batch_size))
        elif method == "scorecam":
            raw = weighted(activations, score_weights(look, path, request.batch_size))
        else:
            raw = FORMULAS[method](activations, look.gradients.get(path, activations))
        if not raw.isfinite().all():
            bad = [aim.example for aim, each in zip(look.aims, activations, strict=True) if not each.isfinite().all()]
            what, where = ("output", f" for image {bad[0]}") if bad else ("gradient", "")
            raise UsageError(
                f"the {what} of layer `{path}` holds NaN or Inf{where}: no map can be made of it."
                " `torch_debugger.find_nan` finds the operation that made it."
            )
        raws.append(raw)
    high, wide = look.given.tensor.shape[-2:]
    maps = averaged(raws, (high, wide))
    empty = int((maps.amax((1, 2)) == 0).sum())
    note = ""
    if look.silent:
        note = "All gradients are zero: this layer does not change the score."
    elif empty:
        which = "The map is" if len(maps) == 1 else f"{empty} of {len(maps)} maps are"
        note = f"{which} nowhere positive: no place here speaks for the target."
    return Maps(maps, raws[0], look.aims, look.scores, ", ".join(look.layers), note)


def _guided(model: nn.Module, model_input: MainInput, target: Target) -> Maps:
    """Guided backpropagation (arXiv:1412.6806): a ReLU passes back only what is positive in both directions."""
    leaf = model_input.tensor.detach().clone().requires_grad_()
    with OtherReLUs(lambda positive, gradient: torch.where(positive, gradient.clamp(min=0), 0)) as relus:
        rows = rows_of(model_input.ask(model, leaf), model_input.count)
        aims = aims_for(target, rows)
        (found,) = input_gradients(leaf, rows, aims)
    scores = torch.stack([aim.score(rows[aim.example]).detach().float() for aim in aims])
    gradients = torch.stack(found).float()
    note = "" if relus.met else "The model has no ReLU to guide: these are plain gradients."
    return Maps(to_unit_range(gradients.abs().amax(1)), gradients, aims, scores, note=note)


def _first_fitting(
    model: nn.Module, model_input: MainInput, request: ActivationRequest, gradients: bool
) -> LayerActivations:
    """The last layer that knows places, is not the output itself, and has a gradient."""
    refused: UnfitLayerError | None = None
    second_best: LayerActivations | None = None
    for path, module in layers_to_try(model, model_input).items():
        try:
            look = look_at(
                model, model_input, {path: module}, request.target, gradients=gradients, reshape=request.reshape
            )
        except UnfitLayerError as error:
            refused = refused or error
            continue
        if not look.is_the_output and not look.silent:
            return look
        second_best = second_best or look
    if second_best is None:
        raise refused or UnfitLayerError("no layer could be chosen: name one as layer=.")
    return second_best


# How activations and their gradients become one map for each example: the family of Grad-CAM.
#
# Both are [maps, channels, height, width] in float32. The formulas are those of the papers, with the small constants
# of the `grad-cam` package, so that the numbers agree.
Formula = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]  # -> [maps, height, width]
_PLACES = (2, 3)


def weighted(activations: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    """weights [maps, channels]"""
    return torch.einsum("mc,mchw->mhw", weights, activations)


def gradcam(activations: torch.Tensor, gradients: torch.Tensor) -> torch.Tensor:
    """Channels weighted by their mean gradient (arXiv:1610.02391)."""
    return weighted(activations, gradients.mean(_PLACES))


def gradcam_plus_plus(activations: torch.Tensor, gradients: torch.Tensor) -> torch.Tensor:
    """Equation 19 of arXiv:1710.11063."""
    squared = gradients**2
    total = activations.sum(_PLACES, keepdim=True)
    shares = squared / (2 * squared + total * squared * gradients + 1e-6)
    shares = torch.where(gradients != 0, shares, 0)
    return weighted(activations, (gradients.relu() * shares).sum(_PLACES))


def xgradcam(activations: torch.Tensor, gradients: torch.Tensor) -> torch.Tensor:
    """Gradients weighted by the share of the activation in its channel (arXiv:2008.02312)."""
    total = activations.sum(_PLACES, keepdim=True)
    return weighted(activations, (gradients * activations / (total + 1e-7)).sum(_PLACES))


def layercam(activations: torch.Tensor, gradients: torch.Tensor) -> torch.Tensor:
    """Every place weighted by its own positive gradient."""
    return (gradients.relu() * activations).sum(1)


def hirescam(activations: torch.Tensor, gradients: torch.Tensor) -> torch.Tensor:
    """Gradient times activation, place by place (arXiv:2011.08891)."""
    return (gradients * activations).sum(1)


def gradcam_elementwise(activations: torch.Tensor, gradients: torch.Tensor) -> torch.Tensor:
    """What is positive of gradient times activation."""
    return (gradients * activations).relu().sum(1)


def eigencam(activations: torch.Tensor, gradients: torch.Tensor) -> torch.Tensor:
    """The first principal component of the activations (arXiv:2008.00299): no class is asked for."""
    return _first_component(activations)


def eigengradcam(activations: torch.Tensor, gradients: torch.Tensor) -> torch.Tensor:
    """The same of gradient times activation."""
    return _first_component(gradients * activations)


def _first_component(values: torch.Tensor) -> torch.Tensor:
    """Its sign is arbitrary: numpy's is taken, as others do, so that maps can be compared."""
    maps = []
    for each in values.flatten(2).transpose(1, 2).cpu().numpy():  # [places, channels]
        centred = each - each.mean(axis=0)
        maps.append(centred @ np.linalg.svd(centred, full_matrices=False)[2][0])
    return torch.from_numpy(np.stack(maps)).to(values.device).reshape(-1, *values.shape[2:])


FORMULAS: dict[str, Formula] = {
    "gradcam": gradcam,
    "gradcam++": gradcam_plus_plus,
    "xgradcam": xgradcam,
    "layercam": layercam,
    "hirescam": hirescam,
    "gradcam_elementwise": gradcam_elementwise,
    "eigencam": eigencam,
    "eigengradcam": eigengradcam,
}


# Weights found by trying, without gradients: what the score does when a channel is missing, or alone.
def ablation_weights(look: LayerActivations, path: str, batch_size: int) -> torch.Tensor:
    """[aims, channels]: the share of the score that is lost when a channel is set to zero (Ablation-CAM)."""
    grid, tensor = look.grids[path], look.kept.tensors[path].detach()
    axis = grid.channel_axis - (grid.channel_axis > grid.batch_axis)
    found = []
    for aim, score in zip(look.aims, look.scores, strict=True):
        one = tensor.narrow(grid.batch_axis, aim.example, 1)
        scores = []
        for chunk in _chunks(tensor.shape[grid.channel_axis], batch_size):
            # The example's activation once for each channel, that channel zero.
            ablated = one.repeat_interleave(len(chunk), dim=grid.batch_axis)
            for row, channel in enumerate(chunk):
                ablated.select(grid.batch_axis, row).select(axis, channel).zero_()
            scores.append(_scores(look, aim, len(chunk), path, ablated))
        found.append((score - torch.cat(scores)) / torch.where(score == 0, 1e-7, score))
    return torch.stack(found)


def score_weights(look: LayerActivations, path: str, batch_size: int) -> torch.Tensor:
    """[aims, channels]: the score of the image seen through each channel, among all of them (Score-CAM)."""
    found = []
    for aim, activation in zip(look.aims, look.activations(path), strict=True):
        image = look.given.tensor[aim.example]
        # [channels, height, width] of the image, each from 0 to 1; corners on corners, as in the paper's code.
        size = image.shape[-2:]
        wide = functional.interpolate(activation.unsqueeze(0), size=size, mode="bilinear", align_corners=True)[0]
        low, high = wide.amin((1, 2), keepdim=True), wide.amax((1, 2), keepdim=True)
        masks = (wide - low) / (high - low + 1e-8)
        scores = []
        for chunk in _chunks(len(masks), batch_size):
            seen = image * masks[chunk].unsqueeze(1).to(image.dtype)
            rows = torch.full((len(chunk),), aim.example)
            with torch.no_grad():
                scores.append(_read(look, aim, look.given.ask(look.model, seen, rows), len(chunk)))
        found.append(torch.cat(scores))
    return torch.stack(found).softmax(dim=1)


def _scores(look: LayerActivations, aim: Aim, count: int, path: str, instead: torch.Tensor) -> torch.Tensor:
    """The model's scores when a layer (in its last call) gives something else."""

    def exchange(call: str, module: nn.Module, arguments: Any, output: Any) -> Any:
        if int(call.partition("#")[2] or 1) != look.kept.calls[path]:
            return None
        tensor = first_tensor(output)
        return exchanged(output, lambda each: instead.clone() if each is tensor else each)

    rows = torch.full((count,), aim.example)
    with torch.no_grad(), listening({path: look.layers[path]}, exchange):
        answer = look.given.ask(look.model, look.given.tensor[rows], rows)
    return _read(look, aim, answer, count)


def _read(look: LayerActivations, aim: Aim, answer: Any, count: int) -> torch.Tensor:
    rows = rows_of(answer, count)
    return torch.stack([aim.score(row) for row in rows]).float().to(look.scores.device)


def _chunks(count: int, size: int) -> Iterator[list[int]]:
    return (list(range(start, min(start + size, count))) for start in range(0, count, size))


# FullGrad (arXiv:1905.00780): what the input and every bias of the convolutions and their norms contribute.
_BIASED = {False: (nn.Conv2d, nn.BatchNorm2d), True: (nn.Conv1d, nn.BatchNorm1d)}


def full_gradient(
    model: nn.Module, model_input: MainInput, target: Target
) -> tuple[torch.Tensor, list[Aim], torch.Tensor]:
    """The map before scaling [aims, height, width], the aims, and their scores."""
    kinds = _BIASED[isinstance(model_input, SeriesInput)]
    named = [(clean_path(path), each) for path, each in model.named_modules() if type(each) in kinds]
    layers = {path: each for path, each in named if _bias(each) is not None}
    leaf = model_input.tensor.detach().clone().requires_grad_()
    kept = KeptOutputs()
    with kept.listening(layers):
        rows = rows_of(model_input.ask(model, leaf), model_input.count)
        kept.closed = True
        aims = aims_for(target, rows)
        of_input, *of_layers = input_gradients(leaf, rows, aims, list(kept.tensors.values()))
    images = torch.stack([model_input.tensor[aim.example] for aim in aims]).float()
    total = _summed(torch.stack(of_input).float() * images, images.shape[-2:])
    for path, gradients in zip(kept.tensors, of_layers, strict=True):
        gradient = torch.stack(gradients).float()
        if gradient.dim() == 3:  # of a series
            gradient = gradient.unsqueeze(2)
        if gradient.dim() == 4:
            bias = _bias(layers[path]).float().view(1, -1, 1, 1)
            total = total + _summed(gradient * bias, images.shape[-2:])
    scores = torch.stack([aim.score(rows[aim.example]).detach().float() for aim in aims])
    return total, aims, scores


def _summed(contributions: torch.Tensor, size: Any) -> torch.Tensor:
    """Each channel scaled on its own; summed before resizing, which is the same and less work."""
    return resized(to_unit_range(contributions.abs()).sum(1), tuple(size))


def _bias(module: nn.Module) -> Any:
    """What a layer adds, or None; for a norm with what its running mean takes away."""
    if isinstance(module, _ConvNd):
        return None if module.bias is None else module.bias.detach()
    if isinstance(module, _BatchNorm) and module.bias is not None and module.running_mean is not None:
        assert module.running_var is not None
        taken = module.running_mean * module.weight / (module.running_var + module.eps).sqrt()
        return (module.bias - taken).detach()
    return None


# Maps brought to 0 to 1 and to the size of the image.
_TINY = 1e-7  # as in the `grad-cam` package; a map of zeros stays zero


def to_unit_range(maps: torch.Tensor) -> torch.Tensor:
    """[..., height, width], each map from its least to its greatest."""
    lifted = maps - maps.amin((-2, -1), keepdim=True)
    return lifted / (_TINY + lifted.amax((-2, -1), keepdim=True))


def resized(maps: torch.Tensor, size: tuple[int, int]) -> torch.Tensor:
    """[maps, height, width]; bilinear between the centres of pixels, as OpenCV does it."""
    return functional.interpolate(maps.unsqueeze(1), size, mode="bilinear", align_corners=False).squeeze(1)


def averaged(maps_of_layers: list[torch.Tensor], size: tuple[int, int]) -> torch.Tensor:
    """What is positive of each layer's map, scaled, resized, averaged and scaled again."""
    scaled = [resized(to_unit_range(maps.relu()), size) for maps in maps_of_layers]
    return to_unit_range(torch.stack(scaled).mean(0))
