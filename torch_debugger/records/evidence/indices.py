"""Integer tensors that were used as indices, against the sizes they index."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class IndexEvidence:
    """Integer tensors that were used as indices, against the sizes they index."""
