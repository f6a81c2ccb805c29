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


def storages_of(tensor: torch.Tensor) -> list[torch.UntypedStorage]:
    """All of them: a sparse tensor has several; none where a kind of tensor does not tell."""
    if tensor.layout is torch.sparse_coo:
        return [tensor._indices().untyped_storage(), tensor._values().untyped_storage()]
    memory = memory_of(tensor) if tensor.layout is torch.strided else None
    return [] if memory is None else [memory]
