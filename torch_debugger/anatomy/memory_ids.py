"""Which tensors are views of the same memory."""

from __future__ import annotations

import torch


def memory_of(tensor: torch.Tensor) -> torch.UntypedStorage | None:
    """None where a tensor has no single one: sparse, or a wrapper around others."""
    try:
        return tensor.untyped_storage()
    except (RuntimeError, NotImplementedError):
        return None


def memory_id(tensor: torch.Tensor) -> int:
    """The same for all views, as long as one of them lives; a tensor without memory stands alone."""
    memory = memory_of(tensor)
    return id(tensor) if memory is None else memory._cdata
