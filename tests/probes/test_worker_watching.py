"""What is seen of workers, from the training's side and from inside of them."""

from __future__ import annotations

import multiprocessing
import re
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info

from tests.probes.loader_training import train
from tests.probes.watching import Seen, watched
from torch_debugger.probes.data.batch_times import BatchClocks
from torch_debugger.probes.data.sample_progress import WorkerBoard
from torch_debugger.probes.data.workers import Stalls, WorkerBoards
from torch_debugger.records import ProbeFault, StalledBatch, WorkerLook, WorkerTimes

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="workers are forked on Linux alone")


class Samples(Dataset[torch.Tensor]):
    """Takes its time for one worker, or for one sample; keeps what it made if asked to."""

    def __init__(self, count: int = 48, slow_worker: int = -1, slow_sample: int = -1, keeps: bool = False) -> None:
        self.count, self.slow_worker, self.slow_sample = count, slow_worker, slow_sample
        self.kept: list[torch.Tensor] | None = [] if keeps else None
        self.asked_for = multiprocessing.Event()  # the slow sample begins when the training wants it
        self.asked_for.set()

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> torch.Tensor:
        worker = get_worker_info()
        if worker is not None and worker.id == self.slow_worker:
            time.sleep(0.08)
        if index == self.slow_sample:
            self.asked_for.wait()
            time.sleep(0.5)
        if self.kept is not None:
            self.kept.append(torch.ones(1000))
        return torch.ones(4)


@pytest.fixture(autouse=True)
def _busy_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where other tests run beside these, every batch takes long."""
    monkeypatch.setattr(Stalls, "TIMES", 0.0)
    monkeypatch.setattr(Stalls, "LEAST_S", 0.1)


class Eager:
    """A loader whose batch 18 has the slow sample, made when the training stands still for it."""

    def __init__(self, **settings: Any) -> None:
        self.samples = Samples(slow_sample=37)
        self.loader: Any = DataLoader(self.samples, batch_size=2, **settings)

    def __iter__(self) -> Iterator[torch.Tensor]:
        self.samples.asked_for.clear()
        for number, batch in enumerate(self.loader):
            yield batch
            if number == 17:
                self.samples.asked_for.set()


def stalls_at(number: int, seen: Seen) -> list[StalledBatch]:
    return [stall for stall in seen.of(StalledBatch) if stall.number == number]


def test_the_times_of_each_worker() -> None:
    told = train(DataLoader(Samples(slow_worker=1), batch_size=2, num_workers=2)).of(WorkerTimes)[-1]
    fast, slow = told.workers
    assert (fast.worker, slow.worker, fast.batches, slow.batches) == (0, 1, 12, 12)
    assert told.in_order
    assert 1 <= slow.timed <= 12  # a training that is late itself finds some of them there already
    assert slow.making_s >= 0.16  # two samples
    assert slow.waited_s > fast.waited_s
    assert slow.waited_s <= told.elapsed_s
    assert slow.place.code == "time.sleep(0.08)"


@pytest.mark.parametrize("workers", [0, 2])
def test_the_sample_that_the_training_stands_still_for(workers: int) -> None:
    stalls = stalls_at(18, train(Eager(num_workers=workers), passes=2))
    assert [(stall.number, stall.iteration) for stall in stalls] == [(18, 1), (18, 2)]
    for stall in stalls:
        assert stall.worker == (0 if workers else -1)
        assert stall.waited_s >= 0.1
        assert stall.indices == ((36, 37) if workers else ())
        assert stall.sample is not None
        assert (stall.sample.index, stall.sample.dataset) == (37, "Samples")
        assert stall.sample.seconds >= 0.1  # sampled, and the sampler may come late
        assert stall.sample.place.code in ("time.sleep(0.5)", "self.asked_for.wait()")


def test_persistent_workers_begin_each_pass_anew() -> None:
    seen = train(Eager(num_workers=2, persistent_workers=True), passes=2)
    assert [stall.iteration for stall in stalls_at(18, seen)] == [1, 2]
    assert [worker.batches for worker in seen.of(WorkerTimes)[-1].workers] == [24, 24]


class Stream(IterableDataset[torch.Tensor]):
    def __iter__(self) -> Iterator[torch.Tensor]:
        for number in range(40):
            if number == 31:
                time.sleep(0.8)
            yield torch.ones(4)


def test_a_stream_has_no_indices() -> None:
    seen = train(DataLoader(Stream(), batch_size=2, num_workers=2))
    stall = max(seen.of(StalledBatch), key=lambda stall: stall.waited_s)
    assert stall.indices == ()
    assert stall.sample is not None
    assert (stall.sample.index, stall.sample.dataset) == (None, "Stream")


def test_memory_and_what_gets_longer() -> None:
    dataset = Samples(120, slow_worker=0, keeps=True)
    looks = train(DataLoader(dataset, batch_size=4, num_workers=2)).of(WorkerLook)
    assert {look.worker for look in looks} == {0, 1}
    last = [look for look in looks if look.worker == 0][-1]
    assert 0 < last.own_bytes < last.resident_bytes
    assert last.batches > 0
    [grown] = [each for each in last.grown if each.name == "self.kept"]
    assert (grown.owner, grown.kind) == ("Samples", "list")
    assert grown.length > grown.length_before
    assert grown.entry_bytes == pytest.approx(4300, abs=300)
    assert grown.place.code == "self.kept.append(torch.ones(1000))"


def test_what_was_asked_for_is_known_when_the_loader_is_gone() -> None:
    with watched(deep=False) as seen:
        for _ in DataLoader(Samples(slow_sample=6), batch_size=2, num_workers=2):  # not delivered by then
            break
        asked = seen.plumbing.running().asked
    assert asked is not None
    assert len(asked.pids) == 2
    assert set(asked.of_worker(1)) <= {1, 3, 5}
    assert asked.of_worker(1)[3] == (6, 7)
    assert asked.worker_of(asked.pids[1]) == 1
    assert asked.worker_of(-1) is None


def test_a_fault_in_a_worker_takes_the_probe_off_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: object) -> None:
        raise ValueError("no")

    monkeypatch.setattr("torch_debugger.probes.data.sample_progress.containers_of", fail)
    monkeypatch.setattr(BatchClocks, "APART_S", 0.0)
    monkeypatch.setattr(WorkerBoards, "READ_EVERY_S", 0.0)
    seen = train(DataLoader(Samples(slow_worker=0), batch_size=2, num_workers=2), faults=True)
    [fault] = seen.of(ProbeFault)
    assert fault.probe == "workers"
    assert re.fullmatch(r"RuntimeError: in worker \d: ValueError: no", fault.error)


def test_no_thread_is_left() -> None:
    before = set(threading.enumerate())
    train(DataLoader(Samples(slow_sample=37), batch_size=2))
    assert set(threading.enumerate()) <= before


def test_a_board_is_believed_only_when_it_is_whole() -> None:
    board = WorkerBoard(2)
    assert board.read(0) is None
    board.write(1, {"pid": 7})
    assert board.read(1) == {"pid": 7}
    board._memory[board.SLOT_BYTES + 9] ^= 1
    assert board.read(1) is None
    board.write(1, {"text": "x" * board.SLOT_BYTES})  # too long: left as it was
    board.write(2, {"pid": 8})
    assert board.read(1) is None
    assert board.read(2) is None
