"""device-waited-for-each-step: only what the device loses by a wait counts."""

from __future__ import annotations

import dataclasses

import pytest

from tests.checks.speed.profiles import copied, profile, settings, sync
from tests.fakes import judged
from torch_debugger.records import Finding, ProfileFact

NAME = "device-waited-for-each-step"


def found(fact: ProfileFact) -> list[Finding]:
    return judged([settings(), fact], NAME)


IDLE = {"device_busy_s": 0.025}  # of 50 ms


def test_the_line_the_loss_and_the_edit_are_told() -> None:
    [finding] = found(profile(syncs=(sync(0.02),), **IDLE))
    assert finding.severity == "warning"
    assert finding.message == (
        "`running += loss.item()` waits for the device once in each step, for 4 ms, and then the device has "
        "nothing to do: that is 4 ms of the 10 ms of a step."
    )
    assert finding.fix == (
        "Write `running += loss.detach()`: the sum stays on the device, and printing it now and then reads "
        "it. That saves up to 40 % of a step."
    )
    assert finding.where.line == 40
    assert finding.edit is not None and finding.edit.after == "running += loss.detach()"
    assert finding.evidence["expected_gain"] == pytest.approx(0.4)
    assert finding.evidence["op"] == "aten::item"


def test_no_more_is_claimed_than_the_device_is_idle() -> None:
    [finding] = found(profile(syncs=(sync(0.02),), device_busy_s=0.045))
    assert (finding.severity, finding.evidence["expected_gain"]) == ("note", pytest.approx(0.1))


def test_a_wait_for_work_that_must_be_done_is_no_loss() -> None:
    assert found(profile(syncs=(sync(0.0004, wait_s=0.04),), **IDLE)) == []


def test_a_line_that_waits_now_and_then_is_left_alone() -> None:
    assert found(profile(syncs=(sync(0.02, count=2),), **IDLE)) == []


def test_steps_of_microseconds_are_left_alone() -> None:
    tiny = profile(plain_s=0.0005, device_busy_s=0.001, syncs=(sync(0.001, wait_s=0.001),))
    assert found(tiny) == []


def test_copies_to_the_device_are_left_to_another_check() -> None:
    wait = dataclasses.replace(sync(0.02, op="aten::to"), place=copied(0.01, 10**8).place)
    assert found(profile(syncs=(wait,), copies=(copied(0.01, 10**8),), **IDLE)) == []
    assert found(profile(syncs=(wait,), copies=(copied(0.01, 10**8, way="device to host"),), **IDLE)) != []


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
    [finding] = found(profile(syncs=(sync(0.02, op=op, code=code),), **IDLE))
    assert word in finding.fix and finding.edit is None


def test_more_lines_are_counted() -> None:
    other = dataclasses.replace(sync(0.004), place=copied(0.0, 0).place)
    [finding] = found(profile(syncs=(sync(0.015), other), **IDLE))
    assert finding.message.endswith("1 more lines do the same.")
