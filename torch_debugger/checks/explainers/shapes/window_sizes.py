"""Kernel sizes, strides and paddings as torch keeps them: one number, or one for each dimension."""

from __future__ import annotations

import ast

from torch_debugger.records import LayerFact


def sizes_of(layer: LayerFact, name: str, dimensions: int) -> tuple[int, ...]:
    """One number for each dimension; empty where there are none ("same" as padding)."""
    try:
        value = ast.literal_eval(str(layer.settings.get(name)))
    except (ValueError, SyntaxError):
        return ()
    if isinstance(value, int):
        return (value,) * dimensions
    return value if isinstance(value, tuple) else ()
