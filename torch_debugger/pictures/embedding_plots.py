"""Features of many examples by layer: collected over a loader, measured, and drawn as points."""

from __future__ import annotations

import importlib
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import matplotlib
import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.offsetbox import AnnotationBbox, OffsetImage
from numpy.typing import NDArray
from torch import nn

from torch_debugger.pictures.embedding_features import Collected, EmbeddingNumbers, collected, measured
from torch_debugger.pictures.figures import CYCLE, INK, MAGNITUDE, PALE, new_figure, plain_axes
from torch_debugger.pictures.model_runs import Layer
from torch_debugger.pictures.picture import Picture
from torch_debugger.system.errors import UsageError

# Where examples lie in the features of a layer.
_FEWEST = 3


@dataclass(frozen=True)
class Neighbour:
    index: int
    similarity: float  # cosine
    label: Any


class EmbeddingPicture(Picture):
    """Points, what they were made from, and what can be said about them.

    `features` is [N, D], `points` [N, 2], `labels` a list or None, `thumbnails` [N, C, H, W] or None,
    `left_out` how many examples had features that are not finite.
    """

    features: NDArray[np.float32]
    points: NDArray[np.float64]
    labels: list[Any] | None
    thumbnails: NDArray[np.float32] | None
    numbers: EmbeddingNumbers
    left_out: int

    def neighbours(self, index: int, k: int = 5) -> list[Neighbour]:
        """The k points most like this one by the cosine of their features, the nearest first."""
        count = len(self.features)
        if not -count <= index < count:
            raise UsageError(f"there is no point {index}: there are {count}, counted from 0.")
        lengths = np.linalg.norm(self.features, axis=1)
        units = self.features / np.where(lengths > 0, lengths, 1)[:, None]
        alike = units @ units[index]
        order = [int(each) for each in np.argsort(-alike, kind="stable") if each != index % count][:k]
        labels = self.labels or [None] * count
        return [Neighbour(each, float(alike[each]), labels[each]) for each in order]

    def log(self, writer: Any = None, tag: str | None = None, step: int | None = None) -> None:
        """The drawing as an image, and all features with labels and thumbnails for TensorBoard's projector (to
        a writer only)."""
        super().log(writer, tag, step)
        if writer is None:
            return
        pictures = None if self.thumbnails is None else torch.from_numpy(self.thumbnails)
        writer.add_embedding(
            torch.from_numpy(self.features), metadata=self.labels, label_img=pictures, global_step=step,
            tag=tag or self.title,
        )  # fmt: skip


def embeddings(
    model: nn.Module,
    data: Any,
    layer: Layer,
    *,
    labels: Sequence[Any] | None = None,
    method: str = "pca",
    most: int = 2000,
) -> EmbeddingPicture:
    """The features that a layer gives for many examples, as points, with numbers about them.

        seen = pictures.embeddings(model, loader, "encoder", method="tsne")
        seen.numbers.effective_dimensions, seen.numbers.mean_cosine    # has it collapsed?
        seen.neighbours(17, k=5)                                       # which examples are like number 17
        seen.log(writer, "encoder", step)                              # TensorBoard's projector

    `data` is a loader, a dataset, or inputs given by hand. Batches may be tensors, tuples such as (inputs,
    labels) or dictionaries; labels are found in them, unless given: one for each example, or the names of the
    classes. The model runs without gradients, in evaluation mode,
    and is left as it was. Features over places, time or tokens are averaged, and the title says so. "pca" is
    our own; "tsne" needs openTSNE or scikit-learn, "umap" umap-learn. At most `most` examples are taken.
    """
    method = method.lower().replace("-", "")  # also t-SNE
    if method not in METHODS:
        raise UsageError(f"method is one of {', '.join(map(repr, METHODS))}, but {method!r} came.")
    if most < _FEWEST:
        raise UsageError(f"an embedding needs at least {_FEWEST} examples, but most={most} came.")
    found = collected(model, data, layer, most)
    count = len(found.features)
    names = found.labels
    if labels is not None:
        names = labels.tolist() if isinstance(labels, (torch.Tensor, np.ndarray)) else list(labels)
    if names is not None and len(names) != count:  # the names of the classes that the batches have as numbers
        classes = found.labels or []
        if not classes or not all(isinstance(each, int) and 0 <= each < len(names) for each in classes):
            raise UsageError(
                f"there are {len(names)} labels for {count} examples: give one for each, or the names of all classes "
                "that the batches have as numbers."
            )
        names = [names[each] for each in classes]
    finite: NDArray[np.bool_] = np.asarray(np.isfinite(found.features).all(axis=1))
    if finite.sum() < _FEWEST:
        raise UsageError(
            f"an embedding needs at least {_FEWEST} examples, but of {count} only {finite.sum()} have "
            f"features in `{found.layer}` that are finite."
        )
    names = None if names is None else [each for each, kept in zip(names, finite, strict=True) if kept]
    return _picture(found, finite, names, projected(found.features[finite], method), method)


def _picture(
    found: Collected, finite: NDArray[Any], labels: list[Any] | None, projection: Projection, method: str
) -> EmbeddingPicture:
    features = found.features[finite]
    thumbnails = None if found.thumbnails is None else found.thumbnails[finite]
    numbers = measured(features, None if labels is None or are_numbers(labels) else labels)
    how = f" ({found.how})" if found.how else ""
    title = f"Features of {found.layer or 'the model'}{how}, {METHODS[method]}"
    left_out = int((~finite).sum())
    remarks = [f"{left_out:,} not finite and left out"] if left_out else []
    remarks += ["more examples would not fit into memory"] if found.is_cut else []
    caption = "\n".join([str(numbers), *remarks])
    picture = EmbeddingPicture(
        title, {"features": features, "points": projection.points},
        lambda: drawn_points(title, caption, projection, labels, thumbnails),
    )  # fmt: skip
    picture.features, picture.points, picture.labels = features, projection.points, labels
    picture.thumbnails, picture.numbers, picture.left_out = thumbnails, numbers, left_out
    return picture


# Points of an embedding as a drawing: colours for classes or numbers, small pictures where they are few.
_MOST_PICTURES = 120
_MOST_CLASSES = 20
_LONGEST = 24
_FONT = 8


def are_numbers(labels: Sequence[Any]) -> bool:
    """Something measured, not a class."""
    return all(isinstance(each, float) for each in labels) and len(set(labels)) > _MOST_CLASSES


def drawn_points(
    title: str,
    caption: str,
    projection: Projection,
    labels: Sequence[Any] | None,
    thumbnails: NDArray[Any] | None,
) -> Figure:
    figure = new_figure(7.6, 6.2, title)
    axes = plain_axes(figure.add_subplot(), *projection.axes)
    axes.set_title(caption, fontsize=_FONT, color=INK, loc="left")
    points = projection.points
    if labels is None:
        colours = [CYCLE[0]] * len(points)
        _dots(axes, points, colours)
    elif are_numbers(labels):
        values = np.asarray(labels, dtype=np.float64)
        low, high = np.nanmin(values), np.nanmax(values)
        colours = list(matplotlib.colormaps[MAGNITUDE]((values - low) / max(high - low, 1e-30)))
        _dots(axes, points, colours)
        scale = matplotlib.cm.ScalarMappable(matplotlib.colors.Normalize(low, high), MAGNITUDE)
        bar = figure.colorbar(scale, ax=axes, fraction=0.04, pad=0.02)
        bar.set_label("label", fontsize=_FONT, color=INK)
        bar.ax.tick_params(labelsize=_FONT, colors=INK, length=2)
    else:
        colours = _class_colours(axes, points, labels)
    if thumbnails is not None and len(points) <= _MOST_PICTURES:
        axes.margins(0.08)  # room for those at the edge
        for place, image, colour in zip(points, thumbnails, colours, strict=True):
            pixels = np.moveaxis(image, 0, -1)
            pixels = pixels.repeat(3, axis=2) if pixels.shape[2] == 1 else pixels
            shown = OffsetImage(pixels, zoom=22 / max(pixels.shape[:2]))
            edge = {"edgecolor": colour, "linewidth": 1.4}
            axes.add_artist(AnnotationBbox(shown, tuple(place), pad=0.08, bboxprops=edge))
    return figure


def _dots(axes: Axes, points: NDArray[Any], colours: Any) -> None:
    size = float(np.clip(20_000 / len(points), 6, 36))
    axes.scatter(points[:, 0], points[:, 1], s=size, c=colours, alpha=0.75, linewidths=0, rasterized=True)


def _class_colours(axes: Axes, points: NDArray[Any], labels: Sequence[Any]) -> list[Any]:
    counts = Counter(labels)
    named = [each for each, _ in counts.most_common(_MOST_CLASSES)]
    try:
        named = sorted(named)
    except TypeError:  # of several kinds
        named = sorted(named, key=str)
    colours_of_classes: Sequence[Any] = CYCLE
    if len(named) > len(CYCLE):
        colours_of_classes = matplotlib.colormaps["tab10" if len(named) <= 10 else "tab20"].colors  # type: ignore[attr-defined]
    palette = dict(zip(named, colours_of_classes, strict=False))
    colours = [palette.get(each, PALE) for each in labels]
    _dots(axes, points, colours)  # all at once: a class drawn last would hide the others
    for name in named:
        axes.scatter([], [], c=[palette[name]], label=f"{_short(name)} ({counts[name]:,})")
    if len(counts) > len(named):
        rest = len(labels) - sum(counts[name] for name in named)
        axes.scatter([], [], c=[PALE], label=f"{len(counts) - len(named)} others ({rest:,})")
    legend = axes.legend(
        loc="upper left", bbox_to_anchor=(1.01, 1), fontsize=_FONT, frameon=False, title="label (points)",
        title_fontsize=_FONT, labelcolor=INK, borderaxespad=0,
    )  # fmt: skip
    for written in legend.get_texts():
        written.set_parse_math(False)
    return colours


def _short(label: Any) -> str:
    """Cut in the middle: the ends of class names tell them apart."""
    text = " ".join(str(label).split()) or "(empty)"
    half = _LONGEST // 2
    return text if len(text) <= _LONGEST else f"{text[:half]}…{text[1 - half :]}"


# Points of two dimensions from features of many.
METHODS = {"pca": "principal components", "tsne": "t-SNE", "umap": "UMAP"}
_BEFORE = 50  # components that distances are taken in


class Projection(NamedTuple):
    points: NDArray[np.float64]  # [N, 2]
    axes: tuple[str, str]


def projected(features: NDArray[Any], method: str) -> Projection:
    if method == "pca":
        points, shares = principal_components(features, 2)
        names = [f"component {place} ({share:.0%} of the variance)" for place, share in enumerate(shares, 1)]
        return Projection(_two_columns(points), (names[0], names[1] if len(names) > 1 else ""))
    reduced = principal_components(features, _BEFORE).points
    count = len(reduced)
    perplexity = max(1.0, min(30.0, (count - 1) / 3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of one thread, which a fixed order of sums needs
        if method == "umap":
            library = _installed("umap")
            if not hasattr(library, "UMAP"):
                raise UsageError(
                    'method="umap" needs umap-learn: `pip install umap-learn`. method="pca" needs nothing.'
                )
            near, start = max(2, min(15, count - 1)), "spectral" if count > 10 else "random"
            points = library.UMAP(n_neighbors=near, random_state=0, init=start).fit_transform(reduced)
        elif (library := _installed("openTSNE")) is not None:
            points = library.TSNE(perplexity=perplexity, random_state=0, n_jobs=1).fit(reduced)
        elif (library := _installed("sklearn.manifold")) is not None:
            points = library.TSNE(perplexity=perplexity, random_state=0, init="pca").fit_transform(reduced)
        else:
            raise UsageError(
                'method="tsne" needs openTSNE or scikit-learn: `pip install openTSNE`. method="pca" needs neither.'
            )
    name = METHODS[method]
    return Projection(_two_columns(np.asarray(points)), (f"{name} 1", f"{name} 2"))


def _installed(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def _two_columns(points: NDArray[Any]) -> NDArray[np.float64]:
    missing = max(0, 2 - points.shape[1])
    return np.pad(points.astype(np.float64), ((0, 0), (0, missing)))


# Principal components, our own: by a singular value decomposition, of large matrices by a randomised one.
Matrix = NDArray[np.floating[Any]]
_LARGE = 1000  # rows and columns from which on the randomised one is quicker
_SPARE, _ROUNDS = 20, 7  # directions and power iterations of the randomised one


class Components(NamedTuple):
    points: Matrix  # [N, k]
    shares: Matrix  # [k], of the variance


def principal_components(features: Matrix, count: int) -> Components:
    """Always the same for the same features: the largest loading of each component is positive."""
    centred = features.astype(np.float64) - features.mean(axis=0, dtype=np.float64)
    count = min(count, *centred.shape)
    if min(centred.shape) < _LARGE:
        u, lengths, v = np.linalg.svd(centred, full_matrices=False)
    else:  # Halko, Martinsson and Tropp (2011); the random numbers are its own
        width = min(count + _SPARE, *centred.shape)
        basis = centred @ np.random.default_rng(0).standard_normal((centred.shape[1], width))
        for _ in range(_ROUNDS):
            basis = centred @ (centred.T @ np.linalg.qr(basis)[0])
        basis = np.linalg.qr(basis)[0]
        u, lengths, v = np.linalg.svd(basis.T @ centred, full_matrices=False)
        u = basis @ u
    signs = np.sign(v[np.arange(len(v)), np.abs(v).argmax(axis=1)])
    total = max(float((centred**2).sum()), np.finfo(np.float64).tiny)
    points = u * lengths * np.where(signs == 0, 1, signs)
    return Components(points[:, :count], lengths[:count] ** 2 / total)
