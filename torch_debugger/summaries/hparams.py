"""Hyperparameters as TensorBoard compares them: numbers, words, yes or no."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from torch_debugger.errors import DebuggerError
from torch_debugger.records.surroundings import HparamValue
from torch_debugger.redaction import redact_value
from torch_debugger.summaries.arrays import as_number


def hparam_values(hparams: Any) -> dict[str, HparamValue]:
    """None is left out; what is no number, word, yes or no is kept as its text; a secret is not written."""
    named = _mapping(hparams, "hyperparameters")
    return {str(name): _told(str(name), value) for name, value in named.items() if value is not None}


def metric_values(metrics: Any) -> dict[str, Any]:
    return {str(tag): value for tag, value in _mapping(metrics, "metrics").items()}


def choice_values(choices: Any) -> dict[str, tuple[HparamValue, ...]]:
    named = _mapping(choices or {}, "choices in hparam_domain_discrete")
    return {str(name): tuple(_told(str(name), value) for value in values) for name, values in named.items()}


def _told(name: str, value: Any) -> HparamValue:
    told: HparamValue = redact_value(name, plain_value(value))
    return told


def plain_value(value: Any) -> HparamValue:
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, str):
        return value
    if isinstance(value, (int, float, np.number)):
        return float(value)
    if isinstance(value, (torch.Tensor, np.ndarray)) and np.prod(value.shape) == 1:
        return as_number(value)
    return str(value)


def _mapping(given: Any, what: str) -> Mapping[Any, Any]:
    if not isinstance(given, Mapping):
        named = getattr(given, "__dict__", None)  # argparse.Namespace and its like
        if not isinstance(named, dict) or not named:
            raise DebuggerError(f"expected {what} by name in a dictionary, got {type(given).__name__}")
        return named
    return given
