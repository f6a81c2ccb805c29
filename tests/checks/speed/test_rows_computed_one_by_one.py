from __future__ import annotations

import dataclasses

import pytest

from tests.checks.speed.sampled_loops import Library, Users, steps, training
from tests.fakes import cost, judged, place
from torch_debugger.records import Finding, RowPasses, TakenRows

HEADER = "for i in range(points.size(0)):"
PASSES = RowPasses(
    place=place(31, code=HEADER),
    last=34,
    taken=(TakenRows("points", (64, 12, 32), 0),),
    passes=64,
    sums_up=False,
    is_differentiated=True,
    step=40,
)
CALL = Users(12, "loss = criterion(model(x), y)")
INSIDE = Users(33, "pooled.append(weights @ points[i])", loops=(place(31, code=HEADER),))
LINEAR = Library("Linear.forward", "/lib/torch/nn/modules/linear.py")


def check(
    loop: RowPasses = PASSES, samples: int = 30, inside: Users = INSIDE, count: int = 200, **parts_s: float
) -> list[Finding]:
    records = training({(CALL, inside, LINEAR): samples}, count, **parts_s)
    return judged([loop, *records], "rows-computed-one-by-one")


def test_the_loop_its_rows_and_the_way_out_are_named() -> None:
    (finding,) = check()
    assert finding.severity == "warning"
    assert finding.where.line == 31
    assert finding.message == (
        "A Python loop over the 64 rows of `points` takes 6 ms of the 20 ms of each step: "
        "`for i in range(points.size(0)):` makes 64 passes, each with 384 numbers of `points`."
    )
    assert "and as much again in the backward" in finding.why
    assert finding.fix == (
        "Compute all passes at once: write the loop's body for the whole of `points`, without the loop; dims "
        "counted from the front move by one, and `.sum()` or `.mean()` of a row gets its dim, a product of two "
        "rows becomes `(a * b).sum(-1)` or `torch.einsum`, and what was collected and stacked is then the "
        "result as it is. Expected to save about 60 % of each step (12 ms)."
    )
    assert finding.evidence["expected_gain"] == pytest.approx(0.8 * (0.3 + 0.6 * 0.3 / 0.4))


def test_a_line_below_the_loop_counts_as_the_loop() -> None:
    below = Users(70, "return torch.relu(x)", loops=())
    records = training({(CALL, INSIDE, below): 30})
    assert judged([PASSES, *records], "rows-computed-one-by-one")


def test_without_gradients_the_backward_is_not_counted() -> None:
    (finding,) = check(dataclasses.replace(PASSES, is_differentiated=False))
    assert finding.evidence["expected_gain"] == pytest.approx(0.24)
    assert "backward" not in finding.why


def test_a_sum_over_passes_is_what_losses_give_themselves() -> None:
    taken = (TakenRows("out", (96, 24), 0), TakenRows("target", (96,), 0))
    (finding,) = check(dataclasses.replace(PASSES, taken=taken, passes=96, sums_up=True))
    assert "the whole of `out` and `target`" in finding.fix
    assert 'a loss with `reduction="sum"` gives the sum of all passes' in finding.fix


def test_another_dim_is_told() -> None:
    (finding,) = check(dataclasses.replace(PASSES, taken=(TakenRows("x", (8, 20, 4), 1),), passes=20))
    assert "over the 20 entries along dim 1 of `x`" in finding.message
    assert "move by one" not in finding.fix


def test_a_small_gain_is_a_note_and_a_tiny_one_nothing() -> None:
    apart = dataclasses.replace(PASSES, is_differentiated=False)
    (finding,) = check(apart, samples=15)
    assert finding.severity == "note"
    assert check(apart, samples=7)
    assert not check(apart, samples=6)


def test_a_handful_of_passes_large_rows_and_long_passes_are_silent() -> None:
    assert check(dataclasses.replace(PASSES, passes=16))
    assert not check(dataclasses.replace(PASSES, passes=15))
    assert not check(dataclasses.replace(PASSES, taken=(TakenRows("x", (64, 4097), 0),)))
    assert check(dataclasses.replace(PASSES, taken=(TakenRows("x", (64, 4096), 0),)))
    assert not check(dataclasses.replace(PASSES, passes=20), samples=50, forward=0.03, backward=0.02)
    assert check(dataclasses.replace(PASSES, passes=26), samples=50, forward=0.03, backward=0.02)


def test_a_loop_that_nobody_waits_for_is_silent() -> None:
    assert not check(samples=30, count=2000, forward=0.001, backward=0.002)
    assert check(samples=34, count=2000, forward=0.001, backward=0.002)


def test_time_of_other_lines_is_not_the_loops() -> None:
    assert not check(inside=Users(40, "return self.head(pooled)", loops=()))
    assert not check(inside=dataclasses.replace(INSIDE, condition=30))


def test_too_few_samples_and_too_short_runs_are_silent() -> None:
    assert not judged([PASSES, *steps(), cost()], "rows-computed-one-by-one")
    assert not check(count=9, forward=0.2, backward=0.2)
