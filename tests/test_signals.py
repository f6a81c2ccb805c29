"""What a handler of a signal raises is the script's, wherever it comes up."""

from __future__ import annotations

import _signal
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import pytest

from torch_debugger.checks.base import Check, RunState
from torch_debugger.checks.judge import Judge
from torch_debugger.probes.probe import Guard
from torch_debugger.records import Finding, Notice, Record
from torch_debugger.runner.in_process import run_in_process
from torch_debugger.runner.session import Session
from torch_debugger.settings import Settings
from torch_debugger.system.signals import alarms_deferred, is_the_scripts


class Alarm(Exception):
    pass


def ring(number: int, frame: FrameType | None) -> None:
    raise Alarm


@pytest.fixture(params=["SIGALRM", "SIGCHLD"])
def number(request: pytest.FixtureRequest) -> Iterator[int]:
    wanted = getattr(signal, request.param)
    before = signal.signal(wanted, ring)
    yield wanted
    signal.signal(wanted, before)


def test_an_alarm_in_a_probe_reaches_the_script_and_leaves_the_probe_on(number: int) -> None:
    faults: list[str] = []
    guard = Guard(lambda probe, error: faults.append(probe))
    with pytest.raises(Alarm):
        guard.call("loaders", os.kill, os.getpid(), number)
    assert (faults, guard.removed) == ([], set())


def test_a_fault_of_a_probe_is_still_its_own(number: int) -> None:
    faults: list[str] = []
    guard = Guard(lambda probe, error: faults.append(probe))
    guard.call("loaders", lambda: 1 / 0)
    assert faults == ["loaders"]


def test_a_handler_is_looked_up_as_by_signal_itself() -> None:
    """Among its constants, by the handler's own `__eq__`, in the versions of Python that do so."""
    compared: list[str] = []

    class Noticing:
        __hash__ = None  # type: ignore[assignment]

        def __call__(self, number: int, frame: FrameType | None) -> None:
            pass

        def __eq__(self, other: object) -> bool:
            compared.append(type(other).__name__)
            return self is other

    session = Session(Settings(), "train.py", [], [lambda record: None])
    told = []
    for is_watched in (False, True):
        if is_watched:
            session.start()
        compared.clear()
        handler = Noticing()
        signal.signal(signal.SIGUSR1, handler)
        got = signal.getsignal(signal.SIGUSR1)
        before = signal.signal(signal.SIGUSR1, signal.SIG_DFL)
        told.append((got is before is handler, list(compared)))
    session.end("finished")
    assert told[0] == told[1] and told[0][0]


def test_a_workers_end_waits_until_the_crash_is_explained() -> None:
    before = signal.signal(signal.SIGCHLD, ring)
    try:
        with alarms_deferred():
            os.kill(os.getpid(), signal.SIGCHLD)
        assert signal.getsignal(signal.SIGCHLD) is ring
    finally:
        signal.signal(signal.SIGCHLD, before)


def test_an_exception_of_its_own_came_by_no_signal() -> None:
    with pytest.raises(ZeroDivisionError) as caught:
        _ = 1 / 0
    assert not is_the_scripts(caught.value)


class Unprintable:
    def __call__(self, number: int, frame: FrameType | None) -> None:
        raise Alarm

    def __repr__(self) -> str:
        raise ZeroDivisionError


def test_a_handler_is_never_asked_for_its_repr() -> None:
    before, handler = _signal.getsignal(signal.SIGCHLD), Unprintable()
    _signal.signal(signal.SIGCHLD, handler)
    try:
        assert not is_the_scripts(ValueError())
        with alarms_deferred():
            os.kill(os.getpid(), signal.SIGCHLD)
        assert _signal.getsignal(signal.SIGCHLD) is handler
    finally:
        _signal.signal(signal.SIGCHLD, before)


def test_an_alarm_in_a_check_is_no_fault_of_the_check(number: int) -> None:
    """A Debugger judges in the script's own process."""

    class Listening(Check):
        name = "listening"
        reads = (Notice,)

        def see(self, record: Record, state: RunState) -> list[Finding]:
            os.kill(os.getpid(), number)
            return []

    judge = Judge()
    check = Listening()
    judge.checks.append(check)
    judge._readers.setdefault(Notice, []).append(check)
    with pytest.raises(Alarm):
        judge.see(Notice("hello", 1))
    assert check in judge.checks


def test_a_worker_that_ends_while_its_broken_connection_is_told_costs_no_explanation(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Its connection breaks a moment before the handler of SIGCHLD hears of its end."""
    real = Session.crash

    def crash(self: Session, error: BaseException) -> None:
        os.kill(os.getpid(), signal.SIGCHLD)
        real(self, error)

    script = tmp_path / "train.py"
    script.write_text("raise ConnectionResetError(104, 'Connection reset by peer')\n")
    monkeypatch.setattr(Session, "crash", crash)
    main, before = sys.modules["__main__"], signal.signal(signal.SIGCHLD, ring)
    try:
        result, code = run_in_process(str(script), (), Settings())
    finally:
        signal.signal(signal.SIGCHLD, before)
        sys.modules["__main__"] = main
    assert (code, [finding.name for finding in result.findings]) == (1, ["unexplained-crash"])
