"""The words for dtypes: which family one belongs to, and the method that converts to it."""

from __future__ import annotations

_CASTS = {
    "float32": ".float()",
    "float64": ".double()",
    "float16": ".half()",
    "bfloat16": ".bfloat16()",
    "int64": ".long()",
    "int32": ".int()",
    "bool": ".bool()",
}


def cast_to(dtype: str) -> str:
    """.float() for float32, .to(torch.uint8) where there is no method of its own"""
    return _CASTS.get(dtype, f".to(torch.{dtype})")


def is_floating(dtype: str) -> bool:
    return dtype.startswith(("float", "bfloat"))


def is_whole(dtype: str) -> bool:
    return dtype.startswith(("int", "uint"))


def numpy_hint(dtype: str) -> str:
    """Where float64 usually comes from."""
    return "; numpy arrays are float64 unless told otherwise" if dtype == "float64" else ""
