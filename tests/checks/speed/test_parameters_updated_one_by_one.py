from __future__ import annotations

import dataclasses

import pytest

from tests.checks.speed.sampled_loops import speed_settings, steps
from tests.fakes import cost, judged, model, optimizer, run
from torch_debugger.records import Finding, OptimizerFact, Record

SMALL = [f"net.{number}.weight" for number in range(100)]
LARGE = {"net.users.weight": (40_000, 32), "net.items.weight": (20_000, 32)}


def adam(form: str = "one by one", kind: str = "Adam", **others: object) -> OptimizerFact:
    return dataclasses.replace(optimizer(kind, parameters=SMALL, **others), form=form)  # type: ignore[arg-type]


def check(fact: OptimizerFact, *others: Record, torch: str = "2.13.0", update_s: float = 0.008) -> list[Finding]:
    split = steps(200, forward=0.008, backward=0.012 - (update_s - 0.008), optimizer=update_s)
    records = [run(torch=torch), speed_settings(), fact, *others, *split, cost()]
    return judged(records, "parameters-updated-one-by-one")


def test_the_line_gets_fused() -> None:
    (finding,) = check(adam(), update_s=0.014)
    assert finding.severity == "note"
    assert finding.message == (
        "The update of `optimizer` takes 14 ms of the 28 ms of each step: it goes through 100 parameters one "
        "by one, with several ops for each."
    )
    assert finding.fix == (
        "Write `optimizer = torch.optim.Adam(net.parameters(), lr=0.001, fused=True)`: one kernel then updates "
        "all 100 parameters. Expected to save about 32 % of each step (9.1 ms)."
    )
    assert finding.edit is not None and finding.edit.line == 28
    assert finding.evidence["expected_gain"] == pytest.approx(0.325)


def test_half_as_much_is_told_too() -> None:
    (finding,) = check(adam())
    assert finding.evidence["expected_gain"] == pytest.approx(0.65 * 8 / 28)


def test_a_few_large_parameters_count_too_and_small_ones_do_not() -> None:
    few = dataclasses.replace(adam(), parameters=tuple(LARGE))
    (finding,) = check(few, model({"net": "Net"}, LARGE))
    assert finding.evidence["expected_gain"] == pytest.approx(0.4 * 8 / 28)
    assert not check(few, model({"net": "Net"}, dict.fromkeys(LARGE, (400, 32))))


def test_with_two_optimizers_the_largest_is_told_with_its_part() -> None:
    second = dataclasses.replace(adam(name="other"), form="fused")
    (finding,) = check(adam(), second, update_s=0.014)
    assert finding.evidence["expected_gain"] == pytest.approx(0.325 / 2)


def test_sgd_needs_momentum_to_gain() -> None:
    assert check(adam(kind="SGD", momentum=0.9), update_s=0.014)
    assert not check(adam(kind="SGD"), update_s=0.014)


@pytest.mark.parametrize("form", ["fused", "in lists", ""])
def test_other_forms_are_silent(form: str) -> None:
    assert not check(adam(form))


def test_other_kinds_and_older_versions_are_silent() -> None:
    assert not check(adam(kind="RMSprop"))
    assert not check(adam(), torch="2.3.1")
    assert check(adam(), torch="2.4.0+cpu")


def test_on_cuda_nothing_is_said() -> None:
    assert not check(adam(), speed_settings("cuda"))


def test_a_small_share_and_a_short_update_are_silent() -> None:
    assert not check(adam(), update_s=0.005)
    short = steps(20_000, forward=0.0008, optimizer=0.0009)
    assert not judged([run(), speed_settings(), adam(), *short[:4000], cost()], "parameters-updated-one-by-one")
