"""Attributions, drawn by the kind of input: over images, along series, as bars of a table, on tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

import numpy as np
import torch
from matplotlib.figure import Figure
from numpy.typing import NDArray

from torch_debugger.errors import UsageError
from torch_debugger.pictures.aims import Aim, named, refuse_not_finite
from torch_debugger.pictures.attributing.drawings import draw_bars, draw_images, draw_series
from torch_debugger.pictures.attributing.points import Explained
from torch_debugger.pictures.attributing.token_drawing import draw_tokens
from torch_debugger.pictures.canvas import say_below
from torch_debugger.pictures.picture import Picture
from torch_debugger.pictures.shown_images import Numbers, ShownImages

_MOST_ROWS = 8
_MOST_BARS = 64  # numbers of one example; more are a series


class Showing(TypedDict, total=False):
    """What the drawing may be told."""

    labels: Sequence[str] | Mapping[int, str] | None  # of classes
    tokens: Sequence[str] | Sequence[Sequence[str]] | None  # of one example, or of each
    features: Sequence[str] | None  # columns of a table
    mean: Numbers  # of images, as they were normalised
    std: Numbers


def refuse_unknown(function: str, showing: Showing) -> None:
    """In Python's own words, by the function that was called, and before the model runs."""
    for name in showing:
        if name not in Showing.__annotations__:
            known = ", ".join(Showing.__annotations__)
            raise TypeError(
                f"{function}() got an unexpected keyword argument {name!r}; for the drawing it takes {known}."
            )


class Attribution(Picture):
    """`attributions[i]` belongs to `targets[i]` of example `examples[i]`.

    found.attributions   # float32, of the shape of the input; [maps, tokens] for tokens
    found.raw            # the same, but for tokens [maps, tokens, numbers of the embedding]
    found.scores         # the model's own number for each target
    found.gap            # of integrated gradients: the sum of attributions less the score's change
    """

    gap: NDArray[np.float32] | None = None

    def __init__(
        self,
        title: str,
        found: torch.Tensor,
        asked: Explained,
        aims: Sequence[Aim],
        scores: torch.Tensor,
        *,
        labels: Sequence[str] | Mapping[int, str] | None = None,
        tokens: Sequence[Any] | None = None,
        features: Sequence[str] | None = None,
        mean: Numbers = None,
        std: Numbers = None,
    ) -> None:
        refuse_not_finite(scores, aims)
        self.raw = found.cpu().numpy()
        of_tokens = asked.embedding is not None and self.raw.ndim > 2
        self.attributions: NDArray[np.float32] = self.raw.sum(axis=-1) if of_tokens else self.raw
        self.scores = scores.float().cpu().numpy()
        self.targets = [aim.target for aim in aims]
        self.examples = [aim.example for aim in aims]
        self.names = [named(aim.target, labels) for aim in aims]
        _refuse_nan(title, self.attributions)
        self.note = "" if self.raw.any() else "All attributions are zero: the score does not change here."
        if asked.embedding is not None:
            self._words = _words(asked.given.tensor, tokens)
            draw = self._draw_tokens
        elif self.raw.ndim == 4:
            self._images = ShownImages(asked.value, mean, std)
            draw = self._draw_images
        else:
            self._values = asked.value.float().cpu().numpy()
            self._features = features
            draw = self._draw_numbers
        numbers = {"attributions": self.attributions, "scores": self.scores}
        super().__init__(title, numbers, lambda: say_below(draw(), self.note))

    def _rows(self) -> list[tuple[int, str]]:
        """The example of each row that is drawn, and what is said about it."""
        several = len(set(self.examples)) > 1
        return [
            (example, (f"example {example}\n" if several else "") + f"{name}\nscore {score:.3g}")
            for example, name, score in zip(self.examples, self.names, self.scores, strict=True)
        ][:_MOST_ROWS]

    def _heading(self) -> str:
        left_out = len(self.attributions) - _MOST_ROWS
        shown = f" ({_MOST_ROWS} of {len(self.attributions)} examples)" if left_out > 0 else ""
        return f"{self.title}{shown}"

    def _draw_images(self) -> Figure:
        return draw_images(self._heading(), self._images, self.attributions, self._rows())

    def _draw_tokens(self) -> Figure:
        return draw_tokens(self._heading(), self._words, self.attributions, self._rows())

    def _draw_numbers(self) -> Figure:
        if self.attributions.ndim == 2 and self.attributions.shape[1] <= _MOST_BARS:
            return draw_bars(self._heading(), self._features, self._values, self.attributions, self._rows())
        return draw_series(self._heading(), self._values, self.attributions, self._rows())


def _words(ids: torch.Tensor, tokens: Sequence[Any] | None) -> list[list[str]]:
    """One list for each example; the ids themselves where no words are given."""
    if tokens is None:
        return [[str(each) for each in row] for row in ids.flatten(1).tolist()]
    rows = [list(tokens)] * len(ids) if isinstance(tokens[0], str) else [list(row) for row in tokens]
    wrong = len(rows) != len(ids) or any(len(row) != ids.shape[1] for row in rows)
    if wrong:
        raise UsageError(
            f"tokens= has {[len(row) for row in rows]} words, but the input holds {len(ids)} x {ids.shape[1]}"
            " tokens."
        )
    return [[str(each) for each in row] for row in rows]


def _refuse_nan(title: str, found: NDArray[np.float32]) -> None:
    if not np.isfinite(found).all():
        raise UsageError(
            f"{title}: some attributions are NaN or Inf, because a gradient of the model or a score is."
            " `torch_debugger.find_nan` finds the operation that made it."
        )
