"""Embeddings of `add_embedding`: which there are with their steps or, with tag and step, one of them."""

from __future__ import annotations

import base64
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from torch_debugger.log.embeddings import (
    Embedding,
    EmbeddingPoints,
    LabelColumn,
    has_embeddings,
    inside,
    read_embeddings,
    read_file,
    read_labels,
    read_points,
    stamp,
)
from torch_debugger.log.object_stores import is_url
from torch_debugger.log.run import Run
from torch_debugger.system.errors import DebuggerError, UsageError
from torch_debugger.viewer.media import picture_facts
from torch_debugger.viewer.questions import File, Query


def answer_embeddings(query: Query) -> dict[str, Any]:
    tag = query.text("tag")
    if "step" not in query.parameters:
        return query.of_run(embedding_list)
    step = query.whole("step", 0)
    return query.of_run(lambda run: embedding_at(run, tag, step))


# The nearest neighbours of a point of an embedding, in all its dimensions; `by` is euclidean or cosine.
_AT_ONCE = 20


def answer_neighbours(query: Query) -> dict[str, Any]:
    tag, by = query.text("tag"), query.text("by", "euclidean")
    step, point, most = query.whole("step", 0), query.whole("point", 0), query.whole("count", _AT_ONCE)
    return query.of_run(lambda run: nearest(run, tag, step, point, by, most))


# The pictures of an embedding's points, all in one.
def answer_sprite(query: Query) -> File:
    """What is no picture by its own first bytes is refused."""
    tag, step = query.text("tag"), query.whole("step", 0)

    def sprite_of(run: Run) -> File:
        embedding = _named(run, tag, step)
        if not embedding.sprite:
            raise UsageError(f"{tag!r} has no sprite at step {step}.")
        data = read_file(run.folder, embedding.sprite, _MOST_SPRITE)
        facts = picture_facts(data)
        if "problem" in facts:
            raise UsageError(facts["problem"])
        return File(data, facts["kind"])

    return query.of_run(sprite_of)


# One embedding for the page: its points along their principal components, labels, sprite, neighbours.
MOST_POINTS = 20_000
_COMPONENTS = 50
_MOST_STEPS = 400
_MOST_SPRITE = 60_000_000  # bytes
_MOST_NEIGHBOURS = 200


class Loaded(NamedTuple):
    points: EmbeddingPoints  # those with finite coordinates
    components: PrincipalComponents
    left_out: int  # that have none


def has_any(run: Run) -> bool:
    return not is_url(run.folder) and has_embeddings(run.folder)


def embedding_list(run: Run) -> dict[str, Any]:
    if not has_any(run):
        return {"embeddings": [], "fault": ""}
    try:
        found = read_embeddings(run.folder)
    except DebuggerError as error:
        return {"embeddings": [], "fault": str(error)}
    steps: dict[str, list[int]] = {}
    for each in found:
        steps.setdefault(each.tag, []).append(each.step)
    rows = [{"tag": tag, "steps": sorted(at)[-_MOST_STEPS:], "all_steps": len(at)} for tag, at in steps.items()]
    return {"embeddings": rows, "fault": ""}


def embedding_at(run: Run, tag: str, step: int) -> dict[str, Any]:
    embedding = _named(run, tag, step)
    points, components, left_out = _load(run, embedding)
    count, dimensions = points.matrix.shape
    remarks = []
    if points.all_points > count + left_out:
        remarks.append(f"Of {points.all_points:,} points {count:,} are shown, evenly chosen.")
    if left_out:
        remarks.append(f"{left_out:,} points with NaN or infinite coordinates are not shown.")
    columns, sprite = _labels(run, embedding, points, remarks), _sprite(run, embedding, remarks)
    return {
        "tag": tag,
        "step": step,
        "all_points": points.all_points,
        "points": count,
        "places": None if points.all_points == count else points.places.tolist(),
        "dimensions": dimensions,
        "kept": components.places.shape[1],
        "shares": [round(float(share), 6) for share in components.shares],
        "whole": components.whole,
        "centre": _packed(components.centre),
        "vectors": _packed(components.places),
        "columns": [_column(each) for each in columns],
        "sprite": sprite,
        "remarks": remarks,
    }


def nearest(run: Run, tag: str, step: int, point: int, by: str, most: int) -> dict[str, Any]:
    """In all dimensions, by rows of what is shown; the nearest first."""
    embedding = _named(run, tag, step)
    matrix = _load(run, embedding).points.matrix
    if not 0 <= point < len(matrix):
        raise UsageError(f"There is no point {point} among the {len(matrix):,} of {tag!r}.")
    if by not in ("euclidean", "cosine"):
        raise UsageError(f"by is euclidean or cosine, not {by!r}.")
    distances = _distances(matrix.astype(np.float64), point, by)
    distances[point] = np.inf
    order = np.argsort(distances, kind="stable")[: max(1, min(most, _MOST_NEIGHBOURS, len(matrix) - 1))]
    return {"neighbours": [[int(row), float(distances[row])] for row in order if np.isfinite(distances[row])]}


def _named(run: Run, tag: str, step: int) -> Embedding:
    found = read_embeddings(run.folder) if has_any(run) else []
    for each in found:
        if (each.tag, each.step) == (tag, step):
            return each
    raise UsageError(f"There is no embedding {tag!r} at step {step} in this run.")


def _load(run: Run, embedding: Embedding) -> Loaded:
    return _loaded(run.folder, embedding, stamp(run.folder, embedding.points) if embedding.points else (0, 0))


@lru_cache(maxsize=2)
def _loaded(folder: str, embedding: Embedding, version: tuple[int, int]) -> Loaded:
    points = read_points(folder, embedding, MOST_POINTS)
    finite = np.isfinite(points.matrix).all(axis=1)
    kept = EmbeddingPoints(points.matrix[finite], points.places[finite], points.all_points)
    if not len(kept.matrix):
        raise DebuggerError(f"No point of {embedding.tag!r} has finite coordinates.")
    return Loaded(kept, components_of(kept.matrix, _COMPONENTS), int((~finite).sum()))


def _distances(matrix: NDArray[np.float64], point: int, by: str) -> NDArray[np.float64]:
    if by == "euclidean":
        return np.asarray(np.sqrt(((matrix - matrix[point]) ** 2).sum(axis=1)))
    lengths = np.sqrt((matrix**2).sum(axis=1))
    products = lengths * lengths[point]
    # A point at zero has no direction: it is as far as one at a right angle.
    cosines = np.divide(matrix @ matrix[point], products, out=np.zeros(len(matrix)), where=products > 0)
    return np.asarray(1.0 - cosines)


def _labels(run: Run, embedding: Embedding, points: EmbeddingPoints, remarks: list[str]) -> list[LabelColumn]:
    try:
        return read_labels(run.folder, embedding, points)
    except DebuggerError as error:
        remarks.append(str(error))
        return []


def _sprite(run: Run, embedding: Embedding, remarks: list[str]) -> dict[str, int] | None:
    if not embedding.sprite or not all(embedding.thumbnail):
        return None
    try:
        inside(run.folder, embedding.sprite)
        facts = picture_facts(read_file(run.folder, embedding.sprite, _MOST_SPRITE))
    except DebuggerError as error:
        facts = {"problem": str(error)}
    if "problem" in facts:
        remarks.append(facts["problem"])
        return None
    width, height = embedding.thumbnail
    return {"width": width, "height": height, "columns": max(1, facts["width"] // width)}


def _column(column: LabelColumn) -> dict[str, Any]:
    """Each different label once, and which of them each point has."""
    known: dict[str, int] = {}
    numbers = [known.setdefault(value, len(known)) for value in column.values]
    return {"name": column.name, "labels": list(known), "of": numbers}


def _packed(array: NDArray[np.float64]) -> str:
    return base64.b64encode(np.ascontiguousarray(array).astype("<f4").tobytes()).decode("ascii")


# Principal components of points: exact where they are few or flat, else by subspace iteration.
_EXACT = 600  # points or dimensions, whichever are fewer
_SPARE, _ROUNDS = 10, 6
_NOTHING = 1e-6  # of the variance

Matrix = NDArray[np.float64]


class PrincipalComponents(NamedTuple):
    places: Matrix  # [points, kept]: the points, centred, along each component
    centre: Matrix  # [kept]: the mean along each component
    shares: Matrix  # [kept]: of the variance
    whole: bool  # whether nothing is left in the other dimensions: then distances and angles are exact


def components_of(points: NDArray[np.float32], most: int) -> PrincipalComponents:
    values = points.astype(np.float64)
    mean = values.mean(axis=0)
    centred = values - mean
    total = float((centred**2).sum())
    kept = min(most, *points.shape)
    axes = _axes(centred, kept)
    axes *= np.where(axes[np.abs(axes).argmax(axis=0), np.arange(axes.shape[1])] < 0, -1.0, 1.0)
    places = centred @ axes
    spread = (places**2).sum(axis=0)
    order = np.argsort(-spread, kind="stable")
    shares = spread[order] / total if total > 0 else np.zeros(kept)
    # The mean may point where no point differs: then it counts for angles all the same.
    inside = float(((mean @ axes) ** 2).sum())
    whole = 1 - shares.sum() < _NOTHING and abs(float(mean @ mean) - inside) <= _NOTHING * (1e-300 + float(mean @ mean))
    return PrincipalComponents(places[:, order], (mean @ axes)[order], shares, bool(whole or kept == points.shape[1]))


def _axes(centred: Matrix, kept: int) -> Matrix:
    """[dimensions, kept], of length one each and at right angles."""
    points, dimensions = centred.shape
    if dimensions <= _EXACT and dimensions <= points:
        _, vectors = np.linalg.eigh(centred.T @ centred)
        return np.ascontiguousarray(vectors[:, ::-1][:, :kept])
    if points <= _EXACT:
        _, _, rows = np.linalg.svd(centred, full_matrices=False)
        return np.ascontiguousarray(rows[:kept].T)
    basis = np.random.default_rng(0).normal(size=(dimensions, min(kept + _SPARE, dimensions)))
    for _ in range(_ROUNDS):
        basis, _ = np.linalg.qr(centred.T @ (centred @ basis))
    _, _, rows = np.linalg.svd(centred @ basis, full_matrices=False)
    return np.ascontiguousarray((basis @ rows.T)[:, :kept])
