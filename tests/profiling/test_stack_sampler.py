"""Stacks of the training's thread, asked from another one: right lines, right shares, nothing of ours."""

from __future__ import annotations

import gc
import inspect
import itertools
import sys
import threading
import time
from queue import SimpleQueue

import pytest

from torch_debugger.checks.step_time import hot_lines, share_below
from torch_debugger.profiling import stack_sampling as stack_sampler
from torch_debugger.profiling.stack_sampling import PERIOD_S, StackSampler, StackTree, path_of
from torch_debugger.records import SampledStacks

STEPS = 10


def train(counter: list[int], stands: SimpleQueue[int], goes: SimpleQueue[None]) -> None:
    """Stands at two lines of each step, and says how often it is to be asked there."""
    for step in range(STEPS):
        counter[0] = step
        stands.put(3) or goes.get()  # type: ignore[func-returns-value]
        compute(stands, goes)
    stands.put(0)


def compute(stands: SimpleQueue[int], goes: SimpleQueue[None]) -> None:
    stands.put(1) or goes.get()  # type: ignore[func-returns-value]


def told(sampler: StackSampler) -> SampledStacks:
    return SampledStacks("training", sampler.tree.samples, sampler.period_s, 0, sampler.tree.nodes())


def line_of(function: object, text: str) -> int:
    lines, first = inspect.getsourcelines(function)  # type: ignore[arg-type]
    return next(first + number for number, line in enumerate(lines) if text in line)


@pytest.fixture(scope="module")
def stacks() -> SampledStacks:
    counter, stands, goes = [0], SimpleQueue[int](), SimpleQueue[None]()
    training = threading.Thread(target=train, args=(counter, stands, goes))
    training.start()
    sampler = StackSampler(training.ident or 0, lambda: counter[0])
    while times := stands.get():
        for _ in range(times):
            sampler._take(counter[0])
        goes.put(None)
    training.join()
    sampler._take(STEPS)
    return told(sampler)


def test_a_line_has_its_share_of_the_samples(stacks: SampledStacks) -> None:
    lines = {line.place.line: line for line in hot_lines(stacks)}
    standing = lines[line_of(train, "stands.put(3)")]
    assert (stacks.samples, standing.share, standing.function) == (4 * STEPS, 0.75, "train")
    assert (standing.place.code or "").startswith("stands.put(3) or goes.get()")


def test_below_a_line_stand_the_lines_that_it_called(stacks: SampledStacks) -> None:
    (working,) = [line for line in hot_lines(stacks) if line.function == "compute"]
    assert [place.line for place in working.around] == [line_of(train, "compute(stands, goes)")]
    assert share_below(stacks, "compute") == 0.25


def test_totals_hold_what_is_below_and_parents_stand_first(stacks: SampledStacks) -> None:
    for number, node in enumerate(stacks.nodes):
        assert node.parent < number
        below = [each.total for each in stacks.nodes if each.parent == number]
        assert node.total == node.samples + sum(below)


def test_what_comes_after_the_last_step_does_not_count() -> None:
    done = threading.Event()
    waiting = threading.Thread(target=lambda: done.wait(10))
    waiting.start()
    sampler = StackSampler(waiting.ident or 0, lambda: 7)
    for _ in range(5):
        sampler._take(7)
    assert sampler.tree.samples == 0
    sampler._take(8)
    done.set()
    waiting.join()
    assert sampler.tree.samples == 5


def test_a_script_that_goes_on_for_hours_after_its_last_step_fills_no_memory() -> None:
    done = threading.Event()
    waiting = threading.Thread(target=lambda: done.wait(30))
    waiting.start()
    sampler = StackSampler(waiting.ident or 0, lambda: 7)
    for _ in range(2000):
        sampler._take(7)
    done.set()
    waiting.join()
    assert sampler._of_step.samples == 2000
    assert len(sampler._of_step.nodes()) < 20, "one stack, counted"


def test_our_thread_collects_no_garbage() -> None:
    """Objects that only a collection frees belong to the thread that made them, with their finalizers."""
    collecting: list[str] = []
    steps = itertools.count()

    def note(phase: str, info: dict[str, int]) -> None:
        collecting.append(threading.current_thread().name)

    sampler = StackSampler(threading.get_ident(), lambda: next(steps) // 3)
    thresholds = gc.get_threshold()
    sampler.start()
    wait_for_samples(sampler)
    gc.callbacks.append(note)
    gc.set_threshold(1)
    try:
        wait_for_samples(sampler)
        kept = [[number] for number in range(100)]
    finally:
        gc.set_threshold(*thresholds)
        gc.callbacks.remove(note)
        sampler.stop()
    assert sampler.fault is None and len(kept) == 100
    assert threading.current_thread().name in collecting and "torch-debugger stacks" not in collecting


def wait_for_samples(sampler: StackSampler, more: int = 10) -> None:
    deadline, enough = time.monotonic() + 60, sampler.tree.samples + more
    while sampler.tree.samples < enough and time.monotonic() < deadline:
        time.sleep(0.01)
    assert sampler.tree.samples >= enough


class Clock:
    """Its sleeps take as long as they are told; during the third the training keeps Python's lock."""

    def __init__(self) -> None:
        self.now_s, self.sleeps = 0.0, 0

    def perf_counter(self) -> float:
        return self.now_s

    def thread_time(self) -> float:
        return 0.0

    def sleep(self, seconds: float) -> None:
        self.sleeps += 1
        self.now_s += 20 * seconds if self.sleeps == 3 else seconds
        self.sampler._ended = self.sleeps == 6

    sampler: StackSampler


def test_a_call_that_keeps_pythons_lock_has_its_share(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is seen once, when it lets go, and counts for all the time that nobody could ask."""
    done = threading.Event()
    waiting = threading.Thread(target=lambda: done.wait(60))
    waiting.start()
    clock = Clock()
    clock.sampler = StackSampler(waiting.ident or 0, lambda: clock.sleeps)
    monkeypatch.setattr(stack_sampler, "time", clock)
    clock.sampler._sample()
    done.set()
    waiting.join()
    assert clock.sampler.tree.samples == 1 + 1 + 20 + 1 + 1  # the sixth step is not over
    assert clock.sampler.period_s == PERIOD_S


def test_a_stack_that_works_for_us_is_not_counted() -> None:
    def probe() -> object:
        return path_of(sys._getframe(), {probe.__code__})

    assert probe() is None
    assert path_of(None, ()) is None


def test_many_different_stacks_stay_bounded_and_lose_no_sample() -> None:
    tree = StackTree()
    for number in range(9000):
        tree.add([("train.py", "main", 1, True), ("lib.py", f"f{number}", number, False)])
    nodes = tree.nodes()
    assert tree.samples == 9000 and len(nodes) <= 401
    assert nodes[0].total == 9000 == sum(node.samples for node in nodes)


def test_a_fault_of_the_thread_is_kept_and_not_printed(capsys: pytest.CaptureFixture[str]) -> None:
    def fails() -> int:
        raise RuntimeError("no step")

    sampler = StackSampler(threading.get_ident(), fails)
    sampler.start()
    sampler._thread.join(60)
    assert isinstance(sampler.fault, RuntimeError) and capsys.readouterr().err == ""


def test_a_line_knows_the_loop_around_it(stacks: SampledStacks) -> None:
    standing = [node for node in stacks.nodes if node.place.line == line_of(train, "stands.put(3)")]
    assert [loop.code for loop in standing[0].loops] == ["for step in range(STEPS):"]
    assert standing[0].condition == 0
