from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy
import pytest

from tests.fakes import judged, loss_site, losses, scalars
from torch_debugger.records import Finding, Record, Table, TensorRows

COLUMNS = ("mean", "std", "min", "max", "zeros", "subnormal", "faint")


def look(step: int, shares: Mapping[str, tuple[float, float]], dtype: str = "float16") -> TensorRows:
    """zeros and faint, both as shares of all values, by module from the loss backward."""
    table = Table("output_gradient", "net", tuple(shares), COLUMNS, (dtype,) * len(shares))
    values = [[0.0, 1e-7, -1e-7, 1e-7, zeros, 1 - zeros, faint] for zeros, faint in shares.values()]
    return TensorRows(step, table, numpy.array(values, dtype=numpy.float32))


LOST = {"net.head": (0.6, 0.3), "net.body": (0.98, 0.02)}
FINE = {"net.head": (0.5, 0.02), "net.body": (0.7, 0.05)}


def check(*records: Record) -> list[Finding]:
    return judged(records, "gradient-underflow")


def run(shares: Mapping[str, tuple[float, float]] = LOST, curve: Iterable[float] = (1.0,) * 40) -> list[Record]:
    return [loss_site(), *(look(step, shares) for step in (1, 2, 3)), *losses(curve)]


def test_lost_gradients_are_told_with_their_shares_and_the_way_out() -> None:
    (finding,) = check(*run())
    assert finding.message == (
        "float16 rounds gradients to zero: of the gradient that reaches `net.head`, 60 % is zero and 75 % of "
        "the rest is at most 1.2e-7. 2 of 2 modules that compute in float16 lose theirs so."
    )
    assert (finding.severity, finding.confidence, finding.where.line) == ("error", 0.9, 40)
    assert "`scaler.scale(loss).backward()` at train.py:40" in finding.fix


def test_with_a_scaler_its_scale_is_what_to_raise() -> None:
    (finding,) = check(scalars(1, {"scaler/scale": 2.0}), *run())
    assert finding.fix.startswith("Let GradScaler begin at a larger scale than 2: leave out `init_scale`")


def test_nothing_but_zeros_is_less_sure() -> None:
    (finding,) = check(*run({"net.head": (1.0, 0.0), "net.body": (1.0, 0.0)}))
    assert "all of the gradient that reaches `net.head` is zero" in finding.message
    assert finding.confidence == 0.75


@pytest.mark.parametrize(
    "records",
    [
        run(FINE),
        run({"net.head": (0.95, 0.0), "net.body": (0.99, 0.0)}),  # ReLU, dropout and masks make zeros
        run(LOST | {"net.a": (0.1, 0.0), "net.b": (0.1, 0.0), "net.c": (0.1, 0.0)}),
        run(curve=[1.0 / (1 + step) for step in range(40)]),  # it learns all the same
        run(curve=[0.0] * 40),  # nothing is left to learn
        run(curve=[1.0] * 4),  # too early to tell
        [*run(curve=[1.0] * 10), look(11, FINE), *losses([1.0] * 30, first_step=12)],
        [loss_site(), *(look(step, LOST, "bfloat16") for step in (1, 2, 3)), *losses([1.0] * 40)],
    ],
)
def test_healthy_gradients_are_silent(records: list[Record]) -> None:
    assert not check(*records)
