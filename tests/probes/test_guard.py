"""Every probe runs through the guard: its faults stay inside, its time is counted once."""

from __future__ import annotations

import sys

import pytest

from torch_debugger.probes import probe as guard_module
from torch_debugger.probes.probe import CALL_S, Guard


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def perf_counter(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(guard_module, "time", made)
    return made


@pytest.fixture
def faults() -> list[tuple[str, str]]:
    return []


@pytest.fixture
def guard(faults: list[tuple[str, str]]) -> Guard:
    return Guard(lambda probe, error: faults.append((probe, repr(error))))


def fail(*arguments: object) -> None:
    raise ValueError("ours")


def test_what_a_probe_returns_comes_back(guard: Guard) -> None:
    assert guard.call("p", max, 3, 5) == 5


def test_a_fault_stays_inside_and_is_told_once(guard: Guard, faults: list[tuple[str, str]]) -> None:
    assert guard.call("p", fail) is None
    assert guard.call("p", fail) is None
    assert faults == [("p", "ValueError('ours')")]


def test_a_failed_probe_is_not_asked_again(guard: Guard) -> None:
    calls: list[int] = []
    guard.call("p", fail)
    guard.call("p", calls.append, 1)
    guard.call("q", calls.append, 2)
    assert calls == [2]


def test_a_fault_inside_another_probe_takes_off_only_itself(guard: Guard, faults: list[tuple[str, str]]) -> None:
    assert guard.call("outer", lambda: (guard.call("inner", fail), "done")[1]) == "done"
    assert guard.removed == {"inner"}
    assert [probe for probe, _ in faults] == ["inner"]


@pytest.mark.parametrize("ending", [KeyboardInterrupt, GeneratorExit])
def test_the_users_own_endings_pass(guard: Guard, ending: type[BaseException]) -> None:
    def end() -> None:
        raise ending

    with pytest.raises(ending):
        guard.call("p", end)
    assert guard.removed == set()
    assert guard.call("p", max, 1, 2) == 2
    assert guard.take_spent() > 0


def test_an_end_of_our_own_passes(guard: Guard) -> None:
    """--max-steps, a breakpoint that is quit."""
    ours = compile("raise SystemExit(0)", guard_module.__file__, "exec")
    with pytest.raises(SystemExit):
        guard.call("p", exec, ours)
    assert guard.removed == set()


def test_an_object_that_ends_the_program_when_it_is_looked_at_does_not(
    guard: Guard, faults: list[tuple[str, str]]
) -> None:
    guard.call("p", lambda: sys.exit())
    assert [probe for probe, _ in faults] == ["p"]


def test_time_is_counted(guard: Guard, clock: Clock) -> None:
    def look(seconds: float) -> None:
        clock.now += seconds

    guard.call("p", look, 2.0)
    clock.now += 100.0
    guard.call("q", look, 3.0)
    assert guard.take_spent() == pytest.approx(5.0 + 2 * CALL_S)
    assert guard.take_spent() == 0.0


def test_a_probe_inside_a_probe_is_counted_once(guard: Guard, clock: Clock) -> None:
    def inner() -> None:
        clock.now += 1.0

    def outer() -> None:
        guard.call("inner", inner)
        clock.now += 1.0

    guard.call("outer", outer)
    assert guard.take_spent() == pytest.approx(2.0 + CALL_S)


def test_the_time_of_a_probe_that_fails_is_counted_too(guard: Guard, clock: Clock) -> None:
    def slow_failure() -> None:
        clock.now += 4.0
        raise ValueError

    guard.call("p", slow_failure)
    assert guard.take_spent() == pytest.approx(4.0 + CALL_S)


def test_contain_asks_also_those_who_failed(guard: Guard) -> None:
    """What a failed probe put on must still come off."""
    calls: list[int] = []
    guard.call("p", fail)
    guard.contain("p", calls.append, 1)
    guard.contain("p", fail)
    assert calls == [1]
