"""The names one op goes by: `a / b`, torch.div(a, b), a.true_divide(b) and a.div_(b) are all div."""

from __future__ import annotations

_SAME = {
    "truediv": "div", "rtruediv": "div", "itruediv": "div", "rdiv": "div", "true_divide": "div",
    "divide": "div", "rpow": "pow", "ipow": "pow", "float_power": "pow", "rmul": "mul", "imul": "mul",
    "multiply": "mul", "radd": "add", "iadd": "add", "rsub": "sub", "isub": "sub", "subtract": "sub",
    "mod": "remainder", "rmod": "remainder", "fmod": "remainder", "rmatmul": "matmul", "imatmul": "matmul",
    "mm": "matmul", "bmm": "matmul", "mv": "matmul", "dot": "matmul", "inner": "matmul", "arccos": "acos",
    "arcsin": "asin", "arccosh": "acosh", "arctanh": "atanh", "arctan2": "atan2", "vector_norm": "norm",
    "frobenius_norm": "norm", "std_mean": "std", "var_mean": "var", "nll_loss_nd": "nll_loss", "inverse": "inv",
}  # fmt: skip


def plain_name(op: str) -> str:
    """div for __truediv__, log for log_"""
    name = op.strip("_").removeprefix("linalg_").removeprefix("special_")
    return _SAME.get(name, name)
