"""Where the time of a step goes: every part is given its own, and together they are the step."""

from __future__ import annotations

import threading
import types
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

from tests.probes.watching import watched
from torch_debugger.probes import step_times as phases_module
from torch_debugger.probes.probe import Guard
from torch_debugger.probes.step_times import BACKWARD, COPY, DATA, FORWARD, LOGGING, OPTIMIZER, OTHER, OWN, Phases


class Clock:
    """Stands still unless it is moved."""

    now = 100.0

    def perf_counter(self) -> float:
        return self.now

    def move(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(phases_module, "time", clock)
    return clock


def phases_and_told(clock: Clock) -> tuple[Phases, list[tuple[int, dict[str, float]]], types.SimpleNamespace]:
    told: list[tuple[int, dict[str, float]]] = []
    guard = types.SimpleNamespace(spent_s=0.0)
    made: Callable[..., Phases] = Phases
    return made(guard, lambda step, split: told.append((step, split))), told, guard


def test_each_part_has_its_own_time_and_ours_is_told_apart(clock: Clock) -> None:
    phases, told, guard = phases_and_told(clock)
    phases.begin_step(on_device=False)
    clock.move(1)  # printing
    phases.enter(DATA)
    clock.move(2)
    phases.enter(COPY)
    clock.move(3)
    phases.enter(FORWARD)
    clock.move(4)
    guard.spent_s += 0.5  # of which this is ours
    phases.enter(BACKWARD)
    clock.move(5)
    phases.end_backward()
    clock.move(6)
    phases.begin_update()
    clock.move(7)
    phases.end_update()
    phases.end_step(1, looked_at=False)
    (step, split), *others = told
    assert (step, others) == (1, [])
    assert split == {
        LOGGING: 1, DATA: 2, COPY: 3, FORWARD: 3.5, BACKWARD: 5, OTHER: 6, OPTIMIZER: 7, OWN: 0.5
    }  # fmt: skip
    assert sum(split.values()) == 28


def test_gradient_accumulation_adds_up(clock: Clock) -> None:
    phases, told, _ = phases_and_told(clock)
    phases.begin_step(on_device=False)
    for _ in range(3):
        phases.enter(DATA)
        clock.move(1)
        phases.enter(FORWARD)
        clock.move(10)
        phases.enter(BACKWARD)
        clock.move(20)
        phases.end_backward()
    phases.end_step(1, looked_at=False)
    assert {part: seconds for part, seconds in told[0][1].items() if seconds} == {
        DATA: 3, FORWARD: 30, BACKWARD: 60
    }  # fmt: skip


def test_a_closure_inside_of_the_update_does_not_end_it(clock: Clock) -> None:
    phases, told, _ = phases_and_told(clock)
    phases.begin_step(on_device=False)
    phases.begin_update()
    clock.move(1)
    phases.enter(FORWARD)
    clock.move(10)
    phases.enter(BACKWARD)
    clock.move(20)
    phases.end_backward()
    clock.move(2)
    phases.end_update()
    phases.end_step(1, looked_at=False)
    assert (told[0][1][OPTIMIZER], told[0][1][BACKWARD]) == (3, 20)


def test_a_model_that_is_not_heard_has_a_forward_all_the_same(clock: Clock) -> None:
    phases, told, _ = phases_and_told(clock)
    phases.begin_step(on_device=False)
    phases.enter(DATA)
    clock.move(1)
    phases.enter(COPY)
    clock.move(8)
    phases.enter(BACKWARD)
    clock.move(9)
    phases.end_step(1, looked_at=False)
    assert told[0][1][FORWARD] == 8
    assert COPY not in told[0][1]


def test_tiny_steps_are_told_together_as_their_mean(clock: Clock) -> None:
    phases, told, _ = phases_and_told(clock)
    for step in range(1, 11):
        phases.begin_step(on_device=False)
        phases.enter(FORWARD)
        clock.move(0.022)
        phases.end_step(step, looked_at=False)
    assert [step for step, _ in told] == [3, 6, 9]
    assert told[0][1][FORWARD] == pytest.approx(0.022)


def test_of_tiny_steps_only_some_have_marks(clock: Clock) -> None:
    phases, _, _ = phases_and_told(clock)
    marked: list[int] = []
    for step in range(1, 50):
        phases.begin_step(on_device=False)
        marked += [step] if phases.on else []
        clock.move(0.0009)
        phases.end_step(step, looked_at=False)
    assert marked == [1, 24, 47]


def test_steps_that_were_looked_at_closely_are_left_out(clock: Clock) -> None:
    phases, told, _ = phases_and_told(clock)
    phases.begin_step(on_device=False)
    clock.move(1)
    phases.end_step(1, looked_at=True)
    assert told == []


def test_a_loader_that_is_read_by_another_thread_takes_no_time_of_the_step(clock: Clock) -> None:
    phases, told, _ = phases_and_told(clock)
    phases.begin_step(on_device=False)
    phases.enter(FORWARD)
    reader = threading.Thread(target=phases.enter, args=(DATA,))
    reader.start()
    reader.join()
    clock.move(1)
    phases.end_step(1, looked_at=False)
    assert DATA not in told[0][1]


def test_a_training_loop_is_split_as_it_is_written(clock: Clock) -> None:
    class Slow(Dataset[torch.Tensor]):
        def __len__(self) -> int:
            return 160

        def __getitem__(self, index: int) -> torch.Tensor:
            clock.move(1)
            return torch.ones(3)

    class Net(nn.Linear):
        def forward(self, x: Any) -> Any:
            clock.move(16)
            return super().forward(x)

    with watched(deep=False) as seen:
        net = Net(3, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
        optimizer.register_step_pre_hook(lambda *_: clock.move(64))
        for batch in DataLoader(Slow(), batch_size=4):
            clock.move(8)  # to the device, say
            loss = net(batch).sum()
            loss.register_hook(lambda _: clock.move(32))
            loss.backward()
            optimizer.step()
            clock.move(128)
    parts = {DATA: 4, COPY: 8, FORWARD: 16, BACKWARD: 32, OPTIMIZER: 64, LOGGING: 128}
    for part, seconds in parts.items():
        times = seen.scalars(f"split/{part}_s")
        assert times
        assert all(found == pytest.approx(seconds, abs=0.5) for found in times.values()), (part, times)


def test_the_guard_is_what_it_subtracts() -> None:
    guard = Guard(lambda name, error: None)
    phases = Phases(guard, lambda step, split: None)
    phases.begin_step(on_device=False)
    guard.call("probe", lambda: None)
    phases.enter(FORWARD)
    assert phases._split[OWN] > 0
