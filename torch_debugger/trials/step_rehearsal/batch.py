"""Which number is the size of the batch: told only where nothing speaks against it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from torch import nn

from torch_debugger.anatomy.nested import tensors_in

_SEQUENCES = (nn.RNNBase, nn.MultiheadAttention)


def batch_of(models: Iterable[nn.Module], values: Iterable[Any]) -> tuple[int, str]:
    """The first dimension that all tensors share; else 0 and a sentence."""
    sizes = [tensor.shape[0] for value in values for tensor in tensors_in(value) if tensor.dim()]
    if not sizes:
        return 0, "The model is given no tensor with a first dimension, which would be the batch."
    if len(set(sizes)) > 1:
        told = " and ".join(f"{size:,}" for size in dict.fromkeys(sizes))
        return 0, f"The tensors of the batch have different first dimensions ({told})."
    first = next((each for model in models for each in model.modules() if _has_time_first(each)), None)
    if len(sizes) == 1 and first is not None:
        kind = f"nn.{type(first).__name__}"
        return 0, f"The first dimension may be time: the model holds {kind} with batch_first=False."
    return sizes[0], ""


def _has_time_first(module: nn.Module) -> bool:
    return isinstance(module, _SEQUENCES) and not module.batch_first
