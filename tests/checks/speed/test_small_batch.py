"""small-batch: a device that waits, with room for more."""

from __future__ import annotations

import pytest

from tests.checks.speed.profiles import profile, settings
from tests.fakes import judged, place
from torch_debugger.records import Finding, ProfileFact, RootInput

NAME = "small-batch"
IDLE = {"device_busy_s": 0.001, "kernels": 200, "peak_bytes": 10**9}  # of 50 ms, 5 us each


def given(batch: int = 64, trained: bool = True) -> RootInput:
    return RootInput("net", trained, (batch, 16), 0.0, 1.0, place(30, code="loss = f(net(x), y)"), 3)


def found(fact: ProfileFact, batch: int = 64) -> list[Finding]:
    return judged([settings(), given(batch), fact], NAME)


def test_the_batch_and_the_room_are_told() -> None:
    [finding] = found(profile(**IDLE))
    assert finding.severity == "note" and finding.where.line == 30
    assert finding.message == (
        "With batches of 64 the device works for 0.2 ms of the 10 ms of a step, and 1 % of its memory were ever used."
    )
    assert finding.fix.startswith("Try batches of 512, with a learning rate to match.")
    assert finding.evidence["expected_gain"] == pytest.approx(7 / 8 * 0.98)


def test_no_larger_batch_is_asked_for_than_the_device_has_time_for() -> None:
    [finding] = found(profile(**{**IDLE, "device_busy_s": 0.0072, "kernels": 400, "plain_s": 0.004}))
    assert "batches of 128," in finding.fix


@pytest.mark.parametrize(
    ("others", "batch"),
    [
        ({}, 513),
        ({"kernels": 500}, 64),  # launch-bound
        ({"device_busy_s": 0.0045}, 64),  # 22.5 us each
        ({"device_busy_s": 0.009, "kernels": 499, "plain_s": 0.0035}, 64),  # busy for half of the step
        ({"peak_bytes": 38 * 10**9}, 64),
        ({"peak_bytes": 0}, 64),
    ],
)
def test_each_condition_is_needed(others: dict[str, float], batch: int) -> None:
    assert found(profile(**{**IDLE, **others}), batch) == []


def test_batches_of_an_evaluation_are_none() -> None:
    assert judged([settings(), given(trained=False), profile(**IDLE)], NAME) == []
