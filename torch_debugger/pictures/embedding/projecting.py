"""Points of two dimensions from features of many."""

from __future__ import annotations

import importlib
import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from torch_debugger.errors import UsageError
from torch_debugger.pictures.embedding.principal import principal_components

METHODS = ("pca", "tsne", "umap")
_BEFORE = 50  # components that distances are taken in


class Projection(NamedTuple):
    points: NDArray[np.float64]  # [N, 2]
    axes: tuple[str, str]


def projected(features: NDArray[Any], method: str) -> Projection:
    if method not in METHODS:
        raise UsageError(f"method is one of {', '.join(map(repr, METHODS))}, but {method!r} came.")
    if method == "pca":
        points, shares = principal_components(features, 2)
        names = [f"component {place} ({share:.0%} of the variance)" for place, share in enumerate(shares, 1)]
        return Projection(_two_columns(points), (names[0], names[1] if len(names) > 1 else ""))
    reduced = principal_components(features, _BEFORE).points
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of one thread, which a fixed order of sums needs
        points = _tsne(reduced) if method == "tsne" else _umap(reduced)
    name = {"tsne": "t-SNE", "umap": "UMAP"}[method]
    return Projection(_two_columns(points), (f"{name} 1", f"{name} 2"))


def _tsne(features: NDArray[Any]) -> NDArray[Any]:
    perplexity = max(1.0, min(30.0, (len(features) - 1) / 3))
    if (library := _installed("openTSNE")) is not None:
        return np.asarray(library.TSNE(perplexity=perplexity, random_state=0, n_jobs=1).fit(features))
    if (library := _installed("sklearn.manifold")) is not None:
        return np.asarray(
            library.TSNE(perplexity=perplexity, random_state=0, init="pca").fit_transform(features)
        )
    raise UsageError(
        'method="tsne" needs openTSNE or scikit-learn: `pip install openTSNE`. method="pca" needs neither.'
    )


def _umap(features: NDArray[Any]) -> NDArray[Any]:
    if (library := _installed("umap")) is not None and hasattr(library, "UMAP"):
        near = max(2, min(15, len(features) - 1))
        start = "spectral" if len(features) > 10 else "random"
        return np.asarray(library.UMAP(n_neighbors=near, random_state=0, init=start).fit_transform(features))
    raise UsageError('method="umap" needs umap-learn: `pip install umap-learn`. method="pca" needs nothing.')


def _installed(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def _two_columns(points: NDArray[Any]) -> NDArray[np.float64]:
    missing = max(0, 2 - points.shape[1])
    return np.pad(points.astype(np.float64), ((0, 0), (0, missing)))
