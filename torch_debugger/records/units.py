"""Quantities in words."""

from __future__ import annotations


def bytes_text(size: int) -> str:
    """999 B, 1.5 kB, 256 MB"""
    if size < 1000:
        return f"{size} B"
    value, unit = size / 1000, "kB"
    for larger in ("MB", "GB", "TB"):
        if value < 999.5:
            break
        value, unit = value / 1000, larger
    return f"{value:.3g} {unit}"
