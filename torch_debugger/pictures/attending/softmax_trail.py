"""Attention written by hand: what a softmax over the last dimension gave and a product then mixes values with.

Followed from the softmax to the product, through dropout, casts and views, so that it does not matter how the
scores were made: `q @ k.T`, an einsum, or the small network of additive attention.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.utils.weak import WeakIdKeyDictionary

_PRODUCTS = frozenset({"matmul", "__matmul__", "__rmatmul__", "bmm", "einsum", "baddbmm"})
_TURNED = frozenset({"transpose", "permute", "swapaxes", "movedim", "mT", "transpose_"})


class SoftmaxTrail:
    def __init__(self) -> None:
        self._weights: WeakIdKeyDictionary = WeakIdKeyDictionary()

    def follow(self, name: str, arguments: tuple[Any, ...], keywords: dict[str, Any], result: Any) -> None:
        """To be called after each function."""
        if not isinstance(result, torch.Tensor) or not result.is_floating_point():
            return
        if name == "softmax":
            if _dimension(arguments, keywords) in (-1, result.dim() - 1):
                self._weights[result] = result
            return
        source = self._first(arguments)
        if source is None or result is source or name in _PRODUCTS:
            return
        weights = self._weights[source]
        if result.shape == source.shape or name in _TURNED:
            self._weights[result] = weights
        elif result.numel() == weights.numel() and result.shape[-1] == weights.shape[-1]:
            self._weights[result] = weights.reshape(result.shape)

    def mixed_with_values(self, name: str, arguments: tuple[Any, ...]) -> torch.Tensor | None:
        """The weights [..., out, in] that this product multiplies values with, if it does.

        Values are made for each example: a table that is looked up softly is a parameter of two dimensions.
        """
        if name not in _PRODUCTS:
            return None
        factors = [each for each in _flat(arguments) if isinstance(each, torch.Tensor)]
        mixing = [each for each in factors if each in self._weights]
        if len(mixing) != 1 or len(factors) < 2 or any(each.dim() < 3 for each in factors):
            return None
        weights: torch.Tensor = self._weights[mixing[0]]
        return weights if weights.dim() >= 3 else None

    def _first(self, arguments: tuple[Any, ...]) -> torch.Tensor | None:
        for each in arguments[:1]:
            if isinstance(each, torch.Tensor) and each in self._weights:
                return each
        return None


def _dimension(arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    return arguments[1] if len(arguments) > 1 else keywords.get("dim", keywords.get("axis"))


def _flat(arguments: tuple[Any, ...]) -> list[Any]:
    """einsum takes its factors also as a list."""
    return [each for value in arguments for each in (value if isinstance(value, (tuple, list)) else [value])]
