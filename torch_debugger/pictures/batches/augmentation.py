"""The same samples with and without their transform, and what it changes from draw to draw."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray
from torch.utils.data import Subset

from torch_debugger.anatomy.randomness import keep_randomness
from torch_debugger.errors import UsageError
from torch_debugger.pictures.batches.drawing import shown_images
from torch_debugger.pictures.batches.parts import IMAGES, as_numbers, read_parts
from torch_debugger.pictures.batches.taking import evenly_spaced, is_dataset
from torch_debugger.pictures.canvas import ACCENT, INK
from torch_debugger.pictures.mosaic import Mosaic, Tile, mosaic_figure
from torch_debugger.pictures.remarked import RemarkedPicture
from torch_debugger.pictures.small_multiples import small_multiples

Array = NDArray[Any]
_ATTRIBUTES = ("transform", "transforms")  # torchvision's datasets have both


def show_augmentation(source: Any, *, draws: int, most: int) -> RemarkedPicture:
    dataset = getattr(source, "dataset", source) if not isinstance(source, Subset) else source
    if not is_dataset(dataset) or not hasattr(dataset, "__getitem__"):
        raise UsageError(
            f"augmented= draws samples from a dataset, or a loader of one, not from a {type(source).__name__}."
        )
    plain = without_transform(dataset)
    indices = evenly_spaced(len(dataset), max(1, most // 2))
    restore = keep_randomness([dataset, getattr(dataset, "transform", None)])
    try:
        drawn = [[_sample(dataset, index) for _ in range(draws)] for index in indices]
        bare = [_sample(plain, index) for index in indices] if plain is not None else []
    finally:
        restore()
    remarks = [*_remarks(drawn), *([] if bare else ["This dataset has no `.transform` to leave out."])]
    title = f"{len(indices)} samples, each drawn {draws} times"
    draw = _drawer(title, indices, bare, drawn, remarks)
    arrays = {
        f"sample {index}": np.stack(each) for index, each in zip(indices, drawn, strict=True) if _alike(each)
    }
    return RemarkedPicture(title, arrays, draw, remarks)


def without_transform(dataset: Any) -> Any:
    """A copy that leaves it out; None where there is none. Of a subset, that of the whole."""
    twin = copy.copy(dataset)
    if isinstance(dataset, Subset):
        whole = without_transform(dataset.dataset)
        if whole is None:
            return None
        twin.dataset = whole
        return twin
    held = [name for name in _ATTRIBUTES if getattr(dataset, name, None) is not None]
    for name in held:
        setattr(twin, name, None)
    return twin if held else None


def _sample(dataset: Any, index: int) -> Array:
    sample = dataset[index]
    if hasattr(sample, "keys"):
        return np.asarray(read_parts({name: _batched(value) for name, value in sample.items()}).inputs[0])
    return np.asarray(as_numbers(sample[0] if isinstance(sample, (tuple, list)) else sample))


def _batched(value: Any) -> Any:
    numbers = as_numbers(value)
    return numbers[None] if isinstance(numbers, np.ndarray) else [value]


def _alike(samples: list[Array]) -> bool:
    return len({each.shape for each in samples}) == 1


def _remarks(drawn: list[list[Array]]) -> list[str]:
    if len(drawn[0]) < 2:
        return []
    still = [all(np.array_equal(each[0], other) for other in each[1:]) for each in drawn]
    if all(still):
        return ["Nothing varies: all draws of a sample are equal. Is augmentation on, and its seed not fixed?"]
    if not all(_alike(each) for each in drawn):
        return ["The draws of a sample differ in size: cropped to one before they can be a batch."]
    spread = np.mean([np.stack(each).astype(np.float64).std(axis=0).mean() for each in drawn])
    reach = max(float(np.ptp(np.stack(each).astype(np.float64))) for each in drawn)
    return [f"From draw to draw a value varies by {spread:.3g} (deviation), of a range of {reach:.3g}."]


def _drawer(
    title: str, indices: list[int], bare: list[Array], drawn: list[list[Array]], remarks: list[str]
) -> Callable[[], Figure]:
    if _looks_like_image(drawn[0][0]):
        return lambda: _images(title, indices, bare, drawn, remarks)
    return lambda: _waves(title, indices, bare, drawn, remarks)


def _looks_like_image(sample: Array) -> bool:
    return read_parts(sample[None]).kind == IMAGES


def _images(
    title: str, indices: list[int], bare: list[Array], drawn: list[list[Array]], remarks: list[str]
) -> Figure:
    """One row a sample: without its transform, then the draws."""
    tiles: list[Tile] = []
    everything = [sample for samples in drawn for sample in samples]
    images, said = shown_images(np.stack(everything) if _alike(everything) else everything, len(everything))
    draws = len(drawn[0])
    for place, index in enumerate(indices):
        if bare:
            tiles.append(Tile(shown_images([bare[place]], 1)[0][0], f"{index}: without"))
        own = images[place * draws : (place + 1) * draws]
        tiles += [Tile(image, f"{index}: draw {number}") for number, image in enumerate(own, start=1)]
    across = draws + bool(bare)
    return mosaic_figure(title, [Mosaic(tiles, columns=across, tile_in=1.15)], [*remarks, *said])


def _waves(
    title: str, indices: list[int], bare: list[Array], drawn: list[list[Array]], remarks: list[str]
) -> Figure:
    """All draws of a sample over each other, and what it is without them in front."""

    def draw(axes: Axes, place: int) -> None:
        for sample in drawn[place]:
            axes.plot(sample.reshape(-1), color=ACCENT, alpha=0.5, linewidth=0.8)
        if bare:
            axes.plot(bare[place].reshape(-1), color=INK, linewidth=1.0)

    words = [*remarks, "Blue: the draws." + (" Black: without the transform." if bare else "")]
    names = [f"sample {index}" for index in indices]
    return small_multiples(title, names, draw, words, columns=3, size_in=(2.2, 0.8))
