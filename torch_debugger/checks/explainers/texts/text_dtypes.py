"""Pasted tracebacks: dtypes that do not fit each other."""

from __future__ import annotations

import re

from torch_debugger.checks.explainers.blame import Blame
from torch_debugger.checks.explainers.texts.text_reading import read
from torch_debugger.records import CrashFact

_NAMES = {
    "float": "float32", "double": "float64", "half": "float16", "bfloat16": "bfloat16", "long": "int64",
    "int": "int32", "short": "int16", "char": "int8", "byte": "uint8", "bool": "bool",
    "complexfloat": "complex64", "complexdouble": "complex128",
}  # fmt: skip
_CASTS = {"float32": "float", "float64": "double", "float16": "half", "bfloat16": "bfloat16", "int64": "long"}
_MAKER = "the line that made the tensor"


def explain_text_layer_dtypes(crash: CrashFact) -> Blame | None:
    told = read(
        crash,
        r"mat1 and mat2 must have the same dtype, but got (\w+) and (\w+)",
        through=r"/torch/nn/modules/linear\.py$",
    ) or read(
        crash,
        r"Input type \((?:torch\.)?(?:cuda\.)?(\w+?)(?:Tensor)?\) and (?:weight|bias) type "
        r"\((?:torch\.)?(?:cuda\.)?(\w+?)(?:Tensor)?\) should be the same",
        through=r"/torch/nn/modules/conv\.py$",
    )
    given, weights = (dtype_name(told.match[1]), dtype_name(told.match[2])) if told else ("", "")
    if told is None or not given or not weights or given == weights:
        return None
    return told.blame(
        f"a layer called by {told.at} got a {given} input, and its weights are {weights}.",
        "A layer computes in one dtype." + _from_numpy(given),
        f"Convert the input where it comes in: `{_cast(weights)}`.",
        _MAKER,
        input=given,
        weights=weights,
    )


def explain_text_targets(crash: CrashFact) -> Blame | None:
    """Class numbers that are no integers, or the other way round."""
    told = read(
        crash,
        r"expected scalar type (Long|Float|Double) but found (\w+)",
        through=r"/torch/nn/(?:functional|modules/loss)\.py$",
    )
    wanted, found = (dtype_name(told.match[1]), dtype_name(told.match[2])) if told else ("", "")
    if told is None or not found or wanted == found:
        return None
    return told.blame(
        f"a loss or layer called by {told.at} takes {wanted} and got {found}.",
        "Class numbers are integers (int64); predictions and regression targets are floating point.",
        f"Convert the odd one: `{_cast(wanted)}`.",
        "which of the tensors it is, and " + _MAKER,
        expected=wanted,
        got=found,
    )


def explain_text_indices(crash: CrashFact) -> Blame | None:
    told = read(
        crash,
        r"Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; "
        r"but got torch\.(?:cuda\.)?(\w+)Tensor instead",
        through=r"/torch/nn/modules/sparse\.py$|/torch/nn/functional\.py$",
    )
    if told is None:
        return None
    return told.blame(
        f"an embedding called by {told.at} got {dtype_name(told.match[1])} instead of indices.",
        "An embedding looks rows up by number: it takes integers.",
        "Give it the numbers of the rows, `.long()`, and not the vectors themselves.",
        _MAKER,
        got=dtype_name(told.match[1]),
    )


def dtype_name(word: str) -> str:
    """float64 for Double, double, DoubleTensor and c10::Double."""
    plain = re.sub(r"^(?:c10::)|Tensor$", "", word).lower()
    return _NAMES.get(plain, plain if plain in _NAMES.values() else "")


def _cast(dtype: str) -> str:
    return f".{_CASTS[dtype]}()" if dtype in _CASTS else f".to(torch.{dtype})"


def _from_numpy(given: str) -> str:
    return " numpy arrays are float64 unless told otherwise." if given == "float64" else ""


DTYPE_TEXTS = (
    explain_text_layer_dtypes,
    explain_text_targets,
    explain_text_indices,
)
