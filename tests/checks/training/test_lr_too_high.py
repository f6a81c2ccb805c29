from __future__ import annotations

import math
from collections.abc import Iterable

import pytest

from tests.fakes import judged, loss_site, losses, optimizer, rows, scalars
from torch_debugger.checks.judge import Judge, verdict
from torch_debugger.records import Edit, Finding, NonFinite, Origin, Place, Record, SchedulerFact, TensorRows

SGD = optimizer("SGD", 10.0, source="torch.optim.SGD(net.parameters(), lr=10.0)")


def updates(ratios: Iterable[float]) -> list[TensorRows]:
    """Update ratios of two weights; the bias, which started at zero, must not count."""
    return [
        rows(step, "update", ("ratio",), {"net.a.weight": [ratio], "net.b.weight": [ratio], "net.a.bias": [1e9]})
        for step, ratio in enumerate(ratios, 1)
    ]


def check(*records: Record) -> list[Finding]:
    return judged(records, "lr-too-high")


def test_an_explosion_to_nan_names_rate_growth_and_the_new_rate() -> None:
    (finding,) = check(SGD, *updates([6.4, 344.0]), *losses([1.6, 803.0, 8.07e8, 2.6e13, math.nan]))
    assert finding.severity == "error"
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
    assert finding.first_step == 2


def test_a_loss_that_jumped_and_never_came_back() -> None:
    adam = optimizer("Adam", 1.0)
    jump = [1.6, 807.0, 1120.0, 360.0, 46.0, 14.0, *([1.55] * 30)]
    (finding,) = check(adam, *updates([13.6, 0.7, 0.4]), *losses(jump))
    assert "rose from 1.6 to 1.12e+03 and is at 1.55 now with Adam" in finding.message
    assert finding.edit is not None and "lr=0.1" in finding.edit.after


def test_weights_replaced_all_the_time_while_the_loss_goes_nowhere() -> None:
    thrash = [1.6, 1.9, 2.0, 1.7] * 15
    (finding,) = check(SGD, *updates([0.4] * 20), *losses(thrash))
    assert "went from 1.6 to" in finding.message


def test_a_few_looks_must_show_more_and_the_run_be_longer() -> None:
    thrash = [1.6, 1.9, 2.0, 1.7] * 30
    assert check(SGD, *updates([0.5, 0.3, 0.25]), *losses(thrash))
    assert not check(SGD, *updates([0.5, 0.3, 0.15]), *losses(thrash))
    assert not check(SGD, *updates([0.5, 0.3, 0.25]), *losses(thrash[:60]))


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
    assert not check(SGD, *updates(ratios), *losses(curve))


def test_nan_without_a_rise_is_another_fault() -> None:
    assert not check(SGD, *updates([0.01] * 5), *losses([1.6, 1.5, 1.4, math.nan, math.nan]))
    assert not check(SGD, *updates([0.01] * 5), *losses([1.6, 1.5, 9.0, math.nan, math.nan]))


def test_two_losses_are_a_game_not_a_divergence() -> None:
    sites = [loss_site(40, "loss_d"), loss_site(48, "loss_g")]
    assert not check(SGD, *sites, *updates([0.5] * 30), *losses([1.0, 50.0, 400.0, 9000.0, math.nan]))


def test_without_update_ratios_only_an_explosion_counts() -> None:
    assert not check(SGD, *losses([1.0, 2.0, 5.0, 9.0, math.nan]))
    (finding,) = check(SGD, *losses([1.0, 20.0, 500.0, 9e4, math.nan]))
    assert finding.confidence == 0.75


def test_a_loop_that_stops_before_the_nan() -> None:
    assert check(SGD, *updates([6.0]), *losses([1.0, 20.0, 500.0, 9e4]))


def test_a_scheduler_is_mentioned_and_a_rate_elsewhere_gets_no_edit() -> None:
    made = optimizer("SGD", 10.0, source="SGD(net.parameters(), lr=args.lr)")
    scheduler = SchedulerFact("OneCycleLR", "optimizer", Place(), 1)
    (finding,) = check(made, scheduler, *updates([6.4]), *losses([1.6, 803.0, 8e8, math.nan]))
    assert finding.edit is None
    assert finding.fix.endswith("OneCycleLR changes it too: check the highest rate it sets.")


def test_a_search_for_the_best_rate_is_only_noted() -> None:
    search = [
        scalars(step, {"lr/0": 1e-5 * 1.2**step}, loss=loss)
        for step, loss in enumerate([1.0] * 60 + [5.0, 40.0, 300.0, 9e4, math.nan], 1)
    ]
    (finding,) = check(SGD, *updates([0.01, 0.5]), *search)
    assert finding.severity == "note"


def test_it_explains_the_nan_that_follows() -> None:
    origin = Origin("forward", "net", "addmm", Place("train.py", 12))
    nan = NonFinite(4, "loss", "nan", Place("train.py", 40), origin, how="step")
    findings = judged([SGD, *updates([6.4]), *losses([1.6, 803.0, 8e8, math.nan]), nan])
    first = verdict(findings)
    assert first is not None and first.name == "lr-too-high"
    assert [finding.symptom_of for finding in findings if finding.name == "loss-not-finite"] == ["lr-too-high"]
