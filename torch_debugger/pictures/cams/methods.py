"""The methods of class activation by name, and the maps each of them makes."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from torch_debugger.errors import UsageError
from torch_debugger.pictures.aims import Aim, Target
from torch_debugger.pictures.cams.formulas import FORMULAS, weighted
from torch_debugger.pictures.cams.full_gradient import full_gradient
from torch_debugger.pictures.cams.guided_backprop import guided_gradients
from torch_debugger.pictures.cams.layers import given_layers, layers_to_try
from torch_debugger.pictures.cams.runs import Look, look_at
from torch_debugger.pictures.cams.scaling import averaged, to_unit_range
from torch_debugger.pictures.cams.trials import ablation_weights, score_weights
from torch_debugger.pictures.gradient_runs import UnfitLayerError
from torch_debugger.pictures.main_input import MainInput
from torch_debugger.pictures.token_grids import Reshape

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
class Question:
    """What was asked of `class_activation`, apart from the drawing."""

    layer: Any
    target: Target
    reshape: Reshape | None
    batch_size: int


def method_called(name: str) -> str:
    plain = {each.replace("_", ""): each for each in METHODS} | _ALSO_CALLED
    asked = str(name).lower().replace("_", "").replace("-", "").replace(" ", "")
    if asked not in plain:
        near = difflib.get_close_matches(asked, plain, n=1)
        hint = f" Did you mean {plain[near[0]]!r}?" if near else ""
        raise UsageError(f"no method {name!r}.{hint} There is {', '.join(METHODS)}.")
    return plain[asked]


def maps_by(method: str, model: nn.Module, given: MainInput, asked: Question) -> Maps:
    if method == "fullgrad":
        raw, aims, scores = full_gradient(model, given, asked.target)
        return Maps(to_unit_range(raw), raw, aims, scores)
    if method == "guided_backprop":
        return _guided(model, given, asked.target)
    if method == "guided_gradcam":
        return _guided_gradcam(model, given, asked)
    gradients = method not in _WITHOUT_GRADIENTS
    if asked.layer is None:
        return _of_look(_first_fitting(model, given, asked, gradients), method, asked.batch_size)
    layers = given_layers(model, asked.layer)
    look = look_at(model, given, layers, asked.target, gradients=gradients, reshape=asked.reshape)
    return _of_look(look, method, asked.batch_size)


def _guided(model: nn.Module, given: MainInput, target: Target) -> Maps:
    gradients, aims, scores, relus = guided_gradients(model, given, target)
    note = "" if relus else "The model has no ReLU to guide: these are plain gradients."
    return Maps(to_unit_range(gradients.abs().amax(1)), gradients, aims, scores, note=note)


def _guided_gradcam(model: nn.Module, given: MainInput, asked: Question) -> Maps:
    cam, guided = maps_by("gradcam", model, given, asked), _guided(model, given, asked.target)
    both = guided.raw * cam.maps.unsqueeze(1)
    note = cam.note or guided.note
    return Maps(to_unit_range(both.abs().amax(1)), both, cam.aims, cam.scores, cam.layer, note)


def _first_fitting(model: nn.Module, given: MainInput, asked: Question, gradients: bool) -> Look:
    """The last layer that knows places, is not the output itself, and has a gradient."""
    refused: UnfitLayerError | None = None
    second_best: Look | None = None
    for path, module in layers_to_try(model, given).items():
        try:
            look = look_at(
                model, given, {path: module}, asked.target, gradients=gradients, reshape=asked.reshape
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


def _of_look(look: Look, method: str, batch_size: int) -> Maps:
    raws = [_raw(look, path, method, batch_size) for path in look.layers]
    for path, raw in zip(look.layers, raws, strict=True):
        if not raw.isfinite().all():
            raise UsageError(_not_finite(look, path))
    high, wide = look.given.tensor.shape[-2:]
    maps = averaged(raws, (high, wide))
    return Maps(maps, raws[0], look.aims, look.scores, ", ".join(look.layers), _note(look, maps))


def _note(look: Look, maps: torch.Tensor) -> str:
    if look.silent:
        return "All gradients are zero: this layer does not change the score."
    empty = int((maps.amax((1, 2)) == 0).sum())
    if not empty:
        return ""
    which = "The map is" if len(maps) == 1 else f"{empty} of {len(maps)} maps are"
    return f"{which} nowhere positive: no place here speaks for the target."


def _raw(look: Look, path: str, method: str, batch_size: int) -> torch.Tensor:
    activations = look.activations(path)
    if method == "ablationcam":
        return weighted(activations, ablation_weights(look, path, batch_size))
    if method == "scorecam":
        return weighted(activations, score_weights(look, path, batch_size))
    return FORMULAS[method](activations, look.gradients.get(path, activations))


def _not_finite(look: Look, path: str) -> str:
    bad = [
        aim.example
        for aim, each in zip(look.aims, look.activations(path), strict=True)
        if not each.isfinite().all()
    ]
    what, where = ("output", f" for image {bad[0]}") if bad else ("gradient", "")
    return (
        f"the {what} of layer `{path}` holds NaN or Inf{where}: no map can be made of it."
        " `torch_debugger.find_nan` finds the operation that made it."
    )
