"""What was seen at many places of a model: a dictionary that prints as a table."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable
from typing import Any

import torch

from torch_debugger.errors import UsageError
from torch_debugger.stats.census import Counted, TensorStats, count, read_counted, take_stats

KEPT = ("stats", "tensors")
_NAMED = 8  # of the places where nothing was seen


class Readings(dict[str, Any]):
    """Where -> TensorStats, or the tensor itself with keep="tensors"; in the order of the forward.

    The second call of a module has `#2` behind its path; tensors inside an output have their way:
    `lstm[0]`, `lstm[1][0]`, `head['logits']`. The model itself has the path "".
    """

    def __init__(
        self,
        found: dict[str, Any],
        missing: Iterable[str] = (),
        why: str = "",
        root: str = "(model)",
        absent: Iterable[str] = (),
    ) -> None:
        super().__init__(found)
        self.absent = tuple(absent)  # classes asked for, of which the model has no layer
        self.missing = tuple(missing)  # asked for, but there was nothing to see
        self._why = why
        self._root = root  # shown for the path ""

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """Numbers only: {where: {"mean": ..., ...}}."""
        return {where: dict(vars(stats)) for where, stats in self._stats().items()}

    def _stats(self) -> dict[str, TensorStats]:
        return {
            where: value if isinstance(value, TensorStats) else take_stats(value)
            for where, value in self.items()
        }

    def __str__(self) -> str:
        lines = {self._shown(where): str(stats) for where, stats in self._stats().items()}
        width = max(map(len, lines), default=0)
        table = [f"{where:{width}}  {line}" for where, line in lines.items()]
        return "\n".join([*table, *self._missing_line(), *self._absent_line()]) or "no tensors"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"

    def _missing_line(self) -> list[str]:
        if not self.missing:
            return []
        named = ", ".join(f"`{self._shown(path)}`" for path in self.missing[:_NAMED])
        more = len(self.missing) - _NAMED
        return [f"{self._why}: {named}{f' and {more} more' if more > 0 else ''}"]

    def _absent_line(self) -> list[str]:
        return [f"no layer of class {' or '.join(self.absent)} in this model"] if self.absent else []

    def _shown(self, where: str) -> str:
        return where if where and where[0] not in "[#" else f"{self._root}{where}"


def keeper(keep: str) -> Callable[[torch.Tensor], Any]:
    """What is made of a tensor the moment it is seen; a later op may write over it."""
    if keep not in KEPT:
        raise UsageError(f"keep={keep!r} is unknown: it is {' or '.join(map(repr, KEPT))}.")
    return count if keep == "stats" else lambda tensor: tensor.clone()


def finished(seen: dict[str, Any]) -> dict[str, Any]:
    """What was counted on a device, read in one transfer."""
    counted = {where: value for where, value in seen.items() if isinstance(value, Counted)}
    return seen | dict(zip(counted, read_counted(counted.values()), strict=True))
