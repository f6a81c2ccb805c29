"""Rows as dictionaries of numbers and words."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from torch_debugger.anatomy.summing.rows import Row
from torch_debugger.anatomy.summing.seen import Seen


def plain_row(row: Row) -> dict[str, Any]:
    words = ("path", "name", "kind", "depth", "calls", "called", "reused", "params", "trainable_params")
    return {name: getattr(row, name) for name in words} | {
        "kernel": list(row.kernel) if row.kernel else None,
        "inputs": plain_tensors(row.inputs),
        "outputs": plain_tensors(row.outputs),
        "dtype": row.dtype,
        "device": row.device,
        "tied": list(row.tied),
        "own": asdict(row.own),
    }


def plain_tensors(seen: tuple[Seen, ...]) -> list[dict[str, Any]]:
    return [{"name": one.name, "size": list(one.size), "dtype": one.dtype} for one in seen]
