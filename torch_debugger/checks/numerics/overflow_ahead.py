"""TD602: values that grow steadily towards the largest number their dtype can hold."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

from torch_debugger.checks.base import Check
from torch_debugger.checks.state import RunState
from torch_debugger.checks.trends import Growth, falling_share, find_growth, fit_growth, rising_share
from torch_debugger.records import Finding, Place, Record, Scalars, TensorRows

LARGEST = {"float16": 65504.0, "bfloat16": 3.3895e38, "float32": 3.4028e38, "float64": 1.7977e308}
_WORDS = {"activation": "The output of", "output_gradient": "The gradient of the output of"}


@dataclass
class _Track:
    """The largest value of one tensor on each deep step."""

    dtype: str = ""
    points: list[tuple[int, float]] = field(default_factory=list)


@dataclass(frozen=True)
class _Forecast:
    kind: str
    module: str
    dtype: str
    growth: Growth
    first: tuple[int, float]
    last: tuple[int, float]
    step: int  # of the overflow


class OverflowAhead(Check):
    """Values grow step by step and will leave the range of their dtype before long.

    Symptom:
        None yet: the loss may look healthy until the step in which it becomes NaN.
    Evidence:
        The largest value of a module's output (or of its gradient) on the deep steps: it rises steadily, few
        bits of headroom are left, and a robust fit reaches the largest number of the dtype within twice the
        time that was looked at.
    Fix:
        Find what feeds the growth: a state carried on without a norm, an input that only ever grows, weights
        without decay. Normalise it, bound it, or run that part in float32 or bfloat16.
    Known limits:
        A forecast, not a fact. Only outputs of modules are seen, not what a function computes inside. float16
        must have less than 4 bits left (values above 4,000); wider dtypes must have grown a million times.
        Growth that slows down, or by which the loss falls, is left alone; so are gradients under a
        GradScaler, whose scale grows by design.
    """

    id = "TD602"
    name = "overflow-ahead"
    title = "values grow towards the end of their dtype's range"
    reads = (TensorRows, Scalars)
    explains = ("loss-not-finite", "scale-collapse")

    looks_needed = 6
    looks_kept = 24
    # Bits between the largest value and the dtype's largest, below which growth is worth a word.
    few_bits, few_bits_wide = 4.0, 100.0  # float16; all others
    # Bits lost within the looks: one is a doubling.
    lost_bits, lost_bits_wide = 1.0, 20.0
    # Noise of single batches may interrupt a rise, not make one.
    rising = 0.8
    # Of all pairs of losses meanwhile, the share in which the later one is smaller: 0.5 is noise. More says
    # that the growth is meant.
    still_falling = 0.65
    losses_needed = 10
    # A fit is trusted this many times as far ahead as it reaches back.
    reach = 2.0

    def __init__(self) -> None:
        self._tracks: dict[tuple[str, str], _Track] = {}
        self._scaler_seen = False
        self._reported = False

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        if isinstance(record, Scalars):
            self._scaler_seen = self._scaler_seen or "scaler/scale" in record.values
        elif isinstance(record, TensorRows) and not self._reported and self._is_watched(record.table.kind):
            taken = self._take(record)
            forecasts = [found for key in taken if (found := self._forecast(key, state)) is not None]
            if forecasts:
                self._reported = True
                yield self._found(min(forecasts, key=lambda forecast: forecast.step), len(forecasts), state)

    def _is_watched(self, kind: str) -> bool:
        return kind in ("activation", "range") or (kind == "output_gradient" and not self._scaler_seen)

    def _take(self, rows: TensorRows) -> list[tuple[str, str]]:
        """Add the sizes of one deep step; what is not finite has gone over already and begins anew."""
        table = rows.table
        kind = "activation" if table.kind == "range" else table.kind
        dtypes = table.dtypes or ("float32",) * len(table.names)
        taken = []
        for name, dtype, low, high in zip(
            table.names, dtypes, rows.column("min"), rows.column("max"), strict=True
        ):
            track = self._tracks.setdefault((kind, name), _Track())
            size = max(-low, high)
            if track.dtype != dtype or not math.isfinite(size) or size <= 0:
                track.dtype, track.points = dtype, []
            if math.isfinite(size) and size > 0:
                track.points.append((rows.step, size))
                del track.points[: -self.looks_kept]
                taken.append((kind, name))
        return taken

    def _forecast(self, key: tuple[str, str], state: RunState) -> _Forecast | None:
        track = self._tracks[key]
        limit = LARGEST.get(track.dtype, math.inf)
        points = track.points[-max(self.looks_needed, len(track.points) * 2 // 3) :]
        if len(points) < self.looks_needed or not self._has_little_left(track.dtype, points, limit):
            return None
        growth = self._steady_growth(points)
        if growth is None or self._is_learning(points[0][0], state):
            return None
        steps = growth.steps_to(limit, points[-1][1])
        if not 0 < steps <= self.reach * (points[-1][0] - points[0][0]):
            return None
        return _Forecast(*key, track.dtype, growth, points[0], points[-1], points[-1][0] + math.ceil(steps))

    def _has_little_left(self, dtype: str, points: list[tuple[int, float]], limit: float) -> bool:
        left = math.log2(limit / points[-1][1])
        lost = math.log2(points[-1][1] / points[0][1])
        if dtype == "float16":
            return left < self.few_bits and lost >= self.lost_bits
        return left < self.few_bits_wide and lost >= self.lost_bits_wide

    def _steady_growth(self, points: list[tuple[int, float]]) -> Growth | None:
        growth = find_growth(points)
        if growth is None or rising_share(points) < self.rising:
            return None
        late = fit_growth(points[len(points) // 2 - 1 :], growth.doubles)
        return None if late is None else min(growth, late, key=lambda fit: fit.rate)  # a plateau begins late

    def _is_learning(self, since: int, state: RunState) -> bool:
        """Outputs that grow towards large targets do so while the loss falls, and stop when they are there."""
        losses = [point for point in state.losses.finite() if point[0] >= since]
        return len(losses) < self.losses_needed or falling_share(losses) > self.still_falling

    def _found(self, forecast: _Forecast, count: int, state: RunState) -> Finding:
        left = math.log2(LARGEST[forecast.dtype] / forecast.last[1])
        others = f" {count - 1} more modules follow." if count > 1 else ""
        return self.finding(
            severity="warning",
            confidence=0.8,
            message=f"{_WORDS[forecast.kind]} `{forecast.module}` ({forecast.dtype}) {_pace(forecast)}: "
            f"{left:.1f} bits are left at step {forecast.last[0]:,}, Inf around step "
            f"{forecast.step:,}.{others}",
            why=f"{forecast.dtype} ends at {_number(LARGEST[forecast.dtype])}. The largest value rose steadily "
            f"from {_number(forecast.first[1])} at step {forecast.first[0]:,} to {_number(forecast.last[1])}.",
            fix=_fix(forecast),
            where=_where(forecast.module, state),
            first_step=forecast.first[0],
            last_step=forecast.last[0],
            evidence={
                "module": forecast.module,
                "dtype": forecast.dtype,
                "bits_left": left,
                "largest": forecast.last[1],
                "inf_at_step": float(forecast.step),
            },
        )


def _pace(forecast: _Forecast) -> str:
    growth = forecast.growth
    if growth.doubles:
        steps = 1 / growth.rate
        return f"loses 1 bit of headroom every {steps:.0f} steps" if steps >= 1.5 else "loses a bit every step"
    return f"grows by {_number(growth.rate)} a step"


def _number(size: float) -> str:
    return f"{size:,.0f}" if 100 <= size < 1e6 else f"{size:.4g}"


def _fix(forecast: _Forecast) -> str:
    advice = (
        f"Find what feeds the growth of `{forecast.module}` and bound it: a state that is carried on or an "
        "input that only counts up wants a norm (`nn.LayerNorm`) or a logarithm, weights that grow want decay."
    )
    if forecast.dtype == "float16":
        advice += " If the growth is meant, run this part in float32 or bfloat16."
    return advice


def _where(module: str, state: RunState) -> Place:
    found = state.module(module)
    return (
        Place(found.place.file, found.place.line, module, found.place.code) if found else Place(module=module)
    )
