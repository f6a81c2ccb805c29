"""Features of a layer over all batches: no gradients, bounded memory, and the model as it was."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader

from torch_debugger.model.hooks import listening
from torch_debugger.model.layers import one_layer
from torch_debugger.model.nested_tensors import exchanged, first_tensor
from torch_debugger.pictures.dataloader_batches import Batch, batches
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
    with for_a_picture(model) as inner, _loader_as_it_was(data), one_image_explained(data):
        path, module = one_layer(inner, layer)
        ear = _Ear(path, module)
        heard = _Heard()
        telling = {name: each for name, each in inner.named_modules() if has_known_channels(each)}
        with listening(telling, ear.note), listening({path: module}, ear.hear):
            for batch in _in_progress(batches(inner, data), path):
                batch = _on_device(batch, inner)
                heard.add(batch, *ear.features(inner, batch))
                if heard.count >= most or heard.is_full():
                    break
    return heard.collected(path, most)


class _Ear:
    def __init__(self, path: str, module: nn.Module) -> None:
        self._path, self._module = path, module
        self._last_known = LastKnown()
        self._given: tuple[torch.Tensor, LastKnown] | None = None

    def note(self, call: str, module: nn.Module, given: Any, output: Any) -> None:
        self._last_known.see(module, output)

    def hear(self, call: str, module: nn.Module, given: Any, output: Any) -> None:
        """A layer that is called several times gives its last; of a tuple, as of an LSTM, its first tensor."""
        tensor = first_tensor(output)
        if tensor is not None:
            self._given = (tensor, replace(self._last_known))

    def features(self, model: nn.Module, batch: Batch) -> tuple[torch.Tensor, str]:
        self._given, self._last_known = None, LastKnown()
        call(model, batch.inputs)
        if self._given is None:
            raise UsageError(f"layer `{self._path}` was not called, or gave no tensor, for this input.")
        return pooled(self._given[0], batch.examples, self._module, self._given[1], batch.attended)


class _Heard:
    """What was collected so far, in main memory."""

    def __init__(self) -> None:
        self.count = 0
        self._features: list[torch.Tensor] = []
        self._labels: list[Any] | None = []
        self._thumbnails = Thumbnails()
        self._how = ""

    def add(self, batch: Batch, features: torch.Tensor, how: str) -> None:
        if self._features and features.shape[1] != self._features[0].shape[1]:
            raise UsageError(
                f"the layer gave {self._features[0].shape[1]} features for one batch and {features.shape[1]} "
                "for another: choose a layer that gives the same for all."
            )
        self.count += len(features)
        self._features.append(features.cpu())
        self._thumbnails.add(batch.inputs)
        self._how = how if self._how in ("", how) else _WHOLE.sub(" all", how)  # batches of several lengths
        if batch.labels is None or self._labels is None:
            self._labels = None
        else:
            self._labels += batch.labels

    def collected(self, path: str, most: int) -> Collected:
        if not self._features:
            raise UsageError("there was no batch: the loader is empty, or it was an iterator that is used up.")
        features = torch.cat(self._features)[:most].numpy()
        labels = None if self._labels is None else self._labels[:most]
        thumbnails = self._thumbnails.finished(len(features))
        return Collected(path, features, labels, thumbnails, self._how, len(features) < most and self.is_full())

    def is_full(self) -> bool:
        return sum(each.numel() for each in self._features) > _MOST_NUMBERS


def _in_progress(found: Iterator[Batch], path: str) -> Iterable[Batch]:
    from rich.console import Console  # draws a random number while it is imported: here it is put back
    from rich.progress import track

    console = Console(stderr=True)
    shown = console.is_terminal and not console.is_dumb_terminal
    return track(found, f"features of {path}", console=console, transient=True, disable=not shown)


def _on_device(batch: Batch, model: nn.Module) -> Batch:
    """As the loop of a training moves what its loader gives."""
    weight = next(model.parameters(), None)
    if weight is None or weight.device.type == "meta":
        return batch
    return Batch(*exchanged(tuple(batch), lambda tensor: tensor.to(weight.device)))


@contextlib.contextmanager
def _loader_as_it_was(data: Any) -> Iterator[None]:
    """A loader's own generator, which decides the order of the next epoch, is put back."""
    holders = [data, data.sampler] if isinstance(data, DataLoader) else []
    generators = [getattr(holder, "generator", None) for holder in holders]
    states = [(each, each.get_state()) for each in generators if isinstance(each, torch.Generator)]
    try:
        yield
    finally:
        for generator, state in states:
            generator.set_state(state)


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
    centred = values - values.mean(axis=0)
    std = centred.std(axis=0)
    # Along the principal components, the greatest first.
    rows = centred[:: -(-min(centred.shape) // _MOST_SIDE)] if min(centred.shape) > _MOST_SIDE else centred
    smaller = rows @ rows.T if rows.shape[0] < rows.shape[1] else rows.T @ rows
    variances = np.linalg.eigvalsh(smaller)[::-1].clip(0)
    return EmbeddingNumbers(
        points=len(values),
        features=values.shape[1],
        effective_dimensions=_participation(variances),
        dimensions_for_90=_enough(variances, 0.9),
        mean_cosine=_mean_cosine(values),
        dead_share=float((std <= _STILL * np.abs(values).max(initial=0)).mean()),
        std=std,
        separation=None if classes is None else separation(values, classes),
    )


def _participation(variances: Matrix) -> float:
    squares = float((variances**2).sum())
    return float(variances.sum()) ** 2 / squares if squares > 0 else 0.0


def _enough(variances: Matrix, share: float) -> int:
    total = variances.sum()
    return int(np.searchsorted(np.cumsum(variances), share * total) + 1) if total > 0 else 0


def _mean_cosine(values: Matrix) -> float:
    """Over all pairs at once: the square of a sum of unit vectors holds every product of two."""
    lengths = np.linalg.norm(values, axis=1, keepdims=True)
    units = values / np.where(lengths > 0, lengths, 1)
    count = len(units)
    return float(((units.sum(axis=0) ** 2).sum() - (units**2).sum()) / max(1, count * (count - 1)))


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
    tensor = _batch_in_front(output.detach(), count, module).float()
    if tensor.dim() <= 2:
        return tensor.reshape(count, -1), ""
    places_behind = known.channel_axis(tensor) == 1
    rows = tensor.flatten(2).transpose(1, 2) if places_behind else tensor.flatten(1, -2)
    if attended is not None and attended.shape == rows.shape[:2]:
        kept = attended.to(rows).unsqueeze(2)
        return (rows * kept).sum(1) / kept.sum(1).clamp(min=1), "mean over the tokens of the attention mask"
    return rows.mean(dim=1), f"mean over {rows.shape[1]} {'places' if places_behind else 'tokens'}"


def _batch_in_front(tensor: torch.Tensor, count: int, module: nn.Module) -> torch.Tensor:
    sizes = tuple(tensor.shape) or (0,)
    time_first = getattr(module, "batch_first", True) is False and tensor.dim() == 3
    if tensor.dim() > 1 and sizes[1] == count and (time_first or sizes[0] != count):
        return tensor.transpose(0, 1)
    if sizes[0] == count:
        return tensor
    if sizes[0] and sizes[0] % count == 0:  # windows or words of all examples in one row
        return tensor.reshape(count, -1, *sizes[1:])
    raise UsageError(
        f"the layer gave {list(tensor.shape)}, where no dimension counts the {count} examples of the batch."
    )


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
