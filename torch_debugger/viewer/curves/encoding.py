"""Numbers of curves as JSON: packed, because a picture needs ten thousand of them and none may lose a digit."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import numpy as np

from torch_debugger.viewer.curves.buckets import Chosen, means
from torch_debugger.viewer.curves.indexing import Floats, Index

_SMALLER = {"i4": np.dtype("<i4"), "f4": np.dtype("<f4")}


def pack(values: Floats) -> dict[str, str]:
    """Base64 of the smallest kind of number that holds them exactly, by that kind. NaN and Inf stay."""
    for name, kind in _SMALLER.items():
        with np.errstate(all="ignore"):
            smaller = values.astype(kind)
        if np.array_equal(smaller, values, equal_nan=kind.kind == "f"):
            return {name: b64encode(smaller.tobytes()).decode()}
    return {"f8": b64encode(values.astype("<f8").tobytes()).decode()}


def curve_to_json(index: Index, chosen: Chosen) -> dict[str, Any]:
    made: dict[str, Any] = {
        "x": pack(index.x[chosen.places]),
        "y": pack(index.y[chosen.places]),
        "points": len(index),
        "extent": index.x[[0, -1]].tolist() if len(index) else None,
        "values": _ends(index),
        "notfinite": _counts(index.y[index.odd]),
    }
    if chosen.many:
        here = np.searchsorted(chosen.places, list(chosen.many)).tolist()
        made["many"] = dict(zip(here, chosen.many.values(), strict=True))
    if len(chosen.edges):
        x, y = means(index, chosen)
        made["means"] = {"x": pack(x), "y": pack(y.astype(np.float32).astype(np.float64))}
    return made


def _ends(index: Index) -> list[float] | None:
    """The least and the greatest finite value."""
    lows, highs = index.y[index.lowest], index.y[index.highest]
    lows, highs = lows[np.isfinite(lows)], highs[np.isfinite(highs)]
    return [float(lows.min()), float(highs.max())] if len(lows) else None


def _counts(odd: Floats) -> dict[str, int]:
    nan = int(np.isnan(odd).sum())
    above = int((odd > 0).sum())
    return {"nan": nan, "inf": above, "-inf": len(odd) - nan - above}
