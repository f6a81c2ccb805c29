"""Samples of loaders' workers: right lines, told by worker, and workers that do not notice."""

from __future__ import annotations

import glob
import json
import multiprocessing
import os
import random
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, Dataset

from tests.probes.watching import Seen, watched
from torch_debugger.checks.step_time import hot_lines
from torch_debugger.profiling import stack_sampling as worker_sampler
from torch_debugger.profiling.stack_sampling import WAITING, StackTree, WorkerSampler, add_written, written
from torch_debugger.records import Notice, ProbeFault, SampledStacks
from torch_debugger.runner.processes import WorkerSamples


class Slow(Dataset[torch.Tensor]):
    def __init__(self, seconds: float = 0.02) -> None:
        self.seconds = seconds

    def __len__(self) -> int:
        return 80

    def __getitem__(self, index: int) -> torch.Tensor:
        time.sleep(self.seconds)
        return torch.rand(4) + random.random() + np.random.rand()


def train(workers: int = 2, epochs: int = 1, seconds: float = 0.02) -> list[torch.Tensor]:
    torch.manual_seed(0)
    random.seed(0)
    np.random.seed(0)
    net = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    loader = DataLoader(Slow(seconds), batch_size=4, num_workers=workers, multiprocessing_context="fork")
    batches = []
    for _ in range(epochs):
        for batch in loader:
            batches.append(batch)
            optimizer.zero_grad()
            net(batch).sum().backward()
            optimizer.step()
    return batches


def by_worker(seen: Seen) -> dict[str, SampledStacks]:
    return {each.who: each for each in seen.of(SampledStacks) if each.who != "training"}


@pytest.fixture(scope="module", autouse=True)
def _temporary_files_of_its_own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Other tests sample workers too, at the same time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", str(tmp_path_factory.mktemp("temporary")))
        yield


def left_folders() -> list[str]:
    return glob.glob(os.path.join(tempfile.gettempdir(), "torch-debugger-workers-*"))


@pytest.fixture(scope="module")
def seen() -> Seen:
    with watched(deep=False, profile_steps=2) as seen:
        train(epochs=2)
        assert left_folders()
    assert not left_folders()
    return seen


def test_each_worker_tells_its_lines_over_all_epochs(seen: Seen) -> None:
    workers = by_worker(seen)
    assert set(workers) == {"worker 0", "worker 1"}
    for stacks in workers.values():
        [line, *_] = hot_lines(stacks)
        assert (
            line.place.code == "time.sleep(self.seconds)" and line.share > 0.1
        )  # how much, on a busy machine nobody knows
        assert line.around == []  # the lines of the training that led to the fork are not the worker's
        assert stacks.samples > 10  # over 2 x 0.8 s of it


def test_nothing_of_the_training_stands_above_a_workers_lines(seen: Seen) -> None:
    for stacks in by_worker(seen).values():
        assert all(node.function not in ("train", "_worker_loop") for node in stacks.nodes)


def test_the_batches_are_the_same_with_samples_and_without() -> None:
    plain = train(seconds=0.0)
    with watched(deep=False, profile_steps=2):
        sampled = train(seconds=0.0)
    assert all(torch.equal(one, other) for one, other in zip(plain, sampled, strict=True))


def test_without_a_profile_no_worker_is_sampled() -> None:
    with watched(deep=False) as seen:
        train(seconds=0.0)
        assert not left_folders()
    assert by_worker(seen) == {}


def test_a_worker_that_waits_says_so() -> None:
    with watched(deep=False, profile_steps=2) as seen:
        for _ in DataLoader(Slow(0.0), batch_size=40, num_workers=1, multiprocessing_context="fork"):
            time.sleep(0.4)
    functions = {node.function for node in by_worker(seen)["worker 0"].nodes}
    assert WAITING[1] in functions


def test_a_folder_that_vanishes_ends_the_sampling_and_no_worker() -> None:
    with watched(deep=False, profile_steps=2, faults=True) as seen:
        probe = next(each for each in seen.plumbing.watch.probes if isinstance(each, WorkerSamples))
        loader = iter(DataLoader(Slow(), batch_size=4, num_workers=2, multiprocessing_context="fork"))
        assert probe.folder is not None
        os.rmdir(probe.folder)
        assert len(list(loader)) == 20
    assert [fault.probe for fault in seen.of(ProbeFault)] == ["worker stacks"]


def test_files_that_are_none_of_ours_are_contained() -> None:
    with watched(deep=False, profile_steps=2, faults=True) as seen:
        probe = next(each for each in seen.plumbing.watch.probes if isinstance(each, WorkerSamples))
        loader = iter(DataLoader(Slow(0.0), batch_size=4, num_workers=1, multiprocessing_context="fork"))
        assert probe.folder is not None
        Path(probe.folder, "0-1.json").write_text("{")
        list(loader)
        folder = probe.folder
    assert [fault.probe for fault in seen.of(ProbeFault)] == ["worker stacks"]
    assert not os.path.exists(folder)


def test_a_fork_of_the_training_keeps_its_own_workers_to_itself() -> None:
    with watched(deep=False, profile_steps=2) as seen:
        probe = next(each for each in seen.plumbing.watch.probes if isinstance(each, WorkerSamples))
        probe._prepare()
        probe.pid += 1  # as in a process that was forked from ours
        train(workers=1, seconds=0.01)
        assert probe.folder is not None and os.listdir(probe.folder) == []
    assert by_worker(seen) == {}


@pytest.mark.parametrize("way", ["spawn", "forkserver"])
def test_workers_that_are_not_forked_are_told_of_once(way: str) -> None:
    with watched(deep=False, profile_steps=2) as seen:
        probe = next(each for each in seen.plumbing.watch.probes if isinstance(each, WorkerSamples))
        loader = SimpleNamespace(multiprocessing_context=multiprocessing.get_context(way))
        probe._tell_of_others(loader)
        probe._tell_of_others(loader)
    assert [notice.text for notice in seen.of(Notice)] == [
        f"Workers of loaders are not sampled: they are started by {way}, and only forked ones can be. With "
        'num_workers=0, or multiprocessing_context="fork" for the DataLoader, they are.'
    ]


def test_what_is_written_reads_back_and_adds_up() -> None:
    tree, other = StackTree(), StackTree()
    tree.add([("a.py", "f", 3, True), ("lib.py", "g", 9, False)], 5)
    tree.add([("a.py", "f", 3, True)])
    assert add_written(written(tree, 0.03), other) == 0.03
    add_written(written(tree, 0.03), other)
    assert [(node.function, node.samples, node.total) for node in other.nodes()] == [
        ("f", 2, 12),
        ("g", 10, 10),
    ]


def test_a_worker_without_its_training_clears_up(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    sampler = WorkerSampler(str(folder), parent=os.getppid())
    sampler._file = str(folder / "0-1.json")
    sampler._write()
    assert json.loads((folder / "0-1.json").read_text())["nodes"] == []
    sampler._parent = -1
    sampler._write()
    assert not folder.exists() and sampler._ended


def test_a_process_that_is_no_worker_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_sampler, "_NO_WORKER_AFTER_S", 0.0)
    sampler = WorkerSampler(str(tmp_path), parent=os.getppid())
    sampler.start()
    sampler._thread.join(60)
    assert sampler.fault is None and list(tmp_path.iterdir()) == []


def test_no_thread_to_be_had_is_no_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: Any) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    worker_sampler.sample_this_worker(str(tmp_path), os.getpid())
