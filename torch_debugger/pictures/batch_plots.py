"""What a model is given, looked at: one batch of a loader, the samples of a dataset."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib
import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray
from torch.utils.data import DataLoader, Subset

from torch_debugger.model.reruns import keep_randomness
from torch_debugger.pictures.batch_contents import (
    IMAGES,
    SERIES,
    TABLE,
    TEXTS,
    TOKENS,
    Decode,
    Names,
    Parts,
    are_many,
    as_numbers,
    channels_last,
    describe_inputs,
    describe_labels,
    displayable,
    drawable,
    label_texts,
    read_parts,
    suspicious_things,
    token_texts,
)
from torch_debugger.pictures.dataloader_batches import evenly_spaced, is_dataset, take_batch
from torch_debugger.pictures.figures import (
    ACCENT,
    CYCLE,
    INK,
    MAGNITUDE,
    SMALL,
    Floats,
    height_in,
    new_figure,
    number,
    paint,
    plain_axes,
    put_below,
    shortened,
    titled_figure,
    wrapped,
)
from torch_debugger.pictures.image_grids import Mosaic, Tile, mosaic_figure, small_multiples
from torch_debugger.pictures.picture import Picture
from torch_debugger.system.errors import UsageError


# The first thing to do with a training that does not learn: look at what it is given.
def show_batch(
    source: Any,
    *,
    labels: Any = None,
    most: int = 16,
    augmented: bool | int | None = None,
    decode: Decode | None = None,
    kind: str | None = None,
) -> Picture:
    """What a model is given: images, tokens, series or a table, with labels, ranges, and what looks odd.

        show_batch(train_loader).save("batch.png")
        show_batch((images, targets), labels=["cat", "dog"])       # names of the classes
        show_batch(loader, decode=tokenizer)                       # words instead of ids
        show_batch(dataset, augmented=True)                        # with and without its transform

    A loader gives its first batch, as the training will get it, and is not consumed: random numbers,
    samplers and workers stay as they are. Of a dataset some samples are drawn, evenly spaced. `labels` are
    names of the classes, or the labels themselves as a tensor. `decode` is a tokenizer, a function or a
    vocabulary; `kind` says what a batch is (images, tokens, texts, series, table) where its shape does not.
    With `augmented` each sample is drawn several times, or as often as it says, beside what it is without
    the dataset's transform. `.remarks` has the sentences below the picture.
    """
    if most < 1:
        raise UsageError(f"most= is the number of samples to show, at least 1, not {most}.")
    if augmented:
        return show_augmentation(source, draws=4 if augmented is True else int(augmented), most=most)
    parts = read_parts(take_batch(source, most), kind)
    names: Names = None
    if isinstance(labels, (torch.Tensor, np.ndarray)):
        parts = Parts(parts.kind, parts.inputs, as_numbers(labels), parts.dtype, parts.columns)
    else:
        names = labels
    shown, count = min(most, len(parts)), len(parts)
    if not count:
        raise UsageError("there is nothing to show: the batch is empty.")
    said = [describe_inputs(parts)]
    if parts.labels is not None:
        said.append(describe_labels(parts.labels, names))
    suspicious = suspicious_things(parts, in_order=isinstance(source, DataLoader) or not is_dataset(source))
    said += [f"Odd: {sentence}" for sentence in suspicious] or ["Nothing looks odd."]
    samples = f"{shown} of {count} samples" if shown < count else f"{count} sample{'s'[: count != 1]}"
    title = f"{_title(source, parts)}: {samples}"
    texts = []
    if parts.kind == TEXTS:
        texts = [drawable(text) for text in parts.inputs[:shown]]
    elif parts.kind == TOKENS:
        texts = token_texts(parts.inputs[:shown], decode)
    written = label_texts(parts.labels, names, shown)
    arrays = {"inputs": parts.inputs} if isinstance(parts.inputs, np.ndarray) else {}
    arrays |= {"labels": parts.labels} if isinstance(parts.labels, np.ndarray) else {}
    return Picture(title, arrays, lambda: draw_batch(title, parts, written, texts, said), said)


def _title(source: Any, parts: Parts) -> str:
    if isinstance(source, DataLoader):
        return f"First batch of the loader, {parts.kind}"
    if is_dataset(source):
        return f"Dataset of {len(source):,}, {parts.kind}" if hasattr(source, "__len__") else "Dataset"
    return f"Batch, {parts.kind}"


# How a batch is drawn, by its kind, with what there is to say of it below.
_RED = (0.82, 0.29, 0.36)
_TILE_IN = 1.25
_MOST_LINES = 6  # channels of a series


def draw_batch(title: str, parts: Parts, labels: Sequence[str], texts: Sequence[str], words: Sequence[str]) -> Figure:
    """`labels`, and `texts` of words or ids, are those of the samples to show."""
    if parts.kind == IMAGES:
        images, said = shown_images(parts.inputs, len(labels))
        marked = [_with_target(image, parts.labels, place) for place, image in enumerate(images)]
        tiles = [Tile(image, label) for image, label in zip(marked, numbered(labels), strict=True)]
        wide = _TILE_IN * (1.8 if marked[0].shape[1] > images[0].shape[1] else 1.0)  # a mask stands beside it
        return mosaic_figure(title, [Mosaic(tiles, tile_in=wide)], [*words, *said])
    if parts.kind == SERIES:
        return _series(title, parts.inputs, labels, words)
    if parts.kind == TABLE:
        return _table(title, parts, labels, words)
    return _lines(title, labels, texts, words)


def numbered(labels: Sequence[str]) -> list[str]:
    """0: cat"""
    return [f"{place}: {label}" if label else str(place) for place, label in enumerate(labels)]


def shown_images(values: Any, count: int) -> tuple[list[Floats], list[str]]:
    """The first ones, and what was done so that they can be seen; all share one scale if they have one size."""
    if isinstance(values, list):
        pairs = [shown_images(np.asarray(each)[None], 1) for each in values[:count]]
        return [images[0] for images, _ in pairs], sorted({each for _, said in pairs for each in said})
    images, left_out = channels_last(values)
    shown, done = displayable(images[:count] if len(images) > count else images)
    return list(shown), [*left_out, *done]


def _with_target(image: Floats, labels: Any, place: int) -> Floats:
    """Boxes drawn into it, or a mask of its size beside it."""
    if not are_many(labels) or place >= len(labels):
        return image
    target = labels[place]
    if isinstance(target, Mapping):
        boxes = target.get("boxes")
        if boxes is None or np.ndim(boxes) != 2:
            return image
        boxed: Floats = image.copy()
        height, width = image.shape[:2]
        # [left, top, right, bottom] in pixels, as torchvision has them
        for left, top, right, bottom in np.asarray(boxes)[:, :4].round().astype(int):
            x, y = np.clip([left, right], 0, width - 1), np.clip([top, bottom], 0, height - 1)
            boxed[y[0] : y[1] + 1, x] = _RED
            boxed[y, x[0] : x[1] + 1] = _RED
        return boxed
    mask = np.squeeze(np.asarray(target)) if not isinstance(target, str) else np.zeros(())
    if mask.shape != image.shape[:2] or mask.dtype.kind not in "iubf":
        return image
    classes = matplotlib.colormaps["tab20"](np.nan_to_num(mask).astype(int) % 20)[..., :3]
    both: Floats = np.concatenate([image, np.ones((len(image), 2, 3)), classes], axis=1)
    return both


def _series(title: str, values: Any, labels: Sequence[str], words: Sequence[str]) -> Figure:
    channels = values[:, None] if values.ndim == 2 else values
    if channels.shape[1] > channels.shape[2]:  # [N, time, channel]
        channels = channels.transpose(0, 2, 1)
    count = min(_MOST_LINES, channels.shape[1])

    def draw(axes: Axes, place: int) -> None:
        for channel in range(count):
            axes.plot(channels[place, channel], color=CYCLE[channel], linewidth=0.9)
        low, high = axes.get_ylim()
        axes.set_yticks([low, high], [number(low), number(high)], fontsize=6)
        axes.tick_params(axis="y", direction="in", pad=-2)
        for tick, edge in zip(axes.get_yticklabels(), ("bottom", "top"), strict=True):
            tick.set(horizontalalignment="left", verticalalignment=edge)

    more = [f"The first {count} of {channels.shape[1]} channels."] if count < channels.shape[1] else []
    words = [*words, *more, "Values over time, each sample over its own range."]
    return small_multiples(title, numbered(labels), draw, words, columns=4, size_in=(2.0, 0.8))


def _table(title: str, parts: Parts, labels: Sequence[str], words: Sequence[str]) -> Figure:
    """Each column over its own range, which stands below it."""
    shown: Floats = parts.inputs[: len(labels)].astype(np.float64)
    whole: Floats = np.where(np.isfinite(parts.inputs), parts.inputs, np.nan).astype(np.float64)
    low, high = np.nanmin(whole, axis=0), np.nanmax(whole, axis=0)
    rows, columns = shown.shape
    figure = titled_figure(max(6.0, min(15.0, 0.32 * columns + 1.6)), 0.22 * rows + 2.4, title)
    down = "sample: label" if any(labels) else "sample"
    axes = plain_axes(figure.add_subplot(), "column, and its range in the batch", down)
    unit = (shown - low) / np.where(high > low, high - low, 1.0)
    axes.imshow(paint(unit, MAGNITUDE, 0.0, 1.0), aspect="auto", interpolation="nearest")
    every = -(-columns // 45)
    names = parts.columns or tuple(str(place) for place in range(columns))
    ticks = [
        f"{shortened(names[place], 14)}  {number(low[place])}…{number(high[place])}"
        for place in range(0, columns, every)
    ]
    axes.set_xticks(range(0, columns, every), ticks, rotation=90, fontsize=7)
    axes.set_yticks(range(rows), numbered(labels), fontsize=7)
    put_below(figure, [*words, "Each column from its least (dark) to its greatest value (bright); NaN in magenta."])
    return figure


def _lines(title: str, labels: Sequence[str], texts: Sequence[str], words: Sequence[str]) -> Figure:
    """One line of text a sample, its label in front."""
    width = 9.0
    below = wrapped(words, width - 0.2)
    total = 0.45 + 0.2 * len(texts) + 0.15 + height_in(below)
    figure = new_figure(width, total, title)
    figure.set_layout_engine("none")
    names = numbered(labels)
    left = 0.1 + 0.075 * max(map(len, names))
    for place, (label, text) in enumerate(zip(names, texts, strict=True)):
        height = 1 - (0.45 + 0.2 * place) / total
        room = int((width - left - 0.4) / 0.067)
        shown = text if len(text) <= room else f"{text[: room - 1]}…"
        figure.text(0.1 / width, height, label, size=SMALL, color=CYCLE[0], va="top", parse_math=False)
        figure.text(
            (left + 0.15) / width, height, shown, size=SMALL, color=INK, va="top", parse_math=False,
            family="monospace",
        )  # fmt: skip
    figure.text(0.1 / width, 0.06 / total, "\n".join(below), size=SMALL, color=INK, va="bottom", parse_math=False)
    return figure


# The same samples with and without their transform, and what it changes from draw to draw.
Array = NDArray[Any]
_ATTRIBUTES = ("transform", "transforms")  # torchvision's datasets have both


def show_augmentation(source: Any, *, draws: int, most: int) -> Picture:
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
    draw = _images if read_parts(drawn[0][0][None]).kind == IMAGES else _waves
    arrays = {f"sample {index}": np.stack(each) for index, each in zip(indices, drawn, strict=True) if _alike(each)}
    return Picture(title, arrays, lambda: draw(title, indices, bare, drawn, remarks), remarks)


def without_transform(dataset: Any) -> Any:
    """A copy that leaves it out; None where there is none. Of a subset, that of the whole."""
    dataset_copy = copy.copy(dataset)
    if isinstance(dataset, Subset):
        whole = without_transform(dataset.dataset)
        if whole is None:
            return None
        dataset_copy.dataset = whole
        return dataset_copy
    names = [name for name in _ATTRIBUTES if getattr(dataset, name, None) is not None]
    for name in names:
        setattr(dataset_copy, name, None)
    return dataset_copy if names else None


def _sample(dataset: Any, index: int) -> Array:
    sample = dataset[index]
    if hasattr(sample, "keys"):
        arrays = {name: as_numbers(value) for name, value in sample.items()}
        batch = {name: each[None] if isinstance(each, np.ndarray) else [sample[name]] for name, each in arrays.items()}
        return np.asarray(read_parts(batch).inputs[0])
    return np.asarray(as_numbers(sample[0] if isinstance(sample, (tuple, list)) else sample))


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


def _images(title: str, indices: list[int], bare: list[Array], drawn: list[list[Array]], remarks: list[str]) -> Figure:
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


def _waves(title: str, indices: list[int], bare: list[Array], drawn: list[list[Array]], remarks: list[str]) -> Figure:
    """All draws of a sample over each other, and what it is without them in front."""

    def draw(axes: Axes, place: int) -> None:
        for sample in drawn[place]:
            axes.plot(sample.reshape(-1), color=ACCENT, alpha=0.5, linewidth=0.8)
        if bare:
            axes.plot(bare[place].reshape(-1), color=INK, linewidth=1.0)

    words = [*remarks, "Blue: the draws." + (" Black: without the transform." if bare else "")]
    names = [f"sample {index}" for index in indices]
    return small_multiples(title, names, draw, words, columns=3, size_in=(2.2, 0.8))
