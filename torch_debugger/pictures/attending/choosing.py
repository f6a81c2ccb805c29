"""Which layers and heads are meant."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase

import numpy as np
from torch import nn

from torch_debugger.errors import UsageError
from torch_debugger.pictures.attending.maps import AttentionMaps, Weights

Layers = str | int | nn.Module | Sequence[str | int | nn.Module] | None
Patterns = Sequence[str | int] | None  # None for all
Heads = int | str | Sequence[int] | None
_FUSED: dict[str, Callable[..., Weights]] = {"mean": np.mean, "max": np.max, "min": np.min}


def patterns_of(layers: Layers) -> Patterns:
    if layers is None:
        return None
    several = [layers] if isinstance(layers, (str, int, nn.Module)) else layers
    if any(isinstance(each, nn.Module) for each in several):
        raise UsageError("layers of given weights are chosen by their places, counted from 0, not by modules.")
    return [each for each in several if isinstance(each, (str, int))]


def is_meant(name: str, order: int, patterns: Patterns) -> bool:
    return patterns is None or any(_fits(name, order, wanted) for wanted in patterns)


def _fits(name: str, order: int, wanted: str | int) -> bool:
    """By place, by path or pattern; a block means the attention inside of it."""
    if isinstance(wanted, int):
        return order == wanted
    path = name.partition("#")[0]
    return fnmatchcase(name, wanted) or fnmatchcase(path, wanted) or path.startswith(f"{wanted}.")


def none_of_these(names: Sequence[str]) -> str:
    some = ", ".join(f"`{name}`" for name in names[:5])
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return f"no layer that was asked for attends. These do, counted from 0: {some}{more}."


def chosen_layers(maps: AttentionMaps, patterns: Patterns) -> AttentionMaps:
    kept = [place for place, name in enumerate(maps.layers) if is_meant(name, place, patterns)]
    if not kept:
        raise UsageError(none_of_these(maps.layers))
    return AttentionMaps(tuple(maps.layers[i] for i in kept), tuple(maps.weights[i] for i in kept))


def chosen_heads(maps: Weights, heads: Heads, layer: str) -> tuple[list[str], Weights]:
    """Labels and maps [chosen, out, in] of [heads, out, in]; "mean" and "max" make one of all."""
    if isinstance(heads, str):
        return [f"{heads} of {len(maps)} heads"], fused(maps, heads)[None]
    wanted = list(range(len(maps))) if heads is None else [heads] if isinstance(heads, int) else list(heads)
    if not wanted:
        raise UsageError("heads=[] asks for no head at all: leave it out for all of them.")
    beyond = [head for head in wanted if not -len(maps) <= head < len(maps)]
    if beyond:
        raise UsageError(f"head {beyond[0]} was asked for, but `{layer}` has {len(maps)}, counted from 0.")
    return [f"head {head % len(maps)}" for head in wanted], maps[wanted]


def fused(maps: Weights, how: str) -> Weights:
    """[out, in] of [heads, out, in]"""
    if how not in _FUSED:
        raise UsageError(f"heads are put together as {', '.join(map(repr, _FUSED))}, but heads={how!r} came.")
    return _FUSED[how](maps, axis=0)
