"""How large the result of an op can be, by the sizes of its operands."""

from __future__ import annotations

import math

from torch_debugger.checks.explainers.nonfinite.case import Case
from torch_debugger.checks.explainers.nonfinite.wording import size_of
from torch_debugger.records import Operand

PRODUCTS = (
    "matmul", "linear", "addmm", "baddbmm", "einsum", "bilinear", "conv1d", "conv2d", "conv3d",
    "conv_transpose1d", "conv_transpose2d", "conv_transpose3d",
    "scaled_dot_product_attention", "multi_head_attention_forward",
)  # fmt: skip


def sized(case: Case) -> list[int]:
    return [index for index, operand in enumerate(case.origin.operands) if operand.limit and size_of(operand)]


def limit_of(case: Case) -> float:
    return min((case.operand(index).limit for index in sized(case)), default=0.0)


def reach_of(case: Case) -> float | None:
    """How large the result can be, by the sizes of the operands."""
    sizes = [size_of(case.operand(index)) for index in sized(case)]
    first = case.operand(0)
    if case.op in PRODUCTS and len(sizes) >= 2:
        return sizes[0] * sizes[1] * _terms(first, case.operand(1))
    match case.op:
        case "mul":
            return math.prod(sizes) if len(sizes) > 1 else sizes[0] * abs(case.number() or 1.0)
        case "add" | "sub":
            return sum(sizes)
        case "sum" | "mean" | "cumsum":
            return sizes[0] * first.elements
        case "square" | "mse_loss" | "var" | "std" | "norm":
            return _power(sum(sizes), 2) * (first.elements if case.op != "square" else 1)
        case "pow":
            exponent = case.number()
            return _power(sizes[0], exponent) if exponent is not None else None
        case "prod" | "cumprod":
            return _power(sizes[0], first.elements)
    return None


def _power(size: float, exponent: float) -> float:
    try:
        return float(size**exponent)
    except OverflowError:
        return math.inf


def _terms(first: Operand, second: Operand) -> int:
    """How many products are summed; of a convolution, those of one filter."""
    if len(second.shape) > 2 and len(second.shape) == len(first.shape) and first.shape[-1] != second.shape[-2]:
        return math.prod(second.shape[1:])
    return first.shape[-1] if first.shape else 1
