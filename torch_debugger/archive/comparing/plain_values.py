"""Dictionaries of two runs compared key by key, their values as text."""

from __future__ import annotations

from collections.abc import Mapping

from torch_debugger.records.comparison_of_runs import Difference


def differences(first: Mapping[str, object], second: Mapping[str, object]) -> tuple[Difference, ...]:
    """What is not the same, in the first one's order; a key that one of them does not have counts too."""
    keys = dict.fromkeys([*first, *second])
    shown = ((key, _text(first.get(key)), _text(second.get(key))) for key in keys)
    return tuple(Difference(key, ours, theirs) for key, ours, theirs in shown if ours != theirs)


def _text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, (tuple, list)):
        return "x".join(map(str, value)) if all(isinstance(each, int) for each in value) else " ".join(value)
    return str(value)
