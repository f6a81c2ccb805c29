"""Where in an image a model finds a class: Grad-CAM and its family, as one function."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from torch_debugger.pictures.aims import Target, refuse_not_finite
from torch_debugger.pictures.cams.layers import CamLayer
from torch_debugger.pictures.cams.methods import METHODS, Question, maps_by, method_called
from torch_debugger.pictures.cams.picture import ClassActivation
from torch_debugger.pictures.cams.series import SeriesInput, first_of_series, series_input
from torch_debugger.pictures.cams.series_picture import SeriesActivation, shown_series
from torch_debugger.pictures.gradient_runs import for_gradients
from torch_debugger.pictures.main_input import MainInput, main_input, with_batch_of_one
from torch_debugger.pictures.runs_of_models import Inputs
from torch_debugger.pictures.shown_images import Numbers, ShownImages, as_background
from torch_debugger.pictures.token_grids import Reshape


def class_activation(
    model: nn.Module,
    images: Inputs,
    layer: CamLayer | Iterable[CamLayer] | None = None,
    *,
    target: Target = None,
    method: str = "gradcam",
    reshape: Reshape | None = None,
    labels: Sequence[str] | Mapping[int, str] | None = None,
    mean: Numbers = None,
    std: Numbers = None,
    background: Any = None,
    batch_size: int = 32,
) -> ClassActivation:
    """Maps of where the model sees a class, drawn over the images.

        found = class_activation(model, images, "layer4")               # the top class of each image
        class_activation(model, images, target=243, method="gradcam++", labels=names).save("cam.png")
        class_activation(model, images, target=[[3, 5], [3]])           # two classes of the first image
        class_activation(unet, images, target=lambda out: out[2][mask].sum())   # of one image's output
        found.maps, found.targets, found.scores, found.layer

    A function as `target` gets one image's output: of a dictionary its `logits`, `out` or `scores`, of a
    detector the image's own dictionary. `layer` is a path, a pattern or a module; several are averaged;
    without one, the last convolution (with what is around it, as long as the places stay) or the norm of a
    transformer's last block is taken and named. Tokens of a ViT or a Swin are laid out as a grid; `reshape`
    does it for others ([images, tokens, channels] to [images, channels, height, width]). Series [examples,
    channels, places] have maps [maps, places].
    `method`: gradcam, gradcam++, xgradcam, layercam, hirescam, gradcam_elementwise, eigencam, eigengradcam,
    ablationcam, scorecam, fullgrad, guided_backprop, guided_gradcam. `mean` and `std` undo the images'
    normalisation for the drawing; `background` gives images to draw on instead; `batch_size` bounds the
    forwards of ablationcam and scorecam. The model is left as it was.
    """
    method = method_called(method)
    with for_gradients(model) as inner:
        given = _images(inner, images)
        found = maps_by(method, inner, given, Question(layer, target, reshape, batch_size))
    refuse_not_finite(found.scores, found.aims)
    kind, shown = _drawn(given, mean, std, background)
    return kind(
        METHODS[method] + (f" at {found.layer}" if found.layer else ""),
        _numbers(found.maps),
        _numbers(found.raw),
        found.aims,
        _numbers(found.scores),
        found.layer,
        shown,
        labels,
        found.note,
    )


gradcam = class_activation  # the name it is looked for by


class GradCAM:
    """The same as a class, for those who are used to it. Nothing is hooked before or after a call.

    grad_cam = GradCAM(model, target_layer="layer4")
    heat = grad_cam.generate_cam(image, target_class=243)        # [height, width], 0 to 1
    grad_cam.visualize(image, original, target_class=243).save("cam.png")
    """

    def __init__(self, model: nn.Module, target_layer: CamLayer | Iterable[CamLayer] | None = None) -> None:
        self.model = model
        self.target_layer = target_layer

    def generate_cam(self, input_image: Inputs, target_class: Target = None) -> NDArray[np.float32]:
        """Of the first image."""
        found: NDArray[np.float32] = self.visualize(input_image, target_class=target_class).maps[0]
        return found

    def visualize(
        self, input_image: Inputs, original_image: Any = None, target_class: Target = None
    ) -> ClassActivation:
        return class_activation(
            self.model, input_image, self.target_layer, target=target_class, background=original_image
        )


def _images(model: nn.Module, images: Inputs) -> MainInput:
    if (first := first_of_series(model, images)) is not None:
        return series_input(model, images, first)
    given = main_input(
        model, images, lambda each: each.dim() in (3, 4), "images, [images, channels, height, width]"
    )
    return with_batch_of_one(given) if given.tensor.dim() == 3 else given


def _drawn(
    given: MainInput, mean: Numbers, std: Numbers, background: Any
) -> tuple[type[ClassActivation], ShownImages | NDArray[np.float64]]:
    if isinstance(given, SeriesInput):
        return SeriesActivation, shown_series(given, mean=mean, std=std, background=background)
    if background is not None:
        size = (given.tensor.shape[2], given.tensor.shape[3])
        return ClassActivation, as_background(background, given.count, size)
    return ClassActivation, ShownImages(given.tensor, mean, std)


def _numbers(tensor: torch.Tensor) -> NDArray[np.float32]:
    return tensor.detach().float().cpu().numpy()
