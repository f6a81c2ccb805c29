"""Which thread's training is watched, and when nothing is looked at any more."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch import nn

from tests.probes.watching import watched
from tests.promises.untouched import left_untouched
from torch_debugger.probes.watch import TrainingThread
from torch_debugger.records import Notice, Scalars


class Trained(TrainingThread):
    def __init__(self) -> None:
        self.times_aside = 0
        self.in_a_look = False
        super().__init__(self._count, lambda: self.in_a_look)

    def _count(self) -> None:
        self.times_aside += 1


@pytest.fixture
def training() -> Trained:
    return Trained()


def elsewhere(act: Callable[[], object]) -> None:
    """In another thread, to its end."""
    thread = threading.Thread(target=act)
    thread.start()
    thread.join()


def test_a_thread_that_only_calls_models_is_not_listened_to(training: Trained) -> None:
    assert training.is_this()
    heard: list[bool] = []
    elsewhere(lambda: heard.append(training.is_this()))
    assert (heard, training.is_this(), training.times_aside) == ([False], True, 0)


def test_another_that_trains_while_the_first_goes_on(training: Trained) -> None:
    training.trains()
    at_work: list[bool] = []

    def train() -> None:
        while not at_work:
            time.sleep(0.001)
        training.trains()
        at_work.clear()

    thread = threading.Thread(target=train)
    thread.start()
    at_work.append(True)
    while at_work:
        pass
    thread.join()
    assert training.times_aside == 1


def test_the_first_may_hand_over_and_take_back(training: Trained) -> None:
    """One of them works at a time, however soon after the other."""
    training.trains()
    elsewhere(training.trains)
    with ThreadPoolExecutor(1) as pool:
        pool.submit(training.trains).result()
        training.trains()
        pool.submit(training.trains).result()
    training.trains()
    assert training.times_aside == 0


def test_one_that_trains_in_the_middle_of_a_look(training: Trained) -> None:
    training.trains()
    training.in_a_look = True
    elsewhere(training.trains)
    assert training.times_aside == 1


def train(steps: int = 5) -> None:
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(steps):
        optimizer.zero_grad()
        model(torch.ones(2, 4)).pow(2).mean().backward()
        optimizer.step()


def test_watching_that_stepped_aside_says_so_once_and_leaves_nothing_on() -> None:
    with left_untouched(), watched() as seen:
        seen.plumbing.watch._step_aside()
        seen.plumbing.watch._step_aside()
        before = len(seen)
        train()
        assert len(seen) == before
    (notice,) = seen.of(Notice)
    assert "several threads train at the same time" in notice.text


def test_a_training_that_goes_from_thread_to_thread_is_watched_throughout() -> None:
    with watched() as seen:
        train(3)
        elsewhere(lambda: train(3))
        train(3)
    assert not seen.of(Notice)
    assert {record.step for record in seen.of(Scalars) if "loss" in record.values} == set(range(1, 10))
