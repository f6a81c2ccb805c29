"""The sentences of a stop: what held, where, and the tensors in question, one line each."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from types import FrameType
from typing import Any

import torch

from torch_debugger.anatomy.nested import named_leaves
from torch_debugger.breakpoints.breakpoint import Breakpoint
from torch_debugger.stats.census import take_stats


def place_in_words(frame: FrameType) -> str:
    """train.py:24 in forward"""
    code = frame.f_code
    inside = "" if code.co_name == "<module>" else f" in {code.co_name}"
    return f"{_shown(code.co_filename)}:{frame.f_lineno}{inside}"


def _shown(path: str) -> str:
    try:
        near = os.path.relpath(path)
    except (OSError, ValueError):  # no folder to be relative to, or another drive
        return path
    return path if near.startswith("..") else near


def variables_of(frame: FrameType) -> dict[str, Any]:
    """Read as pdb reads them. Not by `locals_of`: what it clears, Python before 3.13 takes for the frame's own
    variables when a trace function returns, and the frame has lost them all."""
    return dict(frame.f_locals)


def tensor_lines(names: Mapping[str, Any]) -> list[str]:
    """One line for each tensor under these names: "output['logits']: float32 [64, 10] cpu  min 0  max 3.2"."""
    held = {name: value for name, value in names.items() if not isinstance(value, torch.nn.Module)}
    return [
        f"{name}{way}: {take_stats(tensor)}"
        for name, value in held.items()
        for way, tensor in named_leaves(value)
    ]


def summary(post: Breakpoint, known: Sequence[str]) -> str | None:
    """What there is to say of a breakpoint that is taken off, if anything."""
    if post.hits > 1 and not post.stops:
        return f"`{post}` held {post.hits:,} times."
    if post.at is not None and not post.matched:
        names = ", ".join(f"`{path}`" for path in known[:8]) or "none"
        more = f" and {len(known) - 8} more" if len(known) > 8 else ""
        return (
            f"`{post}` was never asked: no module that was called fits `{post.at}`. Called were {names}{more}."
        )
    return None
