"""How long loaders are waited for, and where that time goes."""

from __future__ import annotations

import itertools
import sys
import time
from collections import deque
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, TensorDataset

from tests.probes.watching import Seen, watched
from torch_debugger.probes.data import loading_times as line_clock
from torch_debugger.probes.data.loading_times import LineClock, LoadingTimes, costs_of, typical
from torch_debugger.records import HeldData, LoaderFact, LoadingLines, LoadingTime
from torch_debugger.source.datasets import stored_data
from torch_debugger.stats.resources import of_this_thread, of_workers


class Sleepy(Dataset[torch.Tensor]):
    def __init__(self, pause_s: float = 0.005, count: int = 24) -> None:
        self.pause_s, self.count = pause_s, count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> torch.Tensor:
        time.sleep(self.pause_s)
        return torch.ones(4)


@pytest.fixture(autouse=True)
def _tell_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LoadingTimes, "APART_S", 0.0)


def train(loader: Any, passes: int = 1) -> Seen:
    with watched(deep=False) as seen:
        net = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(passes):
            for x in loader():
                optimizer.zero_grad()
                net(x).mean().backward()
                optimizer.step()
    return seen


def last(seen: Seen) -> LoadingTime:
    return seen.of(LoadingTime)[-1]


def test_waits_of_the_training_process() -> None:
    told = last(train(lambda: DataLoader(Sleepy(0.02), batch_size=2)))
    assert (told.loader, told.workers_cpu_s, told.opening_s, told.on_device) == (1, None, 0.0, False)
    assert told.batches == 12 - LoadingTimes.LEFT_OUT - 1  # the clock begins with the one after those left out
    assert 0.04 <= told.wait_s <= told.elapsed_s / told.batches
    assert told.wait_cpu_s < 0.5 * told.wait_s  # it sleeps
    assert told.stretch >= 1.0
    assert told.cpu_s < told.elapsed_s


def test_workers_and_their_start() -> None:
    loader = DataLoader(Sleepy(0.001), batch_size=2, num_workers=2)
    told = last(train(lambda: loader, passes=3))
    assert told.passes == 2
    assert told.passes_s > 0
    assert told.opening_s > 0.002  # at least a batch of two samples
    assert told.closing_s > 0
    if sys.platform == "linux":
        assert told.workers_cpu_s is not None
        assert told.workers_cpu_s >= 0
        assert told.worker_threads >= 1


def test_a_validation_loader_is_told_by_its_passes() -> None:
    with watched(deep=False) as seen:
        net = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        train_loader, test_loader = DataLoader(Sleepy(0.0)), DataLoader(Sleepy(0.0, 2), num_workers=1)
        for _ in range(3):
            for x in train_loader:
                optimizer.zero_grad()
                net(x).mean().backward()
                optimizer.step()
            with torch.no_grad():
                for x in test_loader:
                    net(x)
    [told] = [record for record in seen.of(LoadingTime) if record.loader == 2][-1:]
    assert (told.batches, told.passes) == (0, 1)  # two more than the first, one after the last step
    assert told.opening_s > 0


def test_the_lines_of_a_dataset() -> None:
    seen = train(lambda: DataLoader(Sleepy(0.003, 48), batch_size=2))
    told = seen.of(LoadingLines)[-1]
    assert told.looks >= 2
    (slow,) = [line for line in told.lines if line.place.code == "time.sleep(self.pause_s)"]
    assert 2 * 0.003 <= slow.seconds <= told.seconds
    assert sys.gettrace() is None


def test_another_tools_trace_function_is_left_alone() -> None:
    def trace(*_: Any) -> None:
        return None

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        seen = train(lambda: DataLoader(Sleepy(0.003), batch_size=2))
        assert sys.gettrace() is trace
    finally:
        sys.settrace(before)
    assert not seen.of(LoadingLines)


def test_fast_loaders_are_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LoadingTimes, "LEAST_S", 10.0)
    assert not train(lambda: DataLoader(Sleepy(0.003))).of(LoadingLines)


def test_a_slow_wait_now_and_then_is_left_out() -> None:
    waits = deque([(0.01, 0.001)] * 95 + [(5.0, 0.0)] * 5)
    assert typical(waits) == pytest.approx((0.01, 0.001))
    assert typical(deque()) == (0.0, 0.0)


passed: list[float] = []  # seconds of a clock that goes by what is appended


def inner(seconds: float) -> None:
    passed.append(seconds)


def outer() -> None:
    inner(0.25)
    passed.append(0.125)


def test_a_line_has_the_time_of_what_it_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line_clock, "time", SimpleNamespace(perf_counter=lambda: sum(passed)))
    clock = LineClock()
    with clock.running():
        outer()
    costs = {line.place.code: line for line in costs_of(clock.lines)}
    assert costs["inner(0.25)"].seconds == costs["passed.append(seconds)"].seconds == 0.25
    assert costs["passed.append(seconds)"].depth == costs["inner(0.25)"].depth + 1
    assert costs["passed.append(0.125)"].seconds == 0.125
    assert (clock.seconds, clock.own_s) == (0.375, 0.0)


def items() -> Iterator[int]:
    yield from range(1000)


def one_long_call() -> Iterator[int]:
    total = 0
    for number in range(1000):
        total += number
    yield total


@pytest.mark.parametrize(("work", "most_s"), [(items, LineClock.ENOUGH_S), (one_long_call, LineClock.TOO_MUCH_S)])
def test_a_look_ends_when_it_costs_too_much(work: Any, most_s: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between two samples early, in the midst of one late."""
    ticks = itertools.count()  # each look at the clock takes a millisecond
    monkeypatch.setattr(line_clock, "time", SimpleNamespace(perf_counter=lambda: next(ticks) / 1000))
    clock = LineClock()
    with clock.running():
        total = sum(work())
        assert sys.gettrace() is None
    assert total == sum(range(1000))
    assert most_s <= clock.own_s + 1e-9 < most_s + 0.005


def test_an_error_of_the_users_passes_through() -> None:
    clock = LineClock()
    with pytest.raises(ZeroDivisionError), clock.running():
        _ = 1 / 0
    assert sys.gettrace() is None


def test_a_fault_of_ours_does_not() -> None:
    clock = LineClock()
    clock._charge = None  # type: ignore[method-assign, assignment]
    with clock.running():
        outer()
    assert isinstance(clock.fault, TypeError)
    assert sys.gettrace() is None


@pytest.mark.skipif(sys.platform != "linux", reason="the system does not tell")
def test_a_thread_tells_what_it_computed() -> None:
    before = of_this_thread()
    total = sum(range(2_000_000))
    after = of_this_thread()
    assert total and before is not None and after is not None
    assert after.cpu_s > before.cpu_s
    assert of_workers(object()) == {}


def test_what_a_dataset_holds() -> None:
    class Table(Dataset[Any]):
        def __init__(self) -> None:
            self.rows = [[1.0, 2.0]] * 6
            self.labels = numpy.zeros((6, 3), dtype=numpy.float32)
            self.classes = ["a", "b"]
            self.name = "table"

        def __len__(self) -> int:
            return 6

    assert stored_data(Table(), 6) == (
        HeldData("rows", "list", 6, "list"),
        HeldData("labels", "ndarray", 6, "", 12),
    )
    tensors = TensorDataset(torch.zeros(5, 4), torch.zeros(5, dtype=torch.int64))
    assert stored_data(tensors, 5) == (
        HeldData("tensors[0]", "Tensor", 5, "", 16),
        HeldData("tensors[1]", "Tensor", 5, "", 8),
    )


def test_what_is_told_of_a_loader() -> None:
    with watched() as seen:
        list(DataLoader(Sleepy(0.0, 2), num_workers=1, persistent_workers=True, prefetch_factor=3))
        list(DataLoader(TensorDataset(torch.zeros(4, 2)), collate_fn=list))
    first, second = seen.of(LoaderFact)
    assert (first.persistent, first.prefetch, first.collates, first.iterable) == (True, 3, True, False)
    assert (second.persistent, second.prefetch, second.collates) == (False, 0, False)
    assert [held.kind for held in second.holds] == ["Tensor"]
