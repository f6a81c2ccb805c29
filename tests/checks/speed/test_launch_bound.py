"""launch-bound: many tiny kernels, and a device that waits for the next one."""

from __future__ import annotations

import pytest

from tests.checks.speed.profiles import profile, settings, sync
from tests.fakes import judged, place, scalars
from torch_debugger.records import Finding, ProfileFact, Record, RootInput

NAME = "launch-bound"
TINY = {"device_busy_s": 0.01, "kernels": 2000}  # 5 us each, 2 of 10 ms


def found(fact: ProfileFact, *before: Record) -> list[Finding]:
    return judged([settings(), *before, fact], NAME)


def test_kernels_and_their_time_are_told() -> None:
    [finding] = found(profile(**TINY))
    assert finding.severity == "warning" and finding.where.line == 35
    assert finding.message == (
        "The device works for 2 ms of the 10 ms of a step (20 %) and waits for the host otherwise, which "
        "starts 400 kernels of 5 us each."
    )
    assert 'torch.compile(model, mode="reduce-overhead")' in finding.fix and "up to 64 % of a step" in finding.fix
    assert finding.evidence["expected_gain"] == pytest.approx(0.64)


def test_the_line_that_calls_the_model_is_named_if_it_is_known() -> None:
    call = place(60, code="out = model(x)")
    [finding] = found(profile(**TINY), RootInput("model", True, (8, 4), 0.0, 1.0, call, 3))
    assert finding.where == call


@pytest.mark.parametrize(
    "others",
    [
        {"device_busy_s": 0.01, "kernels": 499},  # under a hundred in a step
        {"device_busy_s": 0.02, "kernels": 990},  # 20.2 us each
        {"device_busy_s": 0.031, "kernels": 2000},  # busy for 62 %
        {**TINY, "on_device": False},
        {**TINY, "launches": 100},  # a CUDA graph starts the others
    ],
)
def test_each_condition_is_needed(others: dict[str, object]) -> None:
    assert found(profile(**others)) == []


def test_time_that_the_device_waits_for_data_is_no_launching() -> None:
    split = scalars(11, {"split/data_wait_s": 0.0076, "split/forward_s": 0.0024})
    assert found(profile(**TINY), split) == []


def test_nor_is_what_follows_a_wait_of_the_host() -> None:
    [finding] = found(profile(**TINY, syncs=(sync(0.02),)))
    assert finding.evidence["expected_gain"] == pytest.approx(0.32)


def test_the_profiler_s_own_time_is_left_out() -> None:
    """The window took 100 ms, its steps take 12.5 without it: the device is busy for most of them."""
    assert found(profile(**TINY, plain_s=0.0025)) == []
