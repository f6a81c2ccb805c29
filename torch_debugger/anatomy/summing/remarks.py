"""What a reader of a summary should know beside its numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch
from torch import nn

from torch_debugger.anatomy.flop_count import UncountedOp
from torch_debugger.anatomy.layers import clean_path
from torch_debugger.anatomy.summing.parts import Parts
from torch_debugger.anatomy.summing.rows import Row

_NAMED = 4


def remarks(model: nn.Module, parts: Parts, rows: tuple[Row, ...], ran: bool) -> list[str]:
    found = [_tied(parts), _shared(model), _not_called(rows), _scripted(parts) if ran else "", _lazy(parts)]
    return [remark for remark in found if remark]


def uncounted_remark(uncounted: tuple[UncountedOp, ...]) -> str:
    if not uncounted:
        return ""
    told = [f"{each.op} ({each.calls} call{'s' * (each.calls != 1)})" for each in uncounted]
    return f"MACs are without what could not be counted: {_some(told)}."


def _tied(parts: Parts) -> str:
    owners: dict[int, list[str]] = {}
    for path in parts.modules:
        for held in parts.held(path):
            owners.setdefault(held.key, []).append(f"{path}.{held.name}".lstrip("."))
    groups = [f"{_listed(names)} are one" for names in owners.values() if len(names) > 1]
    return f"Tied parameters, counted once: {_some(groups)}." if groups else ""


def _shared(model: nn.Module) -> str:
    first: dict[int, str] = {}
    again: list[str] = []
    for raw, module in _distinct_below(model):
        path = clean_path(raw)
        if first.setdefault(id(module), path) != path:
            again.append(f"`{path}` is `{first[id(module)]}`")
    return f"Modules under several names, counted once: {_some(again)}." if again else ""


def _distinct_below(model: nn.Module) -> Iterable[tuple[str, nn.Module]]:
    """Every name of every module; what is inside a shared one only once."""
    known: set[int] = {id(model)}
    waiting: list[tuple[str, nn.Module]] = [("", model)]
    while waiting:
        path, module = waiting.pop(0)
        for name, child in module._modules.items():
            if child is not None:
                below = f"{path}.{name}".lstrip(".")
                yield below, child
                if id(child) not in known:
                    known.add(id(child))
                    waiting.append((below, child))


def _not_called(rows: Sequence[Row]) -> str:
    """The outermost ones with parameters: a dropout that another function stands for is no news."""
    idle = [row.path for row in rows if row.idle and row.params]
    outermost = [path for path in idle if not any(path.startswith(f"{above}.") for above in idle)]
    return f"Not called for this input: {_some([f'`{path}`' for path in outermost])}." if outermost else ""


def _scripted(parts: Parts) -> str:
    inside = [
        f"`{path}`" for path, module in parts.modules.items() if isinstance(module, torch.jit.ScriptModule)
    ]
    return f"Scripted, and not listened to: {_some(inside)}." if inside else ""


def _lazy(parts: Parts) -> str:
    waiting = [f"`{path}.{held.name}`" for path in parts.modules for held in parts.held(path) if held.lazy]
    if not waiting:
        return ""
    return f"No size yet, and not counted: {_some(waiting)}. Give input_size, and it is known."


def _listed(names: list[str]) -> str:
    return " and ".join(f"`{name}`" for name in names)


def _some(items: list[str]) -> str:
    more = len(items) - _NAMED
    return ", ".join(items[:_NAMED]) + (f" and {more} more" if more > 0 else "")
