from __future__ import annotations

import math
from collections.abc import Iterable

import numpy

from tests.fakes import judged, loss_site, model, scalars
from torch_debugger.records import Finding, Record, Scalars, Table, TensorRows


def check(*records: Record) -> list[Finding]:
    return judged(records, "scale-collapse")


def steps(left_out: Iterable[bool], scale: float = 65536.0, loss: float = 0.7) -> list[Scalars]:
    """A run whose scale is halved with every step left out."""
    found = []
    for step, skipped in enumerate(left_out, 1):
        values = {"scaler/scale": scale, "time/step_s": 0.1} | ({"scaler/skipped": 1.0} if skipped else {})
        found.append(scalars(step, values, loss=loss))
        scale *= 0.5 if skipped else 1.0
    return found


def rows(step: int, kind: str, values: dict[str, tuple[float, float]]) -> TensorRows:
    table = Table(kind, "net", tuple(values), ("mean", "max"), ("float16",) * len(values))
    return TensorRows(step, table, numpy.array(list(values.values()), dtype=numpy.float32))


def test_a_scale_that_falls_below_one_is_told_with_the_module_it_began_in() -> None:
    gradients = rows(
        3,
        "output_gradient",
        {"net.out": (0.0, 1.0), "net.mid": (math.nan, math.nan), "net.in": (math.nan, 0.0)},
    )
    (finding,) = check(model({"net": "Net", "net.mid": "Linear"}), gradients, *steps([True] * 30))
    assert finding.message == (
        "GradScaler left out 18 of the last 18 steps; its scale fell from 65536 to 0.5. The first gradient of "
        "the output that is not finite is that of `net.mid` (float16)."
    )
    assert (finding.severity, finding.first_step, finding.where.line) == ("error", 1, 11)
    assert finding.fix.startswith("Look at what is computed from `net.mid`")


def test_an_overflow_of_the_forward_pass_comes_first() -> None:
    seen = [
        rows(2, "activation", {"net.fine": (0.0, -math.inf), "net.large": (math.nan, math.inf)}),
        rows(2, "output_gradient", {"net.out": (math.nan, math.nan)}),
    ]
    (finding,) = check(*seen, *steps([True] * 30))
    assert "The first output that is not finite is that of `net.large` (float16)" in finding.message
    assert finding.fix.startswith("float16 ends at 65504: run `net.large` in float32")


def test_without_a_deep_look_the_backward_line_is_all_there_is() -> None:
    (finding,) = check(loss_site(), *steps([True] * 30))
    assert finding.where.line == 40
    assert "detect_anomaly" in finding.fix


def test_most_steps_left_out_are_enough_where_the_scale_was_set_high() -> None:
    (finding,) = check(*steps([True, True, True, False] * 12, scale=2.0**60))
    assert finding.confidence == 0.85


def test_finding_the_scale_is_silent() -> None:
    assert not check(*steps([True] * 12 + [False] * 80))
    assert not check(*steps(([False] * 19 + [True]) * 10, scale=2.0**60))
    assert not check(*steps([True, False] * 40, scale=2.0**60)), "growth_interval=1"
    assert not check(*steps([True] * 17 + [False] * 40)), "a scale below 1 that works"


def test_a_loss_that_is_not_finite_speaks_for_itself() -> None:
    assert not check(*steps([True] * 30, loss=math.nan))
