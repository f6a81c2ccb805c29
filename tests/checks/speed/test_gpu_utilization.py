from __future__ import annotations

import dataclasses

import pytest

from tests.checks.speed.profiles import copied, profile, settings, sync
from tests.fakes import findings_of, judged, only, place, scalars
from torch_debugger.records import Finding, ProfileFact, Record, RootInput

WAITED = "device-waited-for-each-step"
waiting = findings_of(WAITED, settings())
IDLE = {"device_busy_s": 0.025}  # of 50 ms


def test_the_line_the_loss_and_the_edit_are_told() -> None:
    [finding] = waiting(profile(syncs=(sync(0.02),), **IDLE))
    assert finding.message == (
        "`running += loss.item()` waits for the device once in each step, for 4 ms, and then the device has "
        "nothing to do: that is 4 ms of the 10 ms of a step."
    )
    assert finding.fix == (
        "Write `running += loss.detach()`: the sum stays on the device, and printing it now and then reads "
        "it. That saves up to 40 % of a step."
    )
    assert (finding.severity, finding.where.line) == ("warning", 40)
    assert finding.edit is not None and finding.edit.after == "running += loss.detach()"
    assert finding.evidence["expected_gain"] == pytest.approx(0.4)
    assert finding.evidence["op"] == "aten::item"


def test_no_more_is_claimed_than_the_device_is_idle() -> None:
    [finding] = waiting(profile(syncs=(sync(0.02),), device_busy_s=0.045))
    assert (finding.severity, finding.evidence["expected_gain"]) == ("note", pytest.approx(0.1))


def test_waits_that_cost_nothing_are_left_alone() -> None:
    # a wait for work that must be done is no loss
    assert waiting(profile(syncs=(sync(0.0004, wait_s=0.04),), **IDLE)) == []
    # a line that waits now and then is left alone
    assert waiting(profile(syncs=(sync(0.02, count=2),), **IDLE)) == []
    tiny = profile(plain_s=0.0005, device_busy_s=0.001, syncs=(sync(0.001, wait_s=0.001),))
    assert waiting(tiny) == [], "steps of microseconds are left alone"


def test_copies_to_the_device_are_left_to_another_check() -> None:
    wait = dataclasses.replace(sync(0.02, op="aten::to"), place=copied(0.01, 10**8).place)
    assert waiting(profile(syncs=(wait,), copies=(copied(0.01, 10**8),), **IDLE)) == []
    assert waiting(profile(syncs=(wait,), copies=(copied(0.01, 10**8, way="device to host"),), **IDLE)) != []


@pytest.mark.parametrize(
    ("op", "code", "word"),
    [
        ("aten::nonzero", "rows = x[mask]", "torch.where"),
        ("aten::index", "rows = x[mask]", "torch.where"),
        ("aten::is_nonzero", "if loss > 3:", "Do not branch"),
        ("aten::to", "history.append(out.cpu())", "`.detach()`"),
        ("cudaDeviceSynchronize", "torch.cuda.synchronize()", "Leave out"),
        ("aten::item", "print(loss.item())", "every 50 steps"),
    ],
)
def test_the_remedy_fits_what_was_waited_for(op: str, code: str, word: str) -> None:
    [finding] = waiting(profile(syncs=(sync(0.02, op=op, code=code),), **IDLE))
    assert word in finding.fix and finding.edit is None


def test_more_lines_are_counted() -> None:
    other = dataclasses.replace(sync(0.004), place=copied(0.0, 0).place)
    [finding] = waiting(profile(syncs=(sync(0.015), other), **IDLE))
    assert finding.message.endswith("1 more lines do the same.")


LAUNCH = "launch-bound"
TINY = {"device_busy_s": 0.01, "kernels": 2000}  # 5 us each, 2 of 10 ms


def launching(fact: ProfileFact, *before: Record) -> list[Finding]:
    return judged([settings(), *before, fact], LAUNCH)


def test_kernels_and_their_time_are_told() -> None:
    [finding] = launching(profile(**TINY))
    assert finding.severity == "warning" and finding.where.line == 35
    assert finding.message == (
        "The device works for 2 ms of the 10 ms of a step (20 %) and waits for the host otherwise, which "
        "starts 400 kernels of 5 us each."
    )
    assert 'torch.compile(model, mode="reduce-overhead")' in finding.fix and "up to 64 % of a step" in finding.fix
    assert finding.evidence["expected_gain"] == pytest.approx(0.64)


def test_the_line_that_calls_the_model_is_named_if_it_is_known() -> None:
    call = place(60, code="out = model(x)")
    assert only(launching(profile(**TINY), RootInput("model", True, (8, 4), 0.0, 1.0, call, 3))).where == call


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
def test_each_condition_of_many_launches_is_needed(others: dict[str, object]) -> None:
    assert launching(profile(**others)) == []


def test_time_that_is_no_launching_is_left_out() -> None:
    split = scalars(11, {"split/data_wait_s": 0.0076, "split/forward_s": 0.0024})
    assert launching(profile(**TINY), split) == [], "time that the device waits for data is no launching"
    [finding] = launching(profile(**TINY, syncs=(sync(0.02),)))
    assert finding.evidence["expected_gain"] == pytest.approx(0.32), "nor is what follows a wait of the host"
    # The window took 100 ms, its steps take 12.5 without it: the device is busy for most of them.
    assert launching(profile(**TINY, plain_s=0.0025)) == [], "the profiler s own time is left out"


SMALL = "small-batch"
HARDLY_BUSY = {"device_busy_s": 0.001, "kernels": 200, "peak_bytes": 10**9}  # of 50 ms, 5 us each


def given(batch: int = 64, trained: bool = True) -> RootInput:
    return RootInput("net", trained, (batch, 16), 0.0, 1.0, place(30, code="loss = f(net(x), y)"), 3)


def small(fact: ProfileFact, batch: int = 64) -> list[Finding]:
    return judged([settings(), given(batch), fact], SMALL)


def test_the_batch_and_the_room_are_told() -> None:
    [finding] = small(profile(**HARDLY_BUSY))
    assert finding.severity == "note" and finding.where.line == 30
    assert finding.message == (
        "With batches of 64 the device works for 0.2 ms of the 10 ms of a step, and 1 % of its memory were ever used."
    )
    assert finding.fix.startswith("Try batches of 512, with a learning rate to match.")
    assert finding.evidence["expected_gain"] == pytest.approx(7 / 8 * 0.98)


def test_no_larger_batch_is_asked_for_than_the_device_has_time_for() -> None:
    [finding] = small(profile(**{**HARDLY_BUSY, "device_busy_s": 0.0072, "kernels": 400, "plain_s": 0.004}))
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
def test_each_condition_of_small_batches_is_needed(others: dict[str, float], batch: int) -> None:
    assert small(profile(**{**HARDLY_BUSY, **others}), batch) == []


def test_batches_of_an_evaluation_are_none() -> None:
    assert judged([settings(), given(trained=False), profile(**HARDLY_BUSY)], SMALL) == []
