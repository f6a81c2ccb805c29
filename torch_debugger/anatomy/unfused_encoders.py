"""Transformer layers in evaluation, part by part: torch would run each as one operation."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import torch


@contextlib.contextmanager
def unfused_encoders() -> Iterator[None]:
    """The same products, but each with the module that it belongs to."""
    enabled = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        yield
    finally:
        torch.backends.mha.set_fastpath_enabled(enabled)
