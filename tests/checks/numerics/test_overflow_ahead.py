from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable

import numpy
import pytest

from tests.fakes import judged, losses, model, scalars
from torch_debugger.checks.trends import falling_share, find_growth, theil_sen
from torch_debugger.records import Finding, Record, Table, TensorRows

STEPS = range(10, 410, 20)


def looks(
    size: Callable[[int], float], steps: Iterable[int] = STEPS, dtype: str = "float16", **others: str
) -> list[Record]:
    """One deep look at each of these steps, with a flat loss between them."""
    table = Table(others.get("kind", "activation"), "net", ("net.h.7",), ("min", "max"), (dtype,))
    records: list[Record] = [model({"net": "Net", "net.h.7": "Block"}), *losses([2.0, 2.1] * 5)]
    for step in steps:
        records.append(TensorRows(step, table, numpy.array([[-size(step), 1.0]], dtype=numpy.float32)))
        records += losses([2.0 + 0.1 * (step % 3)], first_step=step)
    return records


def check(records: Iterable[Record]) -> list[Finding]:
    return judged(records, "overflow-ahead")


def doubling(every: float, start: float = 64.0) -> Callable[[int], float]:
    return lambda step: start * 2.0 ** (step / every)


def test_the_overflow_is_announced_before_it_comes() -> None:
    (finding,) = check(looks(doubling(40.0), range(10, 330, 10)))
    assert finding.message == (
        "The output of `net.h.7` (float16) loses 1 bit of headroom every 40 steps: 4.0 bits are left at "
        "step 240, Inf around step 400."
    )
    assert (finding.severity, finding.where.line) == ("warning", 11)
    assert finding.why.startswith("float16 ends at 65,504. The largest value rose steadily from")
    assert "`nn.LayerNorm`" in finding.fix and "bfloat16" in finding.fix


def test_growth_by_an_amount_is_told_so() -> None:
    (finding,) = check(looks(lambda step: 150.0 * step))
    assert "grows by 150 a step" in finding.message
    assert finding.evidence["inf_at_step"] == pytest.approx(65504 / 150, abs=3)


def test_noise_of_batches_does_not_hide_a_trend() -> None:
    rough = random.Random(0)
    (finding,) = check(looks(lambda step: doubling(40.0)(step) * rough.uniform(0.95, 1.05), range(10, 380, 10)))
    assert finding.evidence["inf_at_step"] == pytest.approx(400, rel=0.15)


@pytest.mark.parametrize(
    "size",
    [
        lambda step: 20000.0,
        lambda step: 20000.0 * (1 - math.exp(-step / 60)),
        lambda step: 30.0 * math.log2(step + 1) ** 3,
        lambda step: 8000.0 + 3000.0 * math.sin(step / 30),
        lambda step: 65504.0,  # a mask
        lambda step: 3.0 * 2.0 ** (min(step, 200) / 25),  # a warm-up, then rest
        doubling(40.0, start=0.5),  # all that happens far from the edge
        doubling(250.0, start=3500.0),  # further ahead than can be foreseen
        lambda step: (5000.0 if step < 310 else 20000.0) + step,  # another level, as a new stage brings
        lambda step: doubling(60.0, start=200.0)(step) * (1.5 if step % 40 == 10 else 0.7),  # up and down
    ],
)
def test_healthy_sizes_are_silent(size: Callable[[int], float]) -> None:
    assert not check(looks(size))


def test_growth_by_which_the_loss_falls_is_left_alone() -> None:
    records = looks(doubling(40.0), range(10, 330, 10))
    falling = [
        scalars(record.step, loss=5.0 / (1 + record.step)) if hasattr(record, "time") else record for record in records
    ]
    assert not check(falling)


def test_wide_dtypes_must_have_grown_a_million_times() -> None:
    assert not check(looks(doubling(40.0), range(10, 330, 10), dtype="bfloat16"))
    (finding,) = check(looks(doubling(4.0), range(10, 330, 10), dtype="float32"))
    assert "(float32) loses 1 bit of headroom every 4 steps" in finding.message
    assert "bfloat16" not in finding.fix


def test_gradients_under_a_scaler_grow_by_design() -> None:
    rows = looks(doubling(40.0), range(10, 330, 10), kind="output_gradient")
    (finding,) = check(rows)
    assert finding.message.startswith("The gradient of the output of `net.h.7`")
    assert not check([scalars(1, {"scaler/scale": 65536.0}), *rows])


def test_what_has_overflowed_begins_anew() -> None:
    sizes = doubling(40.0)
    assert not check(looks(lambda step: math.inf if step % 50 == 0 else sizes(step), range(10, 330, 10)))


def test_light_looks_count_as_deep_ones_do() -> None:
    assert check(looks(doubling(40.0), range(10, 330, 10), kind="range"))


def test_a_fit_is_not_moved_by_odd_points() -> None:
    points = [(step, 3.0 * step + 7.0) for step in range(0, 100, 5)]
    points[4] = (20, 900.0)
    points[11] = (55, -300.0)
    slope, start = theil_sen(points)
    assert (slope, start) == pytest.approx((3.0, 7.0))
    assert find_growth([(step, 5.0) for step in range(9)]) is None


def test_falling_pairs_of_noise_are_about_half() -> None:
    rough = random.Random(1)
    noise = [(step, rough.random()) for step in range(400)]
    assert falling_share(noise) == pytest.approx(0.5, abs=0.1)
    assert falling_share([(step, -float(step)) for step in range(400)]) == 1.0
