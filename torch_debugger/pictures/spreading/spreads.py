"""How the values of a tensor are spread: counted where they lie, zeros and what is not finite apart."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from torch_debugger.stats.census import TensorStats, take_stats
from torch_debugger.stats.line import number_text, share_text
from torch_debugger.stats.values import values_of

_FEWEST, _MOST = 8, 50  # bars; a few values in many would be a comb
_AT_ONCE = 2**22  # values widened to float64 at a time
_EDGE = 0.01  # of the range, from either limit: saturated
_MANY_ZEROS = 0.05  # a bar for more would hide all others
_BETWEEN = {
    nn.Sigmoid: (0.0, 1.0), nn.Hardsigmoid: (0.0, 1.0), nn.Tanh: (-1.0, 1.0), nn.RNN: (-1.0, 1.0),
    nn.LSTM: (-1.0, 1.0), nn.GRU: (-1.0, 1.0),
}  # fmt: skip


@dataclass(frozen=True)
class Spread:
    """`counts` has the values between `edges`; where many are zero, only the others."""

    stats: TensorStats
    edges: NDArray[np.float64]
    counts: NDArray[np.int64]
    saturated: int | None = None  # None: nothing limits these values

    @property
    def hides_zeros(self) -> bool:
        return self.stats.zeros > _MANY_ZEROS * self.stats.count

    @property
    def words(self) -> str:
        stats = self.stats
        if not stats.count:
            return ", ".join(stats.remarks) or "empty"
        if stats.std is None:
            return "nothing finite"
        said = [f"std {number_text(stats.std)}"]
        if stats.zeros:
            said.append(f"{share_text(stats.zeros, stats.count)} zero")
        if self.saturated:
            said.append(f"{share_text(self.saturated, stats.count)} saturated")
        return ", ".join(said)

    @property
    def trouble(self) -> str:
        """What is not finite, counted."""
        counted = (("NaN", self.stats.nans), ("Inf", self.stats.infs))
        return ", ".join(f"{count:,} {word}" for word, count in counted if count)


def measure_spread(tensor: torch.Tensor, module: nn.Module | None = None) -> Spread:
    stats = take_stats(tensor)
    values, _ = values_of(tensor)
    if values is None or stats.min is None or stats.max is None:
        return Spread(stats, np.array([0.0, 1.0]), np.zeros(1, dtype=np.int64))
    bins = int(np.clip(2 * stats.count ** (1 / 3), _FEWEST, _MOST))
    edges = np.linspace(*_widened(stats.min, stats.max), bins + 1)
    parts = [part.to(torch.float64) for part in torch.split(values, _AT_ONCE)]
    spread = Spread(stats, edges, np.zeros(bins, dtype=np.int64), _saturated(parts, module))
    counts = sum(_counted(part, edges, spread.hides_zeros) for part in parts)
    return Spread(stats, edges, np.asarray(counts), spread.saturated)


def _widened(low: float, high: float) -> tuple[float, float]:
    if high > low:
        return low, high
    around = abs(low) or 1.0  # a constant has a bar in the middle
    return low - around, high + around


def _counted(part: torch.Tensor, edges: NDArray[np.float64], without_zeros: bool) -> NDArray[np.int64]:
    """Inside the edges; histc leaves out what is not finite."""
    bins = len(edges) - 1
    counts = torch.histc(part[part.isfinite()], bins, float(edges[0]), float(edges[-1])).to(torch.int64)
    found: NDArray[np.int64] = counts.cpu().numpy()
    if without_zeros:
        home = next((place for place, (low, high) in enumerate(pairwise(edges)) if low <= 0 < high), bins - 1)
        found[home] -= min(int(found[home]), part.numel() - int(torch.count_nonzero(part)))
    return found


def _saturated(parts: list[torch.Tensor], module: nn.Module | None) -> int | None:
    low, high = _limits(module)
    if high is None:
        return None
    edge = _EDGE * (high - (low or 0.0))
    above = sum(int((part >= high - edge).sum()) for part in parts)
    return above + (0 if low is None else sum(int((part <= low + edge).sum()) for part in parts))


def _limits(module: nn.Module | None) -> tuple[float | None, float | None]:
    """Between which a layer of this kind squashes its output; None: no limit that a gradient dies at."""
    if isinstance(module, nn.ReLU6):
        return None, 6.0
    if isinstance(module, nn.Hardtanh):
        return module.min_val, module.max_val
    return next((limits for kind, limits in _BETWEEN.items() if isinstance(module, kind)), (None, None))
