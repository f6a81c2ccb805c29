"""Which processes of a script get a function of ours around their own, and that nothing of it stays."""

from __future__ import annotations

import multiprocessing
import pickle
import time
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import _process_worker  # type: ignore[attr-defined]
from typing import Any

from torch.multiprocessing.spawn import _wrap
from torch.utils.data._utils.worker import _worker_loop

from torch_debugger.ranks.processes import Deaths, is_importable_elsewhere, wrap_target
from torch_debugger.runner.rank_process import RankTarget, rank_wrapper
from torch_debugger.runner.script import Program
from torch_debugger.settings import Settings


def train(rank: int) -> int:
    return rank + 1


def wrap(target: Any) -> Any:
    return ("ours", target)


def test_a_function_of_the_script_is_wrapped_and_put_back() -> None:
    process = multiprocessing.Process(target=train, args=(1,))
    before = dict(vars(process))
    put_back = wrap_target(process, wrap)
    assert put_back is not None
    assert vars(process)["_target"] == ("ours", train)
    put_back()
    assert vars(process) == before


def test_torchs_spawn_is_wrapped_inside() -> None:
    """It catches what the function raises."""
    process = multiprocessing.Process(target=_wrap, args=(train, 3, (), "errors"))
    put_back = wrap_target(process, wrap)
    assert put_back is not None
    assert vars(process)["_target"] is _wrap
    assert vars(process)["_args"] == (("ours", train), 3, (), "errors")
    put_back()
    assert vars(process)["_args"] == (train, 3, (), "errors")


def test_processes_of_libraries_are_left_alone() -> None:
    from multiprocessing.pool import worker

    assert ProcessPoolExecutor is not None
    for target in (_worker_loop, _process_worker, worker, None):
        process = multiprocessing.Process(target=target)
        before = dict(vars(process))
        assert wrap_target(process, wrap) is None
        assert vars(process) == before


def test_a_fresh_interpreter_finds_us() -> None:
    assert is_importable_elsewhere()


def test_what_goes_around_is_pickled_with_the_function() -> None:
    make = rank_wrapper(Program("train.py"), Settings(log_dir="log", breaks=("nan(loss)",), post_mortem=True))
    assert make is not None
    target = pickle.loads(pickle.dumps(make(train)))
    assert isinstance(target, RankTarget)
    assert (target.target, target.settings.breaks, target.settings.post_mortem) == (train, (), False)
    assert target(4) == 5


def test_where_nothing_is_logged_nothing_is_wrapped() -> None:
    for settings in (Settings(), Settings(log_dir="log", preflight=True)):
        assert rank_wrapper(Program("train.py"), settings) is None


def test_deaths_are_noted_with_their_time() -> None:
    deaths, context = Deaths(), multiprocessing.get_context("fork")
    may_end = [context.Event(), context.Event()]
    first, second = (context.Process(target=event.wait) for event in may_end)
    for process in (first, second):
        process.start()
        deaths.add(process)
    may_end[0].set()
    first.join()
    while not deaths._started[0].ended:
        time.sleep(0.01)
    between = time.time()
    may_end[1].set()
    second.join()
    while not deaths._started[1].ended:
        time.sleep(0.01)
    (pid, status, ended), (_, _, later) = deaths.ended()
    deaths.stop()
    assert (pid, status) == (first.pid, 0)
    assert ended <= between <= later
