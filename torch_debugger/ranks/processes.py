"""Which rank this process is, as torch.distributed has it. Asking costs no communication."""

from __future__ import annotations

import functools
import importlib.machinery
import os
import socket
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import connection
from multiprocessing.process import BaseProcess
from os import getpid
from typing import Any

from torch import distributed
from torch.multiprocessing.spawn import _wrap as spawned_by_torch

from torch_debugger.records import RankFact
from torch_debugger.stats.dispatch_modes import shards_expected
from torch_debugger.system.clocks import time
from torch_debugger.system.signals import OwnThread


def this_rank() -> RankFact | None:
    """None before the process group stands, and for a group of one."""
    if not distributed.is_available() or not distributed.is_initialized():
        return None
    world_size = distributed.get_world_size()
    if world_size < 2:
        return None
    rank, backend = distributed.get_rank(), str(distributed.get_backend())
    local = os.environ.get("LOCAL_RANK", "")
    return RankFact(
        rank=rank,
        local_rank=int(local) if local.isdecimal() else rank,
        world_size=world_size,
        backend=backend if backend != "undefined" else str(distributed.get_backend_config()),
        host=socket.gethostname(),
        pid=getpid(),
        sharded=shards_expected(),
    )


# Processes that a script starts: which of them may become ranks, and how a function of ours gets into them.
Wrap = Callable[[Callable[..., Any]], Any]

# Their processes do what the library wants: workers of loaders and of pools, managers, compilers.
_LIBRARIES = ("torch", "multiprocessing", "concurrent", "joblib")


def wrap_target(process: BaseProcess, wrap: Wrap) -> Callable[[], None] | None:
    """Puts a function of ours around the one that this process is to run. What comes back puts it back: the
    process has its own copy once it is started. None where the process is not the script's own."""
    parts: Any = vars(process)
    target, arguments = parts.get("_target"), parts.get("_args")
    if target is spawned_by_torch and arguments and callable(arguments[0]):
        # Which catches what the function raises: ours has to be inside.
        parts["_args"] = (wrap(arguments[0]), *arguments[1:])
        return functools.partial(parts.__setitem__, "_args", arguments)
    module = str(getattr(target, "__module__", None) or type(target).__module__)
    if callable(target) and module.partition(".")[0] not in _LIBRARIES:
        parts["_target"] = wrap(target)
        return functools.partial(parts.__setitem__, "_target", target)
    return None


def is_importable_elsewhere() -> bool:
    """Whether a fresh interpreter with this one's sys.path finds this very package. One that does not could not
    even unpickle the function it is to run."""
    package = "torch_debugger"
    for finder in sys.meta_path:
        find = getattr(finder, "find_spec", None)
        spec: importlib.machinery.ModuleSpec | None = find(package, None) if find is not None else None
        if spec is not None and spec.origin is not None:
            ours = sys.modules[package].__file__
            return ours is not None and os.path.realpath(spec.origin) == os.path.realpath(ours)
    return False


# When processes end, noted by a thread that waits for them and reaps none: that is the script's business.
_LOOK_EVERY_S = 0.2  # for processes that were started meanwhile


@dataclass
class _Started:
    process: BaseProcess
    pid: int
    sentinel: int  # our own copy: the script may close its process
    ended: float = 0.0  # seconds since the epoch; 0: it runs


class Deaths:
    """Those who were added, and when each ended."""

    def __init__(self) -> None:
        self._started: list[_Started] = []
        self._thread: threading.Thread | None = None
        self._over = False

    def add(self, process: BaseProcess) -> None:
        assert process.pid is not None
        self._started.append(_Started(process, process.pid, os.dup(process.sentinel)))
        if self._thread is None:
            self._thread = OwnThread(self._follow, "torch_debugger ranks")
            self._thread.start()

    def stop(self) -> None:
        self._over = True
        if self._thread is not None:
            self._thread.join()
        for each in self._started:
            os.close(each.sentinel)
        self._started.clear()

    def ended(self) -> list[tuple[int, int, float]]:
        """Of those that have: process number, exit status (-n for signal n), and when. Asking them anything
        would reap them, so this is for when the script itself has ended."""
        found: list[tuple[int, int, float]] = []
        for each in self._started:
            with suppress(ValueError):  # closed by the script
                status = each.process.exitcode
                if status is not None:
                    found.append((each.pid, status, each.ended or time.time()))
        return found

    def _follow(self) -> None:
        while not self._over:
            waiting = {each.sentinel: each for each in self._started if not each.ended}
            for sentinel in connection.wait(list(waiting), _LOOK_EVERY_S) if waiting else ():
                waiting[sentinel].ended = time.time()  # type: ignore[index]
            if not waiting:
                time.sleep(_LOOK_EVERY_S)


# What a script has said of NCCL's handling of errors, under the new name of the variable or the old.
NEW, OLD = "TORCH_NCCL_ASYNC_ERROR_HANDLING", "NCCL_ASYNC_ERROR_HANDLING"
_MEANS = {
    "0": "nobody ends a rank whose collective fails or times out: it waits for ever",
    "1": "a rank whose collective fails or times out gives up its communicators and ends",
    "2": "the communicators are given up after an error, and the process goes on",
    "3": "a rank whose collective fails or times out ends at once",
}
_DEFAULT = "3"


def nccl_error_setting(settings: Mapping[str, str]) -> str:
    """Empty where nothing is set, or what torch does anyway under the name of today."""
    new, old = settings.get(NEW), settings.get(OLD)
    if old is None:
        if new is None or new == _DEFAULT:
            return ""
        return f"{NEW}={new}: {_meaning(new)}; by default ({_DEFAULT}) {_MEANS[_DEFAULT]}."
    if new is not None:
        return f"{OLD}={old} has no effect: {NEW}={new} is its name of today and counts. {new}: {_meaning(new)}."
    return (
        f"{OLD} is the old name of {NEW}: torch still reads it, and warns of it. {old}: {_meaning(old)}; by "
        f"default ({_DEFAULT}), which needs no variable, {_MEANS[_DEFAULT]}."
    )


def _meaning(value: str) -> str:
    return _MEANS.get(value, f"a value that torch does not know, which are {', '.join(_MEANS)}")
