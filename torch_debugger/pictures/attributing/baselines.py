"""What stands for nothing in place of an input."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from torch_debugger.errors import UsageError
from torch_debugger.pictures.attributing.points import Explained


def baseline_for(asked: Explained, baseline: Any) -> torch.Tensor:
    """Of the shape of `asked.value`: from a number, a tensor that fits, or the ids of tokens."""
    value = asked.value
    if baseline is None:
        return torch.zeros_like(value)
    given = torch.as_tensor(baseline, device=value.device)
    if asked.embedding is not None and not given.is_floating_point():
        given = _embedded(asked, given)
    try:
        return given.detach().to(value.dtype).expand_as(value)
    except RuntimeError:
        raise UsageError(
            f"the baseline is {list(given.shape)} and does not fit the input, {list(value.shape)}."
        ) from None


def _embedded(asked: Explained, ids: torch.Tensor) -> torch.Tensor:
    assert asked.embedding is not None
    path, module = asked.embedding
    if not isinstance(module, nn.Embedding):
        raise UsageError(
            f"layer `{path}` is no nn.Embedding: give the baseline as its output, {list(asked.value.shape)}."
        )
    if ids.numel() and not 0 <= int(ids.min()) <= int(ids.max()) < module.num_embeddings:
        raise UsageError(
            f"the baseline holds token {int(ids.max())}, but layer `{path}` knows 0 to"
            f" {module.num_embeddings - 1}."
        )
    with torch.no_grad():
        return module(ids).detach()  # type: ignore[no-any-return]
