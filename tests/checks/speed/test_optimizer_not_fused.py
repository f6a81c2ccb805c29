"""optimizer-not-fused: a large update on the GPU for which torch has one kernel."""

from __future__ import annotations

import dataclasses

import pytest

from tests.checks.speed.profiles import settings
from tests.fakes import cost, judged, optimizer, scalars
from torch_debugger.records import Finding, OptimizerFact, Record

NAME = "optimizer-not-fused"


def made(kind: str = "AdamW", form: str = "in lists", name: str = "optimizer") -> OptimizerFact:
    return dataclasses.replace(optimizer(kind, name=name), form=form)


def splits(update_s: float, steps: int = 200) -> list[Record]:
    return [
        scalars(step, {"split/optimizer_s": update_s, "split/forward_s": 0.01 - update_s})
        for step in range(1, steps + 1)
    ]


def found(fact: OptimizerFact, update_s: float, device: str = "cuda", steps: int = 200) -> list[Finding]:
    return judged([settings(device=device), fact, *splits(update_s, steps), cost()], NAME)


def test_the_share_and_the_edit_are_told() -> None:
    [finding] = found(made(), 0.006)
    assert finding.severity == "warning"
    assert finding.message == (
        "`optimizer.step()` takes 6 ms of the 10 ms of a step on the GPU (60 %), and AdamW was not made with "
        "`fused=True`."
    )
    assert finding.fix == (
        "Write `optimizer = torch.optim.AdamW(net.parameters(), lr=0.001, fused=True)`. That saves about 33 "
        "% of a step."
    )
    assert finding.evidence["expected_gain"] == pytest.approx(0.33)


def test_a_loop_over_parameters_loses_more() -> None:
    [finding] = found(made(form="one by one"), 0.005)
    assert finding.evidence["expected_gain"] == pytest.approx(0.3)


@pytest.mark.parametrize(
    ("fact", "update_s", "device", "steps"),
    [
        (made(form="fused"), 0.006, "cuda", 200),
        (made(form=""), 0.006, "cuda", 200),
        (made("RMSprop"), 0.006, "cuda", 200),
        (made(), 0.0009, "cuda", 200),  # saves 4.9 %
        (made(), 0.006, "cpu", 200),
        (made(), 0.006, "cuda", 100),  # a second of training
    ],
)
def test_each_condition_is_needed(fact: OptimizerFact, update_s: float, device: str, steps: int) -> None:
    assert found(fact, update_s, device, steps) == []


def test_with_two_optimizers_it_is_not_known_whose_time_it_is() -> None:
    records = [settings(), made(), made("SGD", name="other"), *splits(0.006), cost()]
    assert judged(records, NAME) == []
