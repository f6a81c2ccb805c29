"""The numbers of an op's operands, in words."""

from __future__ import annotations

import math

from torch_debugger.checks.explainers.blame import place_text, shape_text
from torch_debugger.records import Operand, Place


def number(value: float) -> str:
    """3.2, 65,504, 1e+20"""
    if math.isfinite(value) and value == int(value) and abs(value) < 1e6:
        return f"{int(value):,}"
    return f"{value:.4g}"


def share(count: int, operand: Operand, name: str, state: str) -> str:
    """12 of 640 values of `p` are 0"""
    if operand.elements == 1:
        return f"{name} is {state}"
    if count == operand.elements:
        return f"{'both' if count == 2 else f'all {count:,}'} values of {name} are {state}"
    return f"{count:,} of {operand.elements:,} values of {name} {'is' if count == 1 else 'are'} {state}"


def zeros_of(operand: Operand, name: str) -> str:
    return share(operand.zeros, operand, name, "0")


def negatives_of(operand: Operand, name: str) -> str:
    """3 of 640 values of `x` are below 0, the lowest -0.18"""
    if operand.elements == 1:
        return f"{name} is {number(operand.low)}"
    return share(operand.negatives, operand, name, "below 0") + f", the lowest {number(operand.low)}"


def size_of(operand: Operand) -> float:
    """The largest finite value, whatever its sign."""
    return max(abs(operand.low), abs(operand.high))


def headroom(operand: Operand, limit: float) -> str:
    """7.7 bits below 65,504, the limit of float16"""
    return f"{math.log2(limit / size_of(operand)):.1f} bits below {number(limit)}"


def described(operand: Operand, name: str) -> str:
    """`x` (float32 [64, 10], from 0 to 3.2, 12 zeros)"""
    parts = [f"{operand.dtype} {shape_text(operand.shape)}".strip()]
    if operand.elements > operand.nans + operand.infs:
        parts.append(f"from {number(operand.low)} to {number(operand.high)}")
    counts = (("zero", operand.zeros), ("NaN", operand.nans), ("Inf", operand.infs))
    parts += [
        f"{count:,} {word}{'s' if word == 'zero' and count > 1 else ''}" for word, count in counts if count
    ]
    return f"{name} ({', '.join(parts)})"


def parameters_text(names: tuple[str, ...]) -> str:
    """`net.fc.weight` and 3 more parameters"""
    more = len(names) - 1
    first = f"`{names[0]}`" if names else "some weights"
    return first + (f" and {more} more parameter{'s' if more > 1 else ''}" if more > 0 else "")


def line_of(place: Place) -> str:
    """at train.py:31, or nothing"""
    return f" at {place_text(place)}" if place.file else ""


def is_rounding(operand: Operand) -> bool:
    """Below 0 by so little that a sum or difference of positive numbers may have rounded to it."""
    return 0 > operand.low >= -max(1e-4 * operand.high, 1e-6)


def small_number(operand: Operand) -> str:
    """What may be added without a change that shows; below 6e-8 float16 has only 0."""
    return "1e-4" if operand.dtype == "float16" else "1e-8"


def near_one(operand: Operand) -> str:
    """A step from 1 that the dtype still tells from it."""
    return {"float16": "1e-3", "bfloat16": "1e-2"}.get(operand.dtype, "1e-6")
