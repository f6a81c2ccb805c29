from __future__ import annotations

import math
from collections.abc import Iterable

import pytest

from tests.fakes import findings_of, judged, loss_site, losses, only, optimizer, rows, scalars
from torch_debugger.checks.judge import Judge, verdict
from torch_debugger.records import (
    Edit,
    Finding,
    NonFinite,
    OptimizerFact,
    Origin,
    Place,
    Record,
    SchedulerFact,
    TensorRows,
)

SGD = optimizer("SGD", 10.0, source="torch.optim.SGD(net.parameters(), lr=10.0)")


def updates(ratios: Iterable[float]) -> list[TensorRows]:
    """Update ratios of two weights; the bias, which started at zero, must not count."""
    return [
        rows(step, "update", ("ratio",), {"net.a.weight": [ratio], "net.b.weight": [ratio], "net.a.bias": [1e9]})
        for step, ratio in enumerate(ratios, 1)
    ]


too_high = findings_of("lr-too-high")


def test_an_explosion_to_nan_names_rate_growth_and_the_new_rate() -> None:
    (finding,) = too_high(SGD, *updates([6.4, 344.0]), *losses([1.6, 803.0, 8.07e8, 2.6e13, math.nan]))
    assert finding.message == (
        "The loss rose from 1.6 to 2.6e+13, then to nan with SGD at a learning rate of 10; updates were up to "
        "344 times the size of the weights."
    )
    assert finding.fix == "Lower `lr` of `optimizer` at train.py:28 from 10 to 0.1."
    assert finding.edit == Edit(
        "train.py",
        28,
        "optimizer = torch.optim.SGD(net.parameters(), lr=10.0)",
        "optimizer = torch.optim.SGD(net.parameters(), lr=0.1)",
    )
    assert (finding.severity, finding.first_step) == ("error", 2)


def test_a_loss_that_jumped_and_never_came_back() -> None:
    adam = optimizer("Adam", 1.0)
    jump = [1.6, 807.0, 1120.0, 360.0, 46.0, 14.0, *([1.55] * 30)]
    (finding,) = too_high(adam, *updates([13.6, 0.7, 0.4]), *losses(jump))
    assert "rose from 1.6 to 1.12e+03 and is at 1.55 now with Adam" in finding.message
    assert finding.edit is not None and "lr=0.1" in finding.edit.after


def test_weights_replaced_all_the_time_while_the_loss_goes_nowhere() -> None:
    thrash = [1.6, 1.9, 2.0, 1.7] * 15
    assert "went from 1.6 to" in only(too_high(SGD, *updates([0.4] * 20), *losses(thrash))).message


def test_a_few_looks_must_show_more_and_the_run_be_longer() -> None:
    thrash = [1.6, 1.9, 2.0, 1.7] * 30
    assert too_high(SGD, *updates([0.5, 0.3, 0.25]), *losses(thrash))
    assert not too_high(SGD, *updates([0.5, 0.3, 0.15]), *losses(thrash))
    assert not too_high(SGD, *updates([0.5, 0.3, 0.25]), *losses(thrash[:60]))


def test_it_is_found_while_the_run_goes_on_once_there_was_time_to_recover() -> None:
    judge = Judge(only=["lr-too-high"])
    for record in (SGD, *updates([13.6]), *losses([1.6, 800.0, *([1.6] * 300)])):
        judge.see(record)
    assert judge.findings


@pytest.mark.parametrize(
    ("ratios", "curve"),
    [
        ([0.13, 0.1, 0.08], [1.6 * 0.97**step for step in range(100)]),
        ([1.3, 0.6, 0.3], [11.5, 4.7, 48.0, 18.0, *([5.0 * 0.9**step for step in range(60)])]),
        ([0.001] * 20, [0.01 * 1.05**step for step in range(150)]),
        ([0.3] * 30, [-0.1, 4.0, -2.0, 9.0] * 20),
        ([0.01] * 30, [1.6] * 60),
        ([0.2] * 5, [1.6] * 60),
        ([6.0], [1.6, 800.0]),
    ],
    ids=["large but healthy", "spike and recovery", "rising values, small updates", "signed",
         "flat, small updates", "flat, a few large updates", "too short"],
)  # fmt: skip
def test_healthy_and_unclear_runs_are_silent(ratios: list[float], curve: list[float]) -> None:
    assert not too_high(SGD, *updates(ratios), *losses(curve))


def test_nan_without_a_rise_and_two_losses_are_other_faults() -> None:
    # nan without a rise is another fault
    assert not too_high(SGD, *updates([0.01] * 5), *losses([1.6, 1.5, 1.4, math.nan, math.nan]))
    assert not too_high(SGD, *updates([0.01] * 5), *losses([1.6, 1.5, 9.0, math.nan, math.nan]))
    # two losses are a game not a divergence
    sites = [loss_site(40, "loss_d"), loss_site(48, "loss_g")]
    assert not too_high(SGD, *sites, *updates([0.5] * 30), *losses([1.0, 50.0, 400.0, 9000.0, math.nan]))


def test_without_update_ratios_only_an_explosion_counts_and_with_them_no_nan_is_needed() -> None:
    # without update ratios only an explosion counts
    assert not too_high(SGD, *losses([1.0, 2.0, 5.0, 9.0, math.nan]))
    assert only(too_high(SGD, *losses([1.0, 20.0, 500.0, 9e4, math.nan]))).confidence == 0.75
    assert too_high(SGD, *updates([6.0]), *losses([1.0, 20.0, 500.0, 9e4])), "a loop that stops before the nan"


def test_a_scheduler_is_mentioned_and_a_rate_elsewhere_gets_no_edit() -> None:
    made = optimizer("SGD", 10.0, source="SGD(net.parameters(), lr=args.lr)")
    scheduler = SchedulerFact("OneCycleLR", "optimizer", Place(), 1)
    (finding,) = too_high(made, scheduler, *updates([6.4]), *losses([1.6, 803.0, 8e8, math.nan]))
    assert finding.edit is None
    assert finding.fix.endswith("OneCycleLR changes it too: check the highest rate it sets.")


def test_a_search_for_the_best_rate_is_only_noted() -> None:
    search = [
        scalars(step, {"lr/0": 1e-5 * 1.2**step}, loss=loss)
        for step, loss in enumerate([1.0] * 60 + [5.0, 40.0, 300.0, 9e4, math.nan], 1)
    ]
    assert only(too_high(SGD, *updates([0.01, 0.5]), *search)).severity == "note"


def test_it_explains_the_nan_that_follows() -> None:
    origin = Origin("forward", "net", "addmm", Place("train.py", 12))
    nan = NonFinite(4, "loss", "nan", Place("train.py", 40), origin, how="step")
    findings = judged([SGD, *updates([6.4]), *losses([1.6, 803.0, 8e8, math.nan]), nan])
    first = verdict(findings)
    assert first is not None and first.name == "lr-too-high"
    assert [finding.symptom_of for finding in findings if finding.name == "loss-not-finite"] == ["lr-too-high"]


def tiny_updates(ratio: float) -> list[Record]:
    return [rows(step, "update", ("ratio", "change"), {"net.fc1.weight": [ratio, ratio]}) for step in (1, 2, 3)]


def curve(values: Iterable[float], rates: Iterable[float]) -> list[Record]:
    return [
        scalars(step, {"lr/0": rate}, loss=value)
        for step, (value, rate) in enumerate(zip(values, rates, strict=True), 1)
    ]


FLAT = [1.732 - 0.00003 * step for step in range(300)]


def too_low(
    *records: Record, ratio: float = 1e-6, rate: float = 1e-7, made: OptimizerFact | None = None
) -> list[Finding]:
    known = made or optimizer("Adam", rate)
    return judged([known, *tiny_updates(ratio), *records], "lr-too-low")


def test_a_flat_loss_and_tiny_updates_name_the_rate_to_use() -> None:
    (finding,) = too_low(*curve(FLAT, [1e-7] * 300))
    assert finding.message == (
        "The loss went from 1.732 to 1.723 in 300 steps: with Adam at a learning rate of 1e-07 an update moves "
        "the weights by 1e-06 of their size."
    )
    assert finding.fix == "Raise `lr` of `optimizer` at train.py:28 from 1e-07 to 0.001."
    assert finding.edit is not None and "lr=0.001" in finding.edit.after
    assert (finding.severity, finding.where.line) == ("error", 28)


def test_losses_that_differ_from_batch_to_batch_hide_nothing() -> None:
    noisy = [1.4 + 0.09 * (-1) ** step + 0.00015 * step for step in range(300)]
    assert too_low(*curve(noisy, [1e-7] * 300))
    assert not too_low(*curve([value - 0.001 * at for at, value in enumerate(noisy)], [1e-7] * 300)), "it learns"


def test_what_is_slow_for_other_reasons_is_silent() -> None:
    assert not too_low(*curve(FLAT, [1e-5] * 300), rate=1e-5), "a rate for fine-tuning"
    assert not too_low(*curve(FLAT, [1e-7] * 300), ratio=1e-4), "the weights do move"
    assert not too_low(*curve([2.0 - 0.005 * step for step in range(300)], [1e-7] * 300)), "it learns"
    assert not too_low(*curve(FLAT[:50], [1e-7] * 50)), "too short to tell"
    rising = [1e-9 * (step + 1) for step in range(300)]
    assert not too_low(*curve(FLAT, rising)), "a warm-up that is not over"
    falling = [1e-3 * 0.9**step for step in range(300)]
    assert not too_low(*curve(FLAT, falling)), "the end of a schedule"
    assert not too_low(loss_site(), loss_site(50, "loss_d"), *curve(FLAT, [1e-7] * 300)), "several losses"
