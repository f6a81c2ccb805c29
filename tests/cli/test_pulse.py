"""The look from outside at a child that says nothing any more."""

from __future__ import annotations

import os

import pytest

from torch_debugger.log.process_channels import Board
from torch_debugger.ranks.process_activity import KernelView
from torch_debugger.records import HangFact
from torch_debugger.runner import hang_reports as pulse_module
from torch_debugger.runner.hang_reports import HeartbeatMonitor

TIMEOUT_S, TICK_S = 2.0, 0.15


@pytest.fixture
def pulse(monkeypatch: pytest.MonkeyPatch) -> HeartbeatMonitor:
    """Of a process that waits, and whose watchdog was heard once."""
    monkeypatch.setattr(pulse_module, "view_process", lambda pid: KernelView(0.0, 0, "S", "futex", -1, ""))
    monkeypatch.setattr(pulse_module, "has_handler", lambda pid, number: True)
    monkeypatch.setattr(pulse_module, "ask", lambda pid, number, fd: "")
    board = Board.create()
    board.beats, board.stack_signal, board.stacks_fd = 1, 1, 10**6
    return HeartbeatMonitor(board, os.getpid(), TIMEOUT_S, "report")


def silent_for(pulse: HeartbeatMonitor, first_s: float) -> float:
    """How long it was looked at, again and again, until it was told."""
    for tick in range(100):
        if (found := pulse.look(first_s + tick * TICK_S)) is not None:
            assert isinstance(found, HangFact)
            assert found.still_s == pytest.approx(tick * TICK_S, abs=1.0 + 2 * TICK_S)
            return tick * TICK_S
    raise AssertionError("nothing was told")


def test_a_child_that_is_silent_for_long_is_told(pulse: HeartbeatMonitor) -> None:
    assert silent_for(pulse, 1000.0) == pytest.approx(TIMEOUT_S, abs=1.5 * TICK_S)


def test_time_in_which_we_were_stopped_as_well_is_not_the_childs(pulse: HeartbeatMonitor) -> None:
    assert pulse.look(1000.0) is None
    assert pulse.look(1000.0 + TICK_S) is None
    assert silent_for(pulse, 1100.0) > TIMEOUT_S / 3
