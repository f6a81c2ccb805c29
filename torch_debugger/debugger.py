"""`Debugger`: the same watching from inside a program, a notebook or a test.

    debugger = torch_debugger.Debugger()
    output = debugger.run(model(x))

A debugger watches from the moment it is made until `run()`, `close()` or the end of its `with`
block. Several at once share one set of probes and each see everything from their start on.
"""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Sequence
from types import FrameType, TracebackType
from typing import Any

import torch
from rich.console import Console

from torch_debugger.checks.judge import Judge
from torch_debugger.integrations.uncaught import UncaughtExceptions
from torch_debugger.plumbing import Plumbing, connect
from torch_debugger.records import Finding, FlowFact, MemoryFact, Record
from torch_debugger.records.sink import Sink
from torch_debugger.report.digest import RunDigest
from torch_debugger.report.page import Report
from torch_debugger.runlog.writer import LogWriter
from torch_debugger.settings import Settings
from torch_debugger.stats.memory import measure_memory


class Debugger:
    """Watches models, optimizers and losses of this process; see the module's text."""

    def __init__(
        self,
        model: torch.nn.Module | None = None,
        *,
        log_dir: str | os.PathLike[str] | None = None,
        budget: float = 0.02,
        only: Sequence[str] = (),
        ignore: Sequence[str] = (),
    ) -> None:
        self._model = model
        self._settings = Settings(log_dir=str(log_dir) if log_dir is not None else None, budget=budget)
        self._only, self._ignore = tuple(only), tuple(ignore)
        self._plumbing: Plumbing | None = None
        self._start(_caller())

    # Watching

    def _start(self, frame: FrameType) -> None:
        self._judge = Judge(self._only, self._ignore)
        self._digest = RunDigest(_script_name())
        self._flows: list[FlowFact] = []
        self._memory: MemoryFact | None = None
        self._outcome = "finished"
        self._crashed: BaseException | None = None
        self._writer = self._open_log()
        self._sinks: list[Sink] = [self, *([self._writer] if self._writer else [])]
        self._plumbing = connect(self._settings, self._sinks, None)
        self._plumbing.forward.keep_flow = True
        if self._model is not None:
            self._plumbing.watch.probe("models", self._plumbing.roots.meet, self._model, frame)
        self._uncaught = UncaughtExceptions(self._saw_uncaught)

    def _open_log(self) -> LogWriter | None:
        if self._settings.log_dir is None:
            return None
        limit = self._settings.log_limit_bytes
        return LogWriter(self._settings.log_dir, limit_bytes=limit, on_fault=_say)

    def add(self, record: Record) -> None:
        """The debugger is its own sink: it judges at once."""
        if isinstance(record, FlowFact):
            self._flows = [*self._flows[-15:], record]
        self._digest.see(record)
        self._judge.see(record)

    @property
    def watching(self) -> bool:
        return self._plumbing is not None

    def run(self, value: Any, *arguments: Any, **keywords: Any) -> Any:
        """`run(model(x))` or `run(model, x)`: the output, unchanged; the report goes to stderr.

        The first form works because the debugger has been watching since it was made. Ends the watch.
        """
        if not self.watching:
            self._start(_caller())
        if callable(value) and (arguments or keywords or isinstance(value, torch.nn.Module)):
            try:
                value = value(*arguments, **keywords)
            except BaseException as error:
                self._saw_crash(error)
                self.close()
                self._print()
                raise
        self.close()
        self._print()
        return value

    def close(self) -> None:
        """End the watch. Everything found so far can still be asked for."""
        plumbing, self._plumbing = self._plumbing, None
        if plumbing is None:
            return
        self._uncaught.stop()
        plumbing.watch.probe("flow", plumbing.forward.emit_flow)
        self._memory = measure_memory(plumbing.watch.step)
        plumbing.disconnect(self._sinks, self._outcome)
        if self._writer is not None:
            self._writer.close()
        self._judge.finish()

    def __enter__(self) -> Debugger:
        if not self.watching:
            self._start(_caller())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self._saw_crash(error)
        self.close()
        if error is not None or self.findings:
            self._print()

    # Crashes

    def _saw_crash(self, error: BaseException) -> None:
        if self._crashed is error or self._plumbing is None:
            return
        self._crashed = error
        self._outcome = "stopped" if isinstance(error, (KeyboardInterrupt, SystemExit)) else "crashed"
        if self._outcome == "crashed":
            self._plumbing.crash(error, only=self._sinks)

    def _saw_uncaught(self, error: BaseException) -> None:
        """A crash outside any `with` block, such as inside `model(x)` before `run` was entered."""
        self._saw_crash(error)
        self.close()
        self._print()

    # Asking

    @property
    def findings(self) -> list[Finding]:
        """What was found so far, the verdict first."""
        return self._judge.findings

    def report(self) -> Report:
        """Everything so far; its str() is the text, and a notebook shows it as a page."""
        if self._plumbing is not None:
            self._plumbing.watch.probe("flow", self._plumbing.forward.emit_flow)
            self._memory = measure_memory(self._plumbing.watch.step)
        result = self._digest.result(
            self.findings,
            outcome=self._outcome,
            log=self._settings.log_dir,
            faults=self._judge.faults,
            checks=len(self._judge.checks),
        )
        return Report(result, self._flows[0] if self._flows else None, self._memory)

    def _print(self) -> None:
        self.report().print(Console(stderr=True))

    def _repr_html_(self) -> str:
        return self.report()._repr_html_()

    def __repr__(self) -> str:
        state = "watching" if self.watching else "closed"
        return f"<Debugger {state}, {self._digest.step} steps, {len(self.findings)} findings>"


def watch(model: torch.nn.Module | None = None, **options: Any) -> Debugger:
    """One line in a script: watch from here to the end of the program, then report on stderr."""
    debugger = Debugger(model, **options)

    def finish() -> None:
        if debugger.watching:
            debugger.close()
            debugger._print()

    atexit.register(finish)
    return debugger


def _caller() -> FrameType:
    """The frame outside this file: where the user's names are."""
    frame = sys._getframe(1)
    while frame.f_code.co_filename == __file__ and frame.f_back is not None:
        frame = frame.f_back
    return frame


def _say(text: str) -> None:
    sys.stderr.write(f"torch-debugger: {text}\n")


def _script_name() -> str:
    return os.path.basename(sys.argv[0]) if sys.argv and sys.argv[0] else "this program"
