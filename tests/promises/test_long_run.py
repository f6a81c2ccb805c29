"""A run of any length holds the same memory: nothing of ours keeps something of every step."""

from __future__ import annotations

import dataclasses
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from tests.promises.growth import growing, held_by
from torch_debugger.checks.judge import RanksJudge
from torch_debugger.log.process_channels import Board
from torch_debugger.log.writer import LogWriter
from torch_debugger.profiling import stack_sampling as stack_tree
from torch_debugger.records import Record, RunFact
from torch_debugger.report.result import RanksDigest
from torch_debugger.runner.session import Session
from torch_debugger.settings import Settings

_RECORDED, _TIMES = 400, 4
_REPEATED = 40  # of the recorded steps: the first, of which most is told


class FirstSteps:
    """A sink that keeps what is told of the first steps."""

    def __init__(self) -> None:
        self.by_step: dict[int, list[Record]] = defaultdict(list)
        self.is_open = True

    def add(self, record: Record) -> None:
        if self.is_open:
            self.by_step[getattr(record, "step", 0)].append(record)


class Training:
    def __init__(self) -> None:
        torch.manual_seed(0)
        self.net = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.01)
        data = torch.utils.data.TensorDataset(torch.randn(160, 8), torch.randn(160, 1))
        self.loader = torch.utils.data.DataLoader(data, batch_size=16)

    def go_on(self, steps: int) -> None:
        for _ in range(0, steps, len(self.loader)):
            for x, y in self.loader:
                loss = (self.net(x) - y).square().mean()
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()


@pytest.fixture(scope="module")
def trained() -> tuple[FirstSteps, list[Counter[str]]]:
    """What a watched training told of its first steps, and how much its session held as it went on."""
    sink = FirstSteps()
    session = Session(Settings(on_hang="off"), "train.py", [], [sink], board=Board.create())
    counts = []
    with pytest.MonkeyPatch.context() as patch:
        # Lines are met at random moments, rare ones late: with room for few the tree is soon full.
        patch.setattr(stack_tree, "_MOST_NODES", 20)
        session.start()
        training = Training()
        training.go_on(_RECORDED)
        sink.is_open = False
        for _ in range(_TIMES):
            training.go_on(_RECORDED)
            counts.append(held_by(session))
        session.end("finished")
    return sink, counts


def long_run(
    sink: FirstSteps, see: Callable[[Record], object], steps: int, count: Callable[[], Counter[str]]
) -> list[Counter[str]]:
    """What was told, again and again with the numbers of later steps; counted `_TIMES` times."""
    told = [sink.by_step[step] for step in sorted(sink.by_step)[:_REPEATED]]
    counts, step = [], 0
    for _ in range(_TIMES):
        for place in range(steps):
            step += 1
            for record in told[place % len(told)]:
                if step <= len(told) or not isinstance(record, RunFact):
                    see(dataclasses.replace(record, step=step) if hasattr(record, "step") else record)  # type: ignore[type-var]
        counts.append(count())
    return counts


def test_what_grows_is_seen() -> None:
    class Hoard:
        __module__ = "torch_debugger.hoard"

        def __init__(self) -> None:
            self.steps: list[int] = []

    hoard, counts = Hoard(), []
    for _ in range(_TIMES):
        hoard.steps += range(100)
        counts.append(held_by(hoard))
    assert growing(counts, 100) == {"Hoard.steps": [100, 200, 300, 400]}


def test_a_session_does_not_grow(trained: tuple[FirstSteps, list[Counter[str]]]) -> None:
    _, counts = trained
    assert growing(counts, _RECORDED) == {}
    assert counts[-1].total() < 1.05 * counts[1].total()


def test_checks_and_digest_do_not_grow(trained: tuple[FirstSteps, list[Counter[str]]]) -> None:
    sink, _ = trained
    judge, digest, steps = RanksJudge(), RanksDigest("train.py"), 2_000

    def see(record: Record) -> None:
        digest.see(record, None)
        judge.see(record, None)

    assert growing(long_run(sink, see, steps, lambda: held_by(judge, digest)), steps) == {}


def test_the_log_s_writer_does_not_grow(trained: tuple[FirstSteps, list[Counter[str]]], tmp_path: Path) -> None:
    sink, _ = trained
    log, steps = LogWriter(tmp_path, limit_bytes=1_000_000, on_fault=print), 12_500

    def count() -> Counter[str]:
        log.flush()
        return held_by(log)

    counts = long_run(sink, log.add, steps, count)
    log.close()
    assert growing(counts, steps) == {}
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= 1_000_000
