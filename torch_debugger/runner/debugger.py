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
import shutil
import sys
import tempfile
import weakref
from collections.abc import Callable, Sequence
from types import FrameType, TracebackType
from typing import Any

import torch
from rich.console import Console

from torch_debugger.checks.judge import Judge
from torch_debugger.integrations.delivery import (
    Carrier,
    CarrierThread,
    Tell,
    TrackerProcess,
    conclude,
    ending_of,
    run_name,
)
from torch_debugger.integrations.to_wandb import OpenWandbReceiver
from torch_debugger.integrations.tracker import TITLES, Tracker, is_wandb_run, read_tracker
from torch_debugger.log.object_stores import is_url
from torch_debugger.log.upload import STORE_ROTATE_BYTES, Spool
from torch_debugger.log.writer import LogWriter
from torch_debugger.model.forks import gpu_or_cpu
from torch_debugger.probes.sinks import hand
from torch_debugger.records import CrashFact, Finding, FlowFact, MemoryFact, Record
from torch_debugger.records.sinks import Sink
from torch_debugger.report.result import RunDigest, RunResult
from torch_debugger.report.terminal import Report
from torch_debugger.runner.environment import Gathering, typed_command
from torch_debugger.runner.exceptions import UncaughtExceptions, is_explained, mark_explained
from torch_debugger.runner.explanations import Explanation, is_worth_a_comment
from torch_debugger.runner.outputs import write_reports
from torch_debugger.runner.plumbing import Plumbing, connect
from torch_debugger.runner.session import describe_run
from torch_debugger.settings import Settings
from torch_debugger.stats.resources import measure_memory
from torch_debugger.system.errors import DebuggerError, UsageError
from torch_debugger.system.program import at_prompt, caller, say_on_sys_stderr, script_name
from torch_debugger.system.tracebacks import hide_our_frames, is_left_by_hand


class Debugger:
    """Watches models, optimizers and losses of this process; see the module's text."""

    keeps = False  # as a sink: it judges; its log keeps

    def __init__(
        self,
        model: torch.nn.Module | None = None,
        *,
        log_dir: str | os.PathLike[str] | None = None,
        budget: float = Settings.budget,
        only: Sequence[str] = (),
        ignore: Sequence[str] = (),
        sinks: Sequence[Any] = (),
        samples: bool = Settings.samples,
    ) -> None:
        """With a `log_dir`, a few samples of the data go into the log as well, unless `samples` is False."""
        self._model = weakref.ref(model) if model is not None else None  # a kept debugger keeps no model alive
        folder = os.fspath(log_dir) if log_dir is not None else None
        self._settings = Settings(
            log_dir=folder,
            budget=budget,
            page=folder is not None,
            samples=samples,
            only=tuple(only),
            ignore=tuple(ignore),
        )
        self._user_sinks = [read_sink(sink) for sink in sinks]
        self._plumbing: Plumbing | None = None
        self._start(caller())

    # Watching

    def _start(self, frame: FrameType) -> None:
        self._judge = Judge(self._settings.only, self._settings.ignore)
        self._digest = RunDigest(script_name())
        self._flows: dict[str, tuple[FlowFact, int]] = {}  # root -> its last call, how many there were
        self._memory: MemoryFact | None = None
        self._crash: CrashFact | None = None
        self._outcome = "finished"
        self._pid = os.getpid()
        self._outlets = Outlets(self._settings, self._user_sinks, say_on_sys_stderr)
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
        reported = self._is_reported_elsewhere() or is_explained(error)
        self._outcome = "stopped" if isinstance(error, SystemExit) or is_left_by_hand(error) else "crashed"
        if self._outcome == "crashed":
            self._plumbing.crash(error, only=self._sinks)
        self.close()
        if not reported:
            mark_explained(error)
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
        if self._plumbing is None or is_explained(error):
            return
        mark_explained(error)
        explanation = Explanation(self._plumbing.capture(error), self._settings.only, self._settings.ignore)
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
            say_on_sys_stderr(f"the report could not be printed ({type(error).__name__}: {error}).")

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


# Where a debugger's records go beside the debugger itself: its log, trackers, sinks of the user's.
def read_sink(value: Any) -> Any:
    """A Tracker, an open run of W&B, or a sink; a word is read as `--to` reads it."""
    if isinstance(value, str):
        return read_tracker(value)
    if _is_tracker(value) or callable(getattr(value, "add", None)):
        return value
    raise UsageError(
        f"A sink is {', '.join(map(repr, TITLES))}, a Tracker, a wandb run or an object with add(record), "
        f"not {value!r}."
    )


class Outlets:
    """Opened together when a watch begins. A tracker that cannot be had is told of and left out."""

    def __init__(self, settings: Settings, sinks: Sequence[Any], tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._log = KeptLog(settings.log_dir, settings.log_limit_bytes) if settings.log_dir else None
        place = settings.log_dir  # also of the files that a tracker keeps, where it is a folder
        self._directory = place if place is not None and not is_url(place) else os.getcwd()
        self._trackers: list[TrackerSink] = []
        self.sinks: list[Sink] = [self._log] if self._log is not None else []
        for one in sinks:
            if _is_tracker(one):
                self._open(one)
            else:
                self.sinks.append(one)
        self._gathering = self._gather() if self._ours() else None

    def _ours(self) -> list[KeptLog | TrackerSink]:
        return [*([self._log] if self._log is not None else []), *self._trackers]

    def _gather(self) -> Gathering:
        script = getattr(sys.modules.get("__main__"), "__file__", None)
        return Gathering(typed_command(), str(script or ""), self._keep, self._tell)

    def _keep(self, record: Record) -> None:
        for sink in self._ours():
            sink.add(record)

    def _open(self, chosen: Any) -> None:
        try:
            sink = TrackerSink(chosen, run_name(script_name()), self._directory, self._tell)
        except (OSError, RuntimeError, DebuggerError) as error:  # no disk, process or thread to be had
            self._tell(f"the run goes to no tracker: {error}.")
            return
        self._trackers.append(sink)
        self.sinks.append(sink)

    def close(self) -> None:
        """No record comes any more."""
        if self._gathering is not None:
            self._gathering.wait()
        for sink in self._ours():
            sink.close()

    def conclude(self, result: RunResult) -> None:
        """The report is written, and trackers get it with the rest, within a limited time."""
        if self._log is not None:
            self._log.leave_report(result)
        if self._trackers:
            conclude([sink.carrier for sink in self._trackers], ending_of(result), self._tell)
        for sink in self._trackers:
            sink.remove()


def _is_tracker(value: Any) -> bool:
    return isinstance(value, Tracker) or is_wandb_run(value)


# The log that a `Debugger` keeps in a folder: the records, and at the end the report.
class KeptLog:
    """A sink; the folder, or the object store, is left as `torch-debugger run` leaves it."""

    def __init__(self, place: str, limit_bytes: int) -> None:
        self._spool = Spool(place, say_on_sys_stderr) if is_url(place) else None
        self.folder = self._spool.folder if self._spool is not None else place
        rotation: dict[str, Any] = {"rotate_bytes": STORE_ROTATE_BYTES} if self._spool else {}
        self._writer = LogWriter(self.folder, limit_bytes=limit_bytes, on_fault=say_on_sys_stderr, **rotation)

    def add(self, record: Record) -> None:
        self._writer.add(record)

    @property
    def cpu_s(self) -> float:
        return self._writer.cpu_s

    def close(self) -> None:
        self._writer.close()

    def leave_report(self, result: RunResult) -> None:
        """The last thing that is done, after close."""
        try:
            write_reports(result, json_file=None, log_dir=self.folder)
        except Exception as error:  # the program goes on, whatever becomes of its report
            say_on_sys_stderr(f"the report could not be written ({type(error).__name__}: {error}).")
        if self._spool is not None:
            self._spool.close()


# A tracker as a sink, for programs that watch themselves: by name, or the run they have open already.
class TrackerSink:
    """Writes a log that nobody keeps, and has it carried to a tracker."""

    def __init__(self, chosen: Any, name: str, directory: str, tell: Tell) -> None:
        self._folder = tempfile.mkdtemp(prefix="torch-debugger-")
        self._writer = LogWriter(self._folder, on_fault=tell)
        self.carrier = self._carrier(chosen, name, directory, tell)

    def _carrier(self, chosen: Any, name: str, directory: str, tell: Tell) -> Carrier:
        open_run = chosen if is_wandb_run(chosen) else _open_run(chosen)
        if open_run is None:
            return TrackerProcess(chosen, self._folder, directory, name, tell)
        return CarrierThread(TITLES["wandb"], OpenWandbReceiver(open_run), self._folder, name, tell)

    def add(self, record: Record) -> None:
        self._writer.add(record)

    @property
    def cpu_s(self) -> float:
        """What the writer's thread has cost so far."""
        return self._writer.cpu_s

    def close(self) -> None:
        """No record comes any more: the log can be carried to its end."""
        self._writer.close()

    def remove(self) -> None:
        self.carrier.abandon()
        shutil.rmtree(self._folder, ignore_errors=True)


def _open_run(tracker: Tracker) -> Any:
    """The run that this program has open already, where it has one and no other project was asked for."""
    module = sys.modules.get("wandb") if tracker.package == "wandb" else None
    return getattr(module, "run", None) if not tracker.project else None
