"""Quantities in words."""

from __future__ import annotations

import re


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


# How much memory a GPU has: by its name, or as a size.
_GIB = 2**30
_UNITS = {"MB": 10**6, "GB": 10**9, "MIB": 2**20, "GIB": _GIB, "G": 10**9, "M": 10**6}

# What torch.cuda.get_device_properties(0).total_memory gives for them, in GiB.
_GPUS = {
    "t4": 14.6, "p100": 15.9, "v100": 15.8, "v100-32gb": 31.7, "a10": 22.0, "a10g": 22.1, "l4": 22.0,
    "3060": 11.6, "3080": 9.7, "3090": 23.6, "4070": 11.6, "4080": 15.7, "4090": 23.5, "5090": 31.4,
    "a5000": 23.6, "a6000": 47.4, "l40s": 44.4, "a100": 39.4, "a100-80gb": 79.1, "h100": 79.1, "h200": 139.7,
}  # fmt: skip
_HOPPER = ("h100", "h200")


def gpu_bytes(text: str) -> int:
    """'24GB' -> 24_000_000_000, 'h100' -> what one has. Raises ValueError with a sentence."""
    name = re.sub(r"^(nvidia|rtx|tesla|geforce)[ -]*", "", text.strip().lower())
    if name in _GPUS:
        return int(_GPUS[name] * _GIB)
    size = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*([a-z]+)", name)
    if size is None or size.group(2).upper() not in _UNITS or float(size.group(1)) <= 0:
        raise ValueError(f"A GPU's memory is a size such as 24GB or 80GiB, or one of {', '.join(_GPUS)}, not {text!r}.")
    return int(float(size.group(1)) * _UNITS[size.group(2).upper()])


def is_hopper(text: str) -> bool:
    return any(name in text.lower() for name in _HOPPER)
