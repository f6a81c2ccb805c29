"""Where examples lie in the features of a layer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from torch_debugger.errors import UsageError
from torch_debugger.pictures.embedding.collecting import Collected, collected
from torch_debugger.pictures.embedding.measures import EmbeddingNumbers, measured
from torch_debugger.pictures.embedding.projecting import METHODS, Projection, projected
from torch_debugger.pictures.embedding.scatter import are_numbers, drawn_points
from torch_debugger.pictures.picture import Picture
from torch_debugger.pictures.runs_of_models import Layer

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
    names = found.labels if labels is None else _given_labels(labels, found)
    finite: NDArray[np.bool_] = np.asarray(np.isfinite(found.features).all(axis=1))
    if finite.sum() < _FEWEST:
        raise UsageError(
            f"an embedding needs at least {_FEWEST} examples, but of {len(finite)} only {finite.sum()} have "
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
    title = _title(found, method)
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


def _title(found: Collected, method: str) -> str:
    name = {"pca": "principal components", "tsne": "t-SNE", "umap": "UMAP"}[method]
    how = f" ({found.how})" if found.how else ""
    return f"Features of {found.layer or 'the model'}{how}, {name}"


def _given_labels(labels: Sequence[Any], found: Collected) -> list[Any]:
    """One for each example, or the names of the classes that the batches have as numbers."""
    plain = labels.tolist() if isinstance(labels, (torch.Tensor, np.ndarray)) else list(labels)
    count = len(found.features)
    if len(plain) == count:
        return plain
    classes = found.labels or []
    if classes and all(isinstance(each, int) and 0 <= each < len(plain) for each in classes):
        return [plain[each] for each in classes]
    raise UsageError(
        f"there are {len(plain)} labels for {count} examples: give one for each, or the names of all classes "
        "that the batches have as numbers."
    )
