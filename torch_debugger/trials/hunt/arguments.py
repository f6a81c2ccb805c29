"""What an op was given besides tensors, in a few words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

_MOST = 4
_PLAIN = (int, float, str)


def describe_arguments(arguments: Sequence[Any], keywords: Mapping[str, Any]) -> tuple[str, ...]:
    """The plain numbers and words among the arguments: 0.5, dim=1"""
    plain = [_word(value) for value in arguments if isinstance(value, _PLAIN)]
    named = [f"{name}={_word(value)}" for name, value in keywords.items() if isinstance(value, _PLAIN)]
    return tuple((plain + named)[:_MOST])


def _word(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else repr(value)[:40]
