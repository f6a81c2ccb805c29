"""Lays the pipes: makers to sinks, the judge's requests back to the makers.

Nothing here imports torch before the watched program has: the probes are put on in the moment
the program's own `import torch` is done.
"""

from __future__ import annotations

import math
import os
import platform
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from os import getpid
from types import ModuleType
from typing import TYPE_CHECKING, Any

from torch_debugger._version import __version__
from torch_debugger.log.process_channels import Board, RequestReader
from torch_debugger.probes.sinks import hand
from torch_debugger.records import EndFact, Request, RunFact
from torch_debugger.records.sinks import Sink
from torch_debugger.settings import Settings
from torch_debugger.source.device_placement import names_accelerator
from torch_debugger.system.clocks import time
from torch_debugger.system.imports import when_imported
from torch_debugger.system.program import say
from torch_debugger.system.redaction import read_script, redact_arguments

if TYPE_CHECKING:
    from torch_debugger.runner.plumbing import Plumbing


class Session:
    """One watched program: from before its first line until after its last."""

    def __init__(
        self,
        settings: Settings,
        script: str,
        arguments: Sequence[str],
        sinks: Sequence[Sink],
        board: Board | None = None,
        requests: RequestReader | None = None,
    ) -> None:
        self.settings = settings
        self.plumbing: Plumbing | None = None
        self._script = script
        self._arguments = tuple(arguments)
        self._sinks = list(sinks)
        self._board = board
        self._requests = requests
        self.wrap_ranks: Callable[[Callable[..., Any]], Any] | None = None  # in processes that are started here
        self.leave: Callable[[], None] = sys.exit  # once the trials are made that a script was started for
        self._stop_waiting: Callable[[], None] | None = None
        self._ended = False
        self._polled_at = 0.0

    def start(self) -> None:
        """Watch now if torch is imported, else as soon as the program imports it."""
        self._stop_waiting = when_imported("torch", self._begin)

    def _begin(self, torch: ModuleType) -> None:
        try:
            self._connect(torch)
        except Exception as error:  # we are inside the program's own `import torch`
            say(f"could not begin to watch ({type(error).__name__}: {error}); the script runs unwatched.")

    def _connect(self, torch: ModuleType) -> None:
        from torch_debugger.model.forks import gpu_or_cpu
        from torch_debugger.runner.plumbing import connect

        run = self._describe(torch.__version__, gpu_or_cpu())
        self._sinks = [sink for sink in self._sinks if hand(run, sink)]
        self.plumbing = connect(self.settings, self._sinks, run)
        _import_what_profilers_import()
        self.plumbing.reports_at_end = True
        self.plumbing.ranks.wrap = self.wrap_ranks
        self.plumbing.watch.on_step.append(self._after_step)
        if self._board is not None:
            self._board.torch_seen = 1
            self._install_heartbeat(self._board, self.plumbing)
        if self.plumbing.preflights is not None:
            self.plumbing.preflights.tell = self._tell_progress
            self.plumbing.preflights.tell_done = self._tell_trials
            self.plumbing.preflights.leave = self.leave
        if self.plumbing.step_rehearsals is not None:
            self.plumbing.step_rehearsals.tell_done = self._tell_trials
            self.plumbing.step_rehearsals.leave = self.leave

    def _install_heartbeat(self, board: Board, plumbing: Plumbing) -> None:
        """So that the parent sees when this process stops altogether, and may ask where it is."""

        stacks = plumbing.hangs.asked

        def beat() -> None:
            board.beats += 1
            board.stack_signal = 0 if self._ended else stacks.number

        board.stacks_fd = stacks.fd
        plumbing.hangs.on_beat = beat
        beat()  # the first comes late: by then a script may hold Python's lock for good

    def crash(self, error: BaseException) -> None:
        if self.plumbing is not None:
            self.plumbing.crash(error)

    def interrupted(self, by: KeyboardInterrupt) -> None:
        if self.plumbing is not None:
            self.plumbing.hangs.interrupted(by)

    def end(self, outcome: str) -> None:
        """Everything off, the last facts out. Doing it twice does it once."""
        if self._ended:
            return
        self._ended = True
        if self._stop_waiting is not None:
            self._stop_waiting()
        if self._board is not None:
            self._board.stack_signal = 0
        if self.plumbing is not None:
            self.plumbing.disconnect(self._sinks, outcome)
            return
        for record in (self._describe("", ""), EndFact(outcome, 0, "")):
            self._sinks = [sink for sink in self._sinks if hand(record, sink)]

    def _after_step(self, step: int, scalars: dict[str, float]) -> None:
        if self._board is not None:
            loss = scalars.get("loss", math.nan)
            self._board.step = step
            if "loss" in scalars:
                self._board.loss = loss
            self._board.note(step, time.time(), loss)
        if self._requests is not None and self.plumbing is not None:
            now = time.perf_counter()
            if now - self._polled_at > 0.2:  # a system call: not every step
                self._polled_at = now
                for request in self._requests.poll():
                    self._look_closer(request)

    def _tell_progress(self, step: int, loss: float) -> None:
        """Of a trial, also from a fork: the board is shared."""
        if self._board is not None:
            self._board.step, self._board.loss = step, loss

    def _tell_trials(self, done: int) -> None:
        if self._board is not None:
            self._board.step, self._board.loss, self._board.trials = 0, math.nan, done

    def _look_closer(self, request: Request) -> None:
        assert self.plumbing is not None
        if request.profile:
            self.plumbing.profiles.want(request.steps)
        else:
            self.plumbing.watch.governor.request(request.steps)

    def _describe(self, torch: str, device: str) -> RunFact:
        names = names_accelerator(_file_of(self._script), self._arguments, _folder())
        return describe_run(self._script, self._arguments, self.settings.budget, torch, device, names)


def describe_run(
    script: str,
    arguments: Sequence[str],
    budget: float,
    torch: str = "",
    device: str = "",
    names_accelerator: bool = False,
) -> RunFact:
    """How this run begins; without torch's version and device where torch is not imported."""
    return RunFact(
        script=script,
        arguments=redact_arguments(arguments, read_script(_file_of(script)).decode("utf-8", "replace")),
        folder=_folder(),
        pid=getpid(),
        started=time.time(),
        python=platform.python_version(),
        torch=str(torch),
        device=device,
        debugger=__version__,
        budget=budget,
        names_accelerator=names_accelerator,
    )


def _file_of(script: str) -> str:
    """The script's path; for `-m package.module`, what the interpreter runs as __main__."""
    main = getattr(sys.modules.get("__main__"), "__file__", None)
    return script if os.path.exists(script) else str(main or script)


def _folder() -> str:
    try:
        return os.getcwd()
    except OSError:  # deleted while the program runs
        return ""


def _import_what_profilers_import() -> None:
    """What is imported while a profiler with stacks starts, it shows under names that are freed by then: its
    results hold other bytes, and `export_stacks` may raise UnicodeDecodeError; the more often, the more is
    allocated since."""
    with suppress(ImportError):  # a torch before 2.13 has none
        import torch.profiler._cupti_monitor  # noqa: F401
