"""Where in an image a model sees a class: Grad-CAM, its family, and guided backpropagation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure
from numpy.typing import NDArray
from torch import nn

from torch_debugger.pictures.attribution_plots import draw_series
from torch_debugger.pictures.figures import HEAT, INK, image_axes, new_figure, say_below, say_beside
from torch_debugger.pictures.gradcam_layers import CamLayer, SeriesInput, first_of_series, series_input
from torch_debugger.pictures.gradcam_methods import METHODS, ActivationRequest, maps_by, method_called
from torch_debugger.pictures.image_grids import Numbers, ShownImages, as_background, heat_over
from torch_debugger.pictures.model_runs import Inputs, MainInput, main_input, with_batch_of_one
from torch_debugger.pictures.picture import Picture
from torch_debugger.pictures.target_gradients import Aim, Target, for_gradients, named, refuse_not_finite
from torch_debugger.pictures.token_grids import Reshape
from torch_debugger.system.errors import UsageError


# Where in an image a model finds a class: Grad-CAM and its family, as one function.
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
        if (first := first_of_series(inner, images)) is not None:
            model_input: MainInput = series_input(inner, images, first)
        else:
            wanted = "images, [images, channels, height, width]"
            model_input = main_input(inner, images, lambda each: each.dim() in (3, 4), wanted)
            model_input = with_batch_of_one(model_input) if model_input.tensor.dim() == 3 else model_input
        found = maps_by(method, inner, model_input, ActivationRequest(layer, target, reshape, batch_size))
    refuse_not_finite(found.scores, found.aims)
    kind: type[ClassActivation] = ClassActivation
    shown: ShownImages | NDArray[np.float64]
    if isinstance(model_input, SeriesInput):
        kind, shown = SeriesActivation, shown_series(model_input, mean=mean, std=std, background=background)
    elif background is not None:
        shown = as_background(background, model_input.count, (model_input.tensor.shape[2], model_input.tensor.shape[3]))
    else:
        shown = ShownImages(model_input.tensor, mean, std)
    title = METHODS[method] + (f" at {found.layer}" if found.layer else "")
    maps, raw, scores = (each.detach().float().cpu().numpy() for each in (found.maps, found.raw, found.scores))
    return kind(title, maps, raw, found.aims, scores, found.layer, shown, labels, found.note)


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
        target = self.target_layer
        return class_activation(self.model, input_image, target, target=target_class, background=original_image)


# Class activation, drawn: the image, the map, and both together, a row for each target.
MOST_ROWS = 8
_TILE_IN = 1.9


class ClassActivation(Picture):
    """Where a model looks; `maps[i]` belongs to `targets[i]` of image `examples[i]`.

    found.maps       # float32 [maps, height, width], from 0 to 1, of the image's size
    found.raw        # as the layer has it, not yet scaled
    found.scores     # the model's own number for each target
    found.overlays   # [maps, height, width, 3]
    found.layer      # which layer, as a path
    """

    _kind = "image"

    def __init__(
        self,
        title: str,
        maps: NDArray[np.float32],
        raw: NDArray[np.float32],
        aims: Sequence[Aim],
        scores: NDArray[np.float32],
        layer: str,
        images: Any,  # by number: ShownImages, or an array
        labels: Sequence[str] | Mapping[int, str] | None = None,
        note: str = "",
    ) -> None:
        super().__init__(title, {"maps": maps, "raw": raw, "scores": scores}, self._figure)
        self.maps, self.raw, self.scores, self.layer, self.note = maps, raw, scores, layer, note
        self.targets = [aim.target for aim in aims]
        self.examples = [aim.example for aim in aims]
        self.names = [named(aim.target, labels) for aim in aims]
        self._images = images

    @property
    def overlays(self) -> NDArray[np.float64]:
        pairs = zip(self.examples, self.maps, strict=True)
        return np.stack([heat_over(self._images[example], heat) for example, heat in pairs])

    def _figure(self) -> Figure:
        rows = min(len(self.maps), MOST_ROWS)
        high, wide = self.maps.shape[1:]
        tall = min(2.0, max(0.5, high / wide))
        figure = new_figure(3 * _TILE_IN + 2.0, rows * (_TILE_IN * tall + 0.1) + 0.75, self._heading(rows))
        axes = figure.subplots(rows, 4, squeeze=False, width_ratios=(0.55, 1, 1, 1))
        for row in range(rows):
            image, heat = self._images[self.examples[row]], self.maps[row]
            heads = ("image", "map", "map over image") if row == 0 else ("", "", "")
            say_beside(axes[row][0], *self._words(row))
            image_axes(axes[row][1], heads[0]).imshow(image)
            image_axes(axes[row][2], heads[1]).imshow(heat, cmap=HEAT, vmin=0, vmax=1)
            image_axes(axes[row][3], heads[2]).imshow(np.clip(heat_over(image, heat), 0, 1))
        bar = figure.colorbar(axes[0][2].images[0], ax=axes[:, 3].tolist(), fraction=0.05, shrink=0.9)
        bar.set_label("share of the map's largest value", fontsize=8, color=INK)
        bar.ax.tick_params(labelsize=7)
        return say_below(figure, self.note)

    def _heading(self, rows: int) -> str:
        shown = f" ({rows} of {len(self.maps)} maps)" if rows < len(self.maps) else ""
        return f"{self.title}{shown}"

    def _words(self, row: int) -> list[str]:
        several = len(set(self.examples)) > 1
        which = [f"{self._kind} {self.examples[row]}"] if several else []
        return [*which, self.names[row], f"score {self.scores[row]:.3g}"]


# Class activation of series, drawn: curves on the ground of their map.
_MOST_CURVES = 4  # of more channels the mean is drawn


def shown_series(series_input: SeriesInput, **of_images: Any) -> NDArray[np.float64]:
    """[examples, channels, places]"""
    if any(each is not None for each in of_images.values()):
        raise UsageError(f"{'=, '.join(of_images)}= are for images, but the input is a series: leave them out.")
    series = series_input.tensor.detach().squeeze(2).to("cpu", torch.float64)
    return (series if series.shape[1] <= _MOST_CURVES else series.mean(1, keepdim=True)).numpy()


class SeriesActivation(ClassActivation):
    """The same of series: `maps` are [maps, places], and there are no overlays."""

    _kind = "example"

    def __init__(self, title: str, maps: NDArray[np.float32], raw: NDArray[np.float32], *rest: Any) -> None:
        super().__init__(title, maps.squeeze(-2), raw.squeeze(-2), *rest)

    @property
    def overlays(self) -> NDArray[np.float64]:
        raise UsageError("overlays are made of images; figure() draws a series on the ground of its map.")

    def _figure(self) -> Figure:
        rows = [(example, ", ".join(self._words(row))) for row, example in enumerate(self.examples[:MOST_ROWS])]
        title, measure = self._heading(len(rows)), "share of the largest value"
        return say_below(draw_series(title, self._images, self.maps, rows, measure), self.note)
