"""Points, colors and faces in the shape that TensorBoard's mesh tab wants."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from torch_debugger.errors import DebuggerError
from torch_debugger.summaries.arrays import as_array


def mesh_part(name: str, values: Any) -> NDArray[np.float32] | None:
    """[batch, points, 3]; one mesh may come without the batch."""
    if values is None:
        return None
    array = as_array(values)
    if array.ndim not in (2, 3) or array.shape[-1] != 3:
        raise DebuggerError(f"expected {name} of shape [batch, points, 3], got {list(array.shape)}")
    return np.array(array if array.ndim == 3 else array[None], np.float32)


def mesh_vertices(values: Any) -> NDArray[np.float32]:
    vertices = mesh_part("vertices", values)
    if vertices is None:
        raise DebuggerError("expected vertices of shape [batch, points, 3], got None")
    return vertices


def mesh_config(config: Any) -> str:
    return json.dumps(config or {}, sort_keys=True)
