"""`Debugger`: the same watching from inside a program, a notebook or a test.

    debugger = torch_debugger.Debugger()
    output = debugger.run(model(x))

A debugger watches from the moment it is made until `run()`, `close()` or the end of its `with`
block. Several at once share one set of probes and each see everything from their start on.
"""

from __future__ import annotations

import atexit
import dataclasses
import os
import sys
import weakref
from collections.abc import Sequence
from types import FrameType, TracebackType
from typing import Any

import torch
from rich.console import Console

from torch_debugger.anatomy.accelerators import gpu_or_cpu
from torch_debugger.checks.judge import Judge
from torch_debugger.explanations import Explanation
from torch_debugger.integrations.concern import is_worth_a_comment
from torch_debugger.integrations.outlets import Outlets, read_sink
from torch_debugger.integrations.program import at_prompt, caller, say, script_name
from torch_debugger.integrations.told import is_told, mark_told
from torch_debugger.integrations.uncaught import UncaughtExceptions
from torch_debugger.plumbing import Plumbing, connect
from torch_debugger.probes.sinks import hand
from torch_debugger.records import CrashFact, Finding, FlowFact, MemoryFact, Record
from torch_debugger.records.sink import Sink
from torch_debugger.report.digest import RunDigest
from torch_debugger.report.page import Report
from torch_debugger.session import describe_run
from torch_debugger.settings import Settings
from torch_debugger.stats.memory import measure_memory
from torch_debugger.tracebacks import hide_our_frames, is_left_by_hand


class Debugger:
    """Watches models, optimizers and losses of this process; see the module's text."""

    keeps = False  # as a sink: it judges; its log keeps

    def __init__(
        self,
        model: torch.nn.Module | None = None,
        *,
        log_dir: str | os.PathLike[str] | None = None,
        budget: float = 0.02,
        only: Sequence[str] = (),
        ignore: Sequence[str] = (),
        sinks: Sequence[Any] = (),
        samples: bool = True,
    ) -> None:
        """With a `log_dir`, a few samples of the data go into the log as well, unless `samples` is False."""
        self._model = weakref.ref(model) if model is not None else None  # a kept debugger keeps no model alive
        folder = os.fspath(log_dir) if log_dir is not None else None
        self._settings = Settings(log_dir=folder, budget=budget, page=folder is not None, samples=samples)
        self._only, self._ignore = tuple(only), tuple(ignore)
        self._given = [read_sink(sink) for sink in sinks]
        self._plumbing: Plumbing | None = None
        self._start(caller())

    # Watching

    def _start(self, frame: FrameType) -> None:
        self._judge = Judge(self._only, self._ignore)
        self._digest = RunDigest(script_name())
        self._flows: dict[str, tuple[FlowFact, int]] = {}  # root -> its last call, how many there were
        self._memory: MemoryFact | None = None
        self._crash: CrashFact | None = None
        self._outcome = "finished"
        self._pid = os.getpid()
        self._outlets = Outlets(self._settings, self._given, say)
        self._sinks: list[Sink] = [self, *self._outlets.sinks]
        run = describe_run(script_name(), sys.argv[1:], self._settings.budget, torch.__version__, gpu_or_cpu())
        self._sinks = [sink for sink in self._sinks if hand(run, sink)]
        self._plumbing = connect(self._settings, self._sinks, run)
        self._steps_before = self._plumbing.watch.clock.step
        self._plumbing.forward.flow.want()
        self._look()
        model = self._model() if self._model is not None else None
        if model is not None:
            self._plumbing.watch.probe("models", self._plumbing.roots.meet, model, frame)
        self._uncaught = UncaughtExceptions(self._saw_uncaught)

    def _look(self) -> None:
        """The next call is seen, also where the step under way has no closer look."""
        if self._plumbing is not None:
            self._plumbing.watch.probe("forward", self._plumbing.forward.look)

    def add(self, record: Record) -> None:
        """The debugger is its own sink: it judges at once."""
        if isinstance(record, FlowFact):
            self._flows[record.root] = (record, self._flows.get(record.root, (record, 0))[1] + 1)
        elif isinstance(record, CrashFact):
            self._crash = record
        self._digest.see(record)
        self._judge.see(record)

    @property
    def watching(self) -> bool:
        return self._plumbing is not None

    def run(self, value: Any, *arguments: Any, **keywords: Any) -> Any:
        """`run(model(x))` or `run(model, x)`: the output, unchanged; the report goes to stderr.

        The first form works because the debugger has been watching since it was made. Ends the watch.
        """
        __tracebackhide__ = True  # IPython and pytest leave this frame out of their tracebacks
        if not self.watching:
            self._start(caller())
        if callable(value) and (arguments or keywords or isinstance(value, torch.nn.Module)):
            self._look()
            try:
                value = value(*arguments, **keywords)
            except BaseException as error:
                self._end_with(error)
                raise
        self.close()
        self._print(flow=True)
        return value

    def close(self) -> None:
        """End the watch. Everything found so far can still be asked for."""
        plumbing, self._plumbing = self._plumbing, None
        if plumbing is None:
            return
        self._uncaught.stop()
        plumbing.forward.flow.leave()
        self._memory = measure_memory(plumbing.watch.step)
        plumbing.disconnect(self._sinks, self._outcome)
        self._outlets.close()
        self._judge.finish()
        self._outlets.conclude(self.report().result)

    def __enter__(self) -> Debugger:
        if not self.watching:
            self._start(caller())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            hide_our_frames(error)
            self._end_with(error)
        elif self.watching:
            reported = self._is_reported_elsewhere()
            self.close()
            if not reported and any(finding.severity != "note" for finding in self.findings):
                self._print()

    # Crashes

    def _end_with(self, error: BaseException) -> None:
        """The watched code raised: tell why, unless it has been told."""
        if self._plumbing is None:
            return
        reported = self._is_reported_elsewhere() or is_told(error)
        self._outcome = "stopped" if isinstance(error, SystemExit) or is_left_by_hand(error) else "crashed"
        if self._outcome == "crashed":
            self._plumbing.crash(error, only=self._sinks)
        self.close()
        if not reported:
            mark_told(error)
            if not at_prompt() or is_worth_a_comment(self._crash, self.findings):
                self._print()

    def _saw_uncaught(self, error: BaseException, goes_on: bool) -> None:
        """A crash outside any `with` block, such as inside `model(x)` before `run` was entered."""
        if os.getpid() != self._pid:
            return  # a fork of the program's that ends by itself
        if goes_on:
            self._explain(error)
        else:
            self._end_with(error)

    def _explain(self, error: BaseException) -> None:
        """In an interpreter that lives on: tell what a check knows of this crash, and watch on."""
        if self._plumbing is None or is_told(error):
            return
        mark_told(error)
        explanation = Explanation(self._plumbing.capture(error), self._only, self._ignore)
        if is_worth_a_comment(explanation.crash, explanation.findings):
            explanation.print()

    def _is_reported_elsewhere(self) -> bool:
        """Under `torch-debugger run` the report at the end tells it all; said twice it only confuses."""
        return self._plumbing is not None and self._plumbing.reports_at_end

    # Asking

    @property
    def findings(self) -> list[Finding]:
        """What was found so far, the verdict first."""
        return self._judge.findings

    def report(self) -> Report:
        """Everything so far; its str() is the text, and a notebook shows it as a page."""
        result = self._digest.result(
            self.findings,
            outcome=self._outcome,
            log=self._settings.log_dir,
            faults=self._judge.faults,
            checks=len(self._judge.checks),
        )
        counted = result.counted
        if self._plumbing is not None:
            self._memory = measure_memory(self._plumbing.watch.step)
            counted = self._plumbing.watch.clock.counted
        steps = max(0, result.steps - self._steps_before)
        result = dataclasses.replace(result, part=True, steps=steps, counted=counted)
        return Report(result, tuple(self._flows.values()), self._memory)

    def _print(self, *, flow: bool = False) -> None:
        """After a training loop the modules of its forward are not the news; `report()` has them."""
        report = self.report()
        try:
            report.print(Console(stderr=True), flow=flow or not report.result.steps)
        except Exception as error:  # the user's result must come back, whatever becomes of its report
            say(f"the report could not be printed ({type(error).__name__}: {error}).")

    def _repr_html_(self) -> str:
        return self.report()._repr_html_()

    def __repr__(self) -> str:
        state = "watching" if self.watching else "closed"
        return f"<Debugger {state}, {self.report().result.steps} steps, {len(self.findings)} findings>"


def watch(model: torch.nn.Module | None = None, **options: Any) -> Debugger:
    """One line in a script: watch from here to the end of the program, then report on stderr."""
    debugger = Debugger(model, **options)
    atexit.register(_finish, debugger)
    return debugger


def _finish(debugger: Debugger) -> None:
    if debugger.watching and os.getpid() == debugger._pid:
        reported = debugger._is_reported_elsewhere()
        debugger.close()
        if not reported:
            debugger._print()
