"""Stacks of the training's thread, asked from another one: right lines, right shares, nothing of ours."""

from __future__ import annotations

import gc
import inspect
import itertools
import sys
import threading
import time

import pytest

from torch_debugger.checks.stacks import hot_lines, share_below
from torch_debugger.profiling.stack_sampler import StackSampler
from torch_debugger.profiling.stack_tree import StackTree, path_of
from torch_debugger.records import SampledStacks


def busy(seconds: float) -> None:
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        sum(range(200))


def train(steps: int, counter: list[int]) -> None:
    for step in range(steps):
        counter[0] = step
        time.sleep(0.06)
        busy(0.02)


def told(sampler: StackSampler) -> SampledStacks:
    return SampledStacks("training", sampler.tree.samples, sampler.period_s, 0, sampler.tree.nodes())


def line_of(function: object, text: str) -> int:
    lines, first = inspect.getsourcelines(function)  # type: ignore[arg-type]
    return next(first + number for number, line in enumerate(lines) if text in line)


@pytest.fixture(scope="module")
def stacks() -> SampledStacks:
    counter = [0]
    sampler = StackSampler(threading.get_ident(), lambda: counter[0])
    sampler.start()
    train(30, counter)
    sampler.stop()
    assert sampler.fault is None
    return told(sampler)


def test_a_line_has_its_share_of_the_time(stacks: SampledStacks) -> None:
    lines = {line.place.line: line for line in hot_lines(stacks)}
    sleeping = lines[line_of(train, "time.sleep")]
    assert stacks.samples > 20 and 0.45 < sleeping.share < 0.95
    assert sleeping.place.code == "time.sleep(0.06)" and sleeping.function == "train"


def test_below_a_line_stand_the_lines_that_it_called(stacks: SampledStacks) -> None:
    working = [line for line in hot_lines(stacks) if line.function == "busy"]
    assert working and line_of(train, "busy(0.02)") in {place.line for place in working[0].around}
    assert 0.05 < share_below(stacks, "busy") < 0.55


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
    time.sleep(0.1)
    gc.callbacks.append(note)
    gc.set_threshold(1)
    try:
        time.sleep(0.5)
        kept = [[number] for number in range(100)]
    finally:
        gc.set_threshold(*thresholds)
        gc.callbacks.remove(note)
        sampler.stop()
    assert sampler.tree.samples and len(kept) == 100
    assert threading.current_thread().name in collecting and "torch-debugger stacks" not in collecting


def collect_in_every_step(counter: list[int]) -> None:
    for step in range(40):
        counter[0] = step
        sum(many)  # keeps the lock from beginning to end
        busy(0.01)


many = [1.5] * 4_000_000


def test_a_call_that_keeps_pythons_lock_has_its_share() -> None:
    counter = [0]
    sampler = StackSampler(threading.get_ident(), lambda: counter[0])
    sampler.start()
    began = time.perf_counter()
    collect_in_every_step(counter)
    took_s = time.perf_counter() - began
    sampler.stop()
    lines = {line.place.line: line for line in hot_lines(told(sampler))}
    assert lines[line_of(collect_in_every_step, "sum(many)")].share > 0.8 * (1 - 0.4 / took_s) - 0.15


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
    time.sleep(0.1)
    sampler.stop()
    assert isinstance(sampler.fault, RuntimeError) and capsys.readouterr().err == ""


def test_a_line_knows_the_loop_around_it(stacks: SampledStacks) -> None:
    sleeping = [node for node in stacks.nodes if node.place.line == line_of(train, "time.sleep")]
    assert [loop.code for loop in sleeping[0].loops] == ["for step in range(steps):"]
    assert sleeping[0].condition == 0
