"""A name that was asked of a module or object, and the names that exist."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class NameEvidence:
    """A name that was asked of a module or object, and the names that exist."""
