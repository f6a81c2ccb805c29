"""The names of a state dict against those a model wants: the same under a prefix, renamed, or others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torch_debugger.records.evidence.checkpoints import StateEntry


@dataclass(frozen=True, slots=True)
class Fit:
    """How the saved names become the wanted ones."""

    strip: str = ""  # off every saved name
    submodule: str = ""  # the part of the model that the saved names are of
    leftover: int = 0  # saved entries that do not carry the prefix


def fit_of(saved: Sequence[StateEntry], wanted: Sequence[StateEntry]) -> Fit | None:
    """A prefix, to take off or to look under, that makes all names meet, shapes included; else None."""
    have, want = _shapes(saved), _shapes(wanted)
    if not have or not want:
        return None
    if have == want:
        return Fit()
    first_wanted, first_saved = next(iter(want)), next(iter(have))
    for name in have:
        prefix = name.removesuffix(first_wanted)
        if name != prefix and prefix.endswith(".") and _under(have, prefix) == want:
            return Fit(strip=prefix, leftover=len(have) - len(want))
    for name in want:
        prefix = name.removesuffix(first_saved)
        if name != prefix and prefix.endswith(".") and _under(want, prefix) == have:
            return Fit(submodule=prefix[:-1])
    return None


def _shapes(entries: Sequence[StateEntry]) -> dict[str, tuple[int, ...]]:
    return {entry.name: entry.shape for entry in entries}


def _under(shapes: dict[str, tuple[int, ...]], prefix: str) -> dict[str, tuple[int, ...]]:
    return {name.removeprefix(prefix): shape for name, shape in shapes.items() if name.startswith(prefix)}


def missing_and_unexpected(
    saved: Sequence[StateEntry], wanted: Sequence[StateEntry]
) -> tuple[list[StateEntry], list[StateEntry]]:
    """What the model wants and the file lacks; what the file holds and the model has no place for."""
    have, want = _shapes(saved), _shapes(wanted)
    missing = [entry for entry in wanted if entry.name not in have]
    return missing, [entry for entry in saved if entry.name not in want]


def renamed_layers(missing: list[StateEntry], unexpected: list[StateEntry]) -> list[tuple[str, str]]:
    """Old and new layer names, paired by order, leaf names and shapes; empty where not all of them pair."""
    old, new = _layers(unexpected), _layers(missing)
    if not old or len(old) != len(new) or list(old.values()) != list(new.values()):
        return []
    return [_shortened(before, after) for before, after in zip(old, new, strict=True)]


def _layers(entries: list[StateEntry]) -> dict[str, dict[str, tuple[int, ...]]]:
    """fc -> {weight: [10, 5], bias: [10]}"""
    layers: dict[str, dict[str, tuple[int, ...]]] = {}
    for entry in entries:
        layer, _, leaf = entry.name.rpartition(".")
        layers.setdefault(layer, {})[leaf] = entry.shape
    return layers


def _shortened(before: str, after: str) -> tuple[str, str]:
    """Without the end they share: encoder.0.conv, body.0.conv give encoder, body."""
    old, new = before.split("."), after.split(".")
    while len(old) > 1 and len(new) > 1 and old[-1] == new[-1]:
        old, new = old[:-1], new[:-1]
    return ".".join(old), ".".join(new)


def renaming_code(
    pairs: list[tuple[str, str]], saved: Sequence[StateEntry], wanted: Sequence[StateEntry]
) -> str:
    """k.replace("fc.", "head.") that turns every saved name into a wanted one; empty where none is short."""
    steps = list(dict.fromkeys((f"{old}.", f"{new}.") for old, new in pairs))
    names = [entry.name for entry in saved]
    for old, new in steps:
        names = [name.replace(old, new) for name in names]
    if len(steps) > 3 or sorted(names) != sorted(entry.name for entry in wanted):
        return ""
    return "k" + "".join(f'.replace("{old}", "{new}")' for old, new in steps)
