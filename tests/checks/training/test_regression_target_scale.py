from __future__ import annotations

from collections.abc import Iterable

from tests.checks.training.loss_terms import comparison, spread
from tests.fakes import judged, loss_site, losses
from torch_debugger.records import Comparison, Finding, Spread

PRICES = spread(100_000, 500_000, 312_000, 61_000)
SMALL = spread(-1, 2, 1.22, 0.3)


def look(step: int, target: Spread = PRICES, prediction: Spread = SMALL) -> Comparison:
    return comparison("MseLoss", step, target=target, prediction=prediction)


def check(values: Iterable[float], *looks: Comparison) -> list[Finding]:
    return judged([loss_site(), *looks, *losses(values)], "regression-target-scale")


def falling(to: float, steps: int = 200) -> list[float]:
    return [1e11 * (1 - (1 - to) * step / steps) for step in range(steps)]


def test_outputs_that_never_get_to_the_targets_are_a_warning() -> None:
    (finding,) = check(falling(0.97), look(1), look(23))
    assert finding.severity == "warning"
    assert finding.message == (
        "The targets of the loss at train.py:39 are around 3.12e+05 (std 6.1e+04), the outputs around 1.22 at "
        "step 23, and in 200 steps the loss lost 3%."
    )
    assert finding.fix.startswith("Train on `(target - 3.12e+05) / 6.1e+04`")


def test_without_a_mean_a_late_look_must_confirm_it() -> None:
    wide = spread(-9e4, 9e4, 0, 4e4)
    assert check(falling(0.97), look(1, wide), look(60, wide))
    assert not check(falling(0.97), look(1, wide), look(23, wide))


def test_a_run_that_gets_there_is_silent() -> None:
    assert not check(falling(0.3), look(1), look(60))
    assert not check(falling(0.97), look(1), look(60, prediction=spread(2e5, 4e5, 3e5, 5e4)))


def test_small_targets_and_short_runs_are_silent() -> None:
    assert not check(falling(0.97), look(1, spread(-9, 30, 12, 4)), look(60, spread(-9, 30, 12, 4)))
    assert not check(falling(0.99, steps=30), look(1), look(20))


def test_an_absolute_difference_written_by_hand_is_judged_as_well() -> None:
    told = [comparison("Abs", step, target=PRICES, prediction=SMALL) for step in (1, 23)]
    assert check(falling(0.97), *told)
