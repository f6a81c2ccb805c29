"""What loss functions compared, with plain defaults."""

from __future__ import annotations

from tests.fakes import place
from torch_debugger.records import ClassTargets, Comparison, Spread, TokenTargets


def targets(lowest_sum: float = 0.0, highest_sum: float = 0.0, step: int = 1, **others: object) -> ClassTargets:
    facts: dict[str, object] = {
        "site": "loss", "made": place(39), "shape": (64, 4), "reduction": "mean", "ignore_index": -100,
        "surprise": 1.39, "total": 64,
    }  # fmt: skip
    return ClassTargets(
        step=step,
        lowest_sum=lowest_sum,
        highest_sum=highest_sum,
        **{**facts, **others},  # type: ignore[arg-type]
    )


def spread(lowest: float = -1.0, highest: float = 1.0, mean: float = 0.0, std: float = 0.5) -> Spread:
    return Spread(lowest, highest, mean, std)


def comparison(op: str = "MseLoss", step: int = 1, **others: object) -> Comparison:
    facts: dict[str, object] = {
        "site": "loss", "made": place(39), "shape": (64, 1), "prediction": spread(), "target": spread(),
        "below_minus_one": 0.0, "below_zero": 0.0, "above_one": 0.0,
    }  # fmt: skip
    return Comparison(op=op, step=step, **{**facts, **others})  # type: ignore[arg-type]


def tokens(step: int = 1, **others: object) -> TokenTargets:
    """Rows of 20 tokens that differ in length and are filled up with 0."""
    facts: dict[str, object] = {
        "site": "loss", "made": place(39), "rows": 16, "length": 20, "ignore_index": -100, "last": 0,
        "ended": 0.9, "in_tails": 0.4, "elsewhere": 0.0, "shortest": 2, "longest": 14, "weight": 1.0,
    }  # fmt: skip
    return TokenTargets(step=step, **{**facts, **others})  # type: ignore[arg-type]
