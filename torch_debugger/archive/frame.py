"""Scalars as a pandas table, where pandas is installed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from torch_debugger.archive.curve import Curve
from torch_debugger.errors import DebuggerError

if TYPE_CHECKING:
    import pandas


def to_frame(curves: dict[str, Curve]) -> pandas.DataFrame:
    """One row per point: no point is lost where tags have steps of their own or steps repeat."""
    try:
        import pandas
    except ImportError as error:
        raise DebuggerError("to_pandas() needs pandas, which is not installed: pip install pandas") from error
    codes = np.repeat(np.arange(len(curves)), [len(curve) for curve in curves.values()])
    columns = {
        name: np.concatenate([np.empty(0, dtype), *(getattr(curve, f"{name}s") for curve in curves.values())])
        for name, dtype in (("step", np.int64), ("value", np.float64), ("time", np.float64))
    }
    tags = pandas.Categorical.from_codes(codes, categories=list(curves))
    return pandas.DataFrame({"tag": tags, **columns})
