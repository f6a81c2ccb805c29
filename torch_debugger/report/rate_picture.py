"""The learning-rate range as a picture: loss over rate, with the rate in use and the range to try."""

from __future__ import annotations

from pathlib import Path

from torch_debugger.records import TrialResult


def draw_rates(result: TrialResult, path: Path) -> None:
    """A PNG; no window system is asked for, and no setting of pyplot's is touched."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.semilogx(result.rates, result.curve, color="#1f4e79")
    axes.axvspan(
        result.numbers["low"], result.numbers["high"], color="#2e8b57", alpha=0.18, label="range to try"
    )
    axes.axvline(
        result.numbers["lr"], color="#b03a2e", linestyle="--", label=f"in use: {result.numbers['lr']:g}"
    )
    axes.set_ylim(*_limits(result.curve))
    axes.set_xlabel("learning rate")
    axes.set_ylabel("loss of one batch")
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(path, dpi=120)


def _limits(losses: tuple[float, ...]) -> tuple[float, float]:
    """The fall fills the picture; where the loss runs away, the curve may leave it."""
    fall = losses[0] - min(losses)
    return min(losses) - 0.15 * fall, losses[0] + 0.6 * fall
