"""Features of a layer over all batches: no gradients, bounded memory, and the model as it was."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn import functional

from torch_debugger.model.hooks import listening
from torch_debugger.model.layers import one_layer
from torch_debugger.model.nested_tensors import first_tensor
from torch_debugger.pictures.dataloader_batches import batches, loader_untouched
from torch_debugger.pictures.layer_units import LastKnown, has_known_channels
from torch_debugger.pictures.model_runs import Inputs, Layer, call, for_a_picture, one_image_explained
from torch_debugger.pictures.token_grids import image_among
from torch_debugger.system.errors import UsageError

_WHOLE = re.compile(r" \d+")
_MOST_NUMBERS = 64 << 20  # features of all examples together: 256 MiB


@dataclass(frozen=True)
class Collected:
    layer: str
    features: NDArray[np.float32]  # [N, D]
    labels: list[Any] | None
    thumbnails: NDArray[np.float32] | None  # [N, C, H, W] from 0 to 1
    how: str  # "mean over 49 places", or empty
    is_cut: bool  # more would not have fit into memory


def collected(model: nn.Module, data: Any, layer: Layer, most: int) -> Collected:
    known, outputs = LastKnown(), list[tuple[torch.Tensor, LastKnown]]()

    def note(call: str, module: nn.Module, arguments: Any, output: Any) -> None:
        known.see(module, output)

    def keep(call: str, module: nn.Module, arguments: Any, output: Any) -> None:
        """A layer that is called several times gives its last; of a tuple, as of an LSTM, its first tensor."""
        tensor = first_tensor(output)
        if tensor is not None:
            outputs[:] = [(tensor, replace(known))]

    features: list[torch.Tensor] = []
    labels: list[Any] | None = []
    thumbnails, count, how, is_full = Thumbnails(), 0, "", False
    with for_a_picture(model) as inner, loader_untouched(data), one_image_explained(data):
        from rich.console import Console  # draws a random number while it is imported: here it is put back
        from rich.progress import track

        path, module = one_layer(inner, layer)
        console = Console(stderr=True)
        shown = console.is_terminal and not console.is_dumb_terminal
        telling = {name: each for name, each in inner.named_modules() if has_known_channels(each)}
        with listening(telling, note), listening({path: module}, keep):
            found = track(
                batches(inner, data), f"features of {path}", console=console, transient=True, disable=not shown
            )
            for batch in found:
                outputs.clear()
                known.axis = known.size = 0
                call(inner, batch.inputs)
                if not outputs:
                    raise UsageError(f"layer `{path}` was not called, or gave no tensor, for this input.")
                rows, way = pooled(outputs[0][0], batch.examples, module, outputs[0][1], batch.attended)
                if features and rows.shape[1] != features[0].shape[1]:
                    raise UsageError(
                        f"the layer gave {features[0].shape[1]} features for one batch and {rows.shape[1]} "
                        "for another: choose a layer that gives the same for all."
                    )
                features.append(rows.cpu())
                thumbnails.add(batch.inputs)
                how = way if how in ("", way) else _WHOLE.sub(" all", way)  # batches of several lengths
                labels = None if labels is None or batch.labels is None else labels + batch.labels
                count += len(rows)
                is_full = sum(each.numel() for each in features) > _MOST_NUMBERS
                if count >= most or is_full:
                    break
    if not features:
        raise UsageError("there was no batch: the loader is empty, or it was an iterator that is used up.")
    kept = torch.cat(features)[:most].numpy()
    small = thumbnails.finished(len(kept))
    return Collected(path, kept, None if labels is None else labels[:most], small, how, count < most and is_full)


# What features are worth, as numbers: the dimensions they use, whether they collapsed, how classes part.
Matrix = NDArray[np.floating[Any]]
_MOST_SIDE = 2_500  # of a matrix whose eigenvalues are taken: a few seconds
_STILL = 1e-6  # of the largest value: a feature that varies less is constant


@dataclass(frozen=True)
class EmbeddingNumbers:
    points: int
    features: int
    effective_dimensions: float  # participation ratio: all alike give `features`, one alone gives 1
    dimensions_for_90: int  # principal components that hold 90 % of the variance
    mean_cosine: float  # of two different points; near 1 they all point the same way
    dead_share: float  # features that are the same for all points
    std: Matrix  # of each feature
    separation: float | None  # of classes, from -1 to 1; None without labels

    def __str__(self) -> str:
        parted = "" if self.separation is None else f", separation of classes {self.separation:.2f}"
        return (
            f"{self.points:,} points of {self.features:,} features: {self.effective_dimensions:.1f} effective "
            f"dimensions, 90 % of the variance in {self.dimensions_for_90}\n"
            f"mean cosine of two points {self.mean_cosine:.2f}, {self.dead_share:.0%} of the features are "
            f"constant{parted}"
        )


def measured(features: Matrix, classes: Sequence[Any] | None) -> EmbeddingNumbers:
    values = features.astype(np.float64)
    lengths = np.linalg.norm(values, axis=1, keepdims=True)
    units = values / np.where(lengths > 0, lengths, 1)
    # Over all pairs at once: the square of a sum of unit vectors holds every product of two.
    cosines = float((units.sum(axis=0) ** 2).sum() - (units**2).sum())
    pairs = max(1, len(units) * (len(units) - 1))
    centred = values - values.mean(axis=0)
    std = centred.std(axis=0)
    # Along the principal components, the greatest first.
    rows = centred[:: -(-min(centred.shape) // _MOST_SIDE)] if min(centred.shape) > _MOST_SIDE else centred
    smaller = rows @ rows.T if rows.shape[0] < rows.shape[1] else rows.T @ rows
    variances = np.linalg.eigvalsh(smaller)[::-1].clip(0)
    total, squares = float(variances.sum()), float((variances**2).sum())
    return EmbeddingNumbers(
        points=len(values),
        features=values.shape[1],
        effective_dimensions=total**2 / squares if squares > 0 else 0.0,
        dimensions_for_90=int(np.searchsorted(np.cumsum(variances), 0.9 * total) + 1) if total > 0 else 0,
        mean_cosine=cosines / pairs,
        dead_share=float((std <= _STILL * np.abs(values).max(initial=0)).mean()),
        std=std,
        separation=None if classes is None else separation(values, classes),
    )


def separation(values: Matrix, classes: Sequence[Any]) -> float | None:
    """A silhouette by class means: is a point nearer to the rest of its class than to the next one?

    (b - a) / max(a, b) on average, with a the distance to the mean of the others of its class and b to the
    nearest mean of another class. None where fewer than two classes have two points.
    """
    _, places, counts = np.unique(np.asarray(classes).astype(str), return_inverse=True, return_counts=True)
    if (counts > 1).sum() < 2:
        return None
    means = np.stack([values[places == place].mean(axis=0) for place in range(len(counts))])
    means[counts < 2] = np.inf
    distances = np.stack([np.linalg.norm(values - mean, axis=1) for mean in means], axis=1)
    own = np.arange(len(values)), places
    several = counts[places] > 1
    with np.errstate(invalid="ignore", divide="ignore"):
        inside = distances[own] * counts[places] / (counts[places] - 1)  # without the point itself
    distances[own] = np.inf
    outside = distances.min(axis=1)
    scores = (outside - inside)[several] / np.maximum(np.maximum(outside, inside)[several], 1e-30)
    return float(scores.mean())


# One row of features for each example of what a layer gave: the mean over places or time.
def pooled(
    output: torch.Tensor,
    count: int,
    module: nn.Module,
    known: LastKnown,
    attended: torch.Tensor | None,
) -> tuple[torch.Tensor, str]:
    """[count, features] in float32, and how it was made."""
    tensor, sizes = output.detach(), tuple(output.shape) or (0,)
    time_first = getattr(module, "batch_first", True) is False and tensor.dim() == 3
    if tensor.dim() > 1 and sizes[1] == count and (time_first or sizes[0] != count):
        tensor = tensor.transpose(0, 1)
    elif sizes[0] != count and sizes[0] and sizes[0] % count == 0:  # windows or words of all examples in one row
        tensor = tensor.reshape(count, -1, *sizes[1:])
    elif sizes[0] != count:
        raise UsageError(
            f"the layer gave {list(output.shape)}, where no dimension counts the {count} examples of the batch."
        )
    tensor = tensor.float()
    if tensor.dim() <= 2:
        return tensor.reshape(count, -1), ""
    places_behind = known.channel_axis(tensor) == 1
    rows = tensor.flatten(2).transpose(1, 2) if places_behind else tensor.flatten(1, -2)
    if attended is not None and attended.shape == rows.shape[:2]:
        kept = attended.to(rows).unsqueeze(2)
        return (rows * kept).sum(1) / kept.sum(1).clamp(min=1), "mean over the tokens of the attention mask"
    return rows.mean(dim=1), f"mean over {rows.shape[1]} {'places' if places_behind else 'tokens'}"


# Images of the batches as small pictures, kept beside their features.
_SIDE = 32  # pixels
_OUTLIERS = 0.5  # percent at either end that may be clipped


class Thumbnails:
    def __init__(self) -> None:
        self._small: list[torch.Tensor] = []
        self._complete = True

    def add(self, inputs: Inputs) -> None:
        image = image_among(inputs)
        if image is None or (self._small and image.shape[1] != self._small[0].shape[1]):
            self._complete = False
        elif self._complete:
            height, width = image.shape[2:]
            share = min(1.0, _SIDE / max(height, width))
            size = max(1, round(height * share)), max(1, round(width * share))
            self._small.append(functional.interpolate(image.detach().float().cpu(), size, mode="area"))

    def finished(self, count: int) -> NDArray[np.float32] | None:
        """[N, C, H, W] from 0 to 1, all on one scale; None where not every example is an image."""
        if not self._complete or len({each.shape[1:] for each in self._small}) != 1:
            return None
        images = torch.cat(self._small)[:count].numpy()
        low, high = np.nanpercentile(images, [_OUTLIERS, 100 - _OUTLIERS])
        unit: NDArray[np.float32] = np.clip((images - low) / max(high - low, 1e-12), 0, 1).astype(np.float32)
        return np.nan_to_num(unit)
