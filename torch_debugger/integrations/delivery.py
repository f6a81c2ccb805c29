"""A run's way to a tracker, seen from the process that watches it: started, heard, and ended in time."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Protocol

from torch_debugger.integrations.tracker import Tracker
from torch_debugger.integrations.tracker_data import NAMES, MediaDecoder, Packer, Parcel
from torch_debugger.log.folders import folders_of_hparams, hparam_folders, series_folders
from torch_debugger.log.reader_records import LogFollower, read_log
from torch_debugger.records import HparamsFact, Record, Scalars
from torch_debugger.report.json_and_markdown import render_markdown, to_json
from torch_debugger.report.result import RunResult
from torch_debugger.system.clocks import time

WAIT_S = 20.0  # at the end of a run, for all trackers together
_SILENT_S = 2.0  # of that before we say what is waited for
# The folder we are started in comes last: a wandb.py of the user's is not the library.
_START = (
    "import sys; sys.path.append(sys.path.pop(0)); from torch_debugger.integrations.tracker_process import main; main()"
)

Tell = Callable[[str], None]


class Carrier(Protocol):
    """Whatever takes a run to a tracker."""

    title: str
    step: int  # the last one that has arrived

    def end(self, ending: Ending) -> None:
        """Tells it that the run is over; returns at once."""

    def wait(self, timeout_s: float) -> bool:
        """Whether it is done."""

    def abandon(self) -> None:
        """Ends it, done or not."""


class TrackerProcess:
    """A tracker's library in a process of its own."""

    def __init__(self, tracker: Tracker, folder: str, directory: str, name: str, tell: Tell) -> None:
        self.title = tracker.title
        self.step = 0
        self._tell = tell
        self._is_abandoned = False
        words = [folder, directory, tracker.name or name, json.dumps(dataclasses.asdict(tracker))]
        self._process = subprocess.Popen(
            [sys.executable, "-c", _START, *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C and a closed terminal are for the training
            text=True,
        )
        self._endings: Endings = queue.SimpleQueue()
        self._listener = threading.Thread(target=self._listen, name="torch_debugger tracker", daemon=True)
        self._listener.start()
        threading.Thread(target=self._write, name="torch_debugger ending", daemon=True).start()

    def end(self, ending: Ending) -> None:
        self._endings.put(ending)

    def _write(self) -> None:
        """From a thread: one that is stuck does not read, and a pipe holds only so much."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):  # it has died: its exit status tells
            self._process.stdin.write(json.dumps(dataclasses.asdict(self._endings.get())))
            self._process.stdin.close()

    def wait(self, timeout_s: float) -> bool:
        self._listener.join(timeout_s)
        return not self._listener.is_alive()

    def abandon(self) -> None:
        if self._process.poll() is None:
            self._is_abandoned = True
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            answer: dict[str, Any] = json.loads(line)
            self.step = answer.get("step", self.step)
            if "say" in answer:
                self._tell(answer["say"])
        status = self._process.wait()
        if status != 0 and not self._is_abandoned:
            self._tell(f"{self.title} does not have all of the run: what carries it there ended with {status}.")


class CarrierThread:
    """For a run of a tracker that is open in this process, and can be reached from nowhere else."""

    def __init__(self, title: str, receiver: Receiver, folder: str, name: str, tell: Tell) -> None:
        self.title = title
        self.step = 0
        self._endings: Endings = queue.SimpleQueue()
        delivery = Delivery(title, receiver, name, tell, self._has)
        self._thread = threading.Thread(
            target=delivery.carry, args=(folder, self._endings), name="torch_debugger tracker", daemon=True
        )
        self._thread.start()

    def _has(self, step: int) -> None:
        self.step = step

    def end(self, ending: Ending) -> None:
        self._endings.put(ending)

    def wait(self, timeout_s: float) -> bool:
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def abandon(self) -> None:
        """A thread cannot be ended; this one keeps no program alive."""


def conclude(carriers: list[Carrier], ending: Ending, say: Tell) -> None:
    """Everything is sent when this returns, or it says what was not."""
    for carrier in carriers:
        carrier.end(ending)
    deadline = time.monotonic() + WAIT_S
    silent_until = min(deadline, time.monotonic() + _SILENT_S)
    if not all(carrier.wait(max(0.0, silent_until - time.monotonic())) for carrier in carriers):
        titles = " and ".join(carrier.title for carrier in carriers)
        say(f"waiting for {titles} to take the rest of the run, {WAIT_S:g} s at most.")
    for carrier in carriers:
        if not carrier.wait(max(0.0, deadline - time.monotonic())):
            carrier.abandon()
            steps = f"step {carrier.step} of {ending.result.get('steps', 0)}"
            say(f"{carrier.title} was too slow: it had {steps} when it was left, {WAIT_S:g} s after the end.")


# How a run ended, as a tracker shows it: the verdict, a table of findings, the report.
COLUMNS = ("severity", "check", "name", "message", "where", "fix", "first_step", "last_step", "confidence")


@dataclass(frozen=True)
class Ending:
    """How a run ended: its result as in result.json, and its report as Markdown."""

    result: dict[str, Any]
    report: str

    @property
    def exit_code(self) -> int:
        """Of a run whose code nobody knows: 0 if it finished."""
        code = self.result.get("exit_code")
        return int(code) if code is not None else int(self.result.get("outcome") != "finished")

    @property
    def summary(self) -> dict[str, str | int]:
        """What stands at the top of a tracker's page: the verdict, the outcome, how many findings."""
        findings = self.result.get("findings", [])
        verdict = findings[0] if self.result.get("verdict") is not None else None
        counts = {
            f"{severity}s": sum(finding["severity"] == severity for finding in findings)
            for severity in ("error", "warning", "note")
        }
        return {
            "verdict": f"{verdict['name']}: {verdict['message']}" if verdict else "none",
            "outcome": str(self.result.get("outcome", "unknown")),
            "steps": int(self.result.get("steps", 0)),
            **counts,
        }

    @property
    def rows(self) -> list[list[Any]]:
        """The findings as a table under COLUMNS, the verdict first."""
        rows = []
        for finding in self.result.get("findings", []):
            where = finding["where"]
            line = f"{where['file']}:{where['line']}" if where["file"] else ""
            place = " ".join(part for part in (line, where["module"] and f"({where['module']})") if part)
            rows.append([place if column == "where" else finding[column] for column in COLUMNS])
        return rows


def ending_of(result: RunResult) -> Ending:
    return Ending(to_json(result), render_markdown(result))


# Follows a log and hands it to a receiver. The log is the queue: however slow a tracker is, nobody waits.
_PAUSE_S = 1.0
_MOST_POINTS = 1000  # at once, some seconds' work for a tracker: a training may be faster than it is
_LONGEST_PAUSE_S = 60.0

Endings = queue.SimpleQueue[Ending]


class Delivery:
    """One run on its way to one tracker. A fault is told once, and what it held up is tried again."""

    def __init__(
        self,
        title: str,
        receiver: Receiver,
        name: str,
        tell: Callable[[str], None],
        has: Callable[[int], None] = lambda step: None,
    ) -> None:
        self._title = title
        self._receiver = receiver
        self._name = name
        self._tell = tell
        self._has = has  # hears the last step that has arrived
        self._packer = Packer()
        self._unsent: Parcel | None = None
        self._is_open = self._has_failed = False
        self._left_out = 0  # points
        self._not_taken: Counter[str] = Counter()  # by kind, what the receiver has no form for

    def carry(self, folder: str, endings: Endings) -> None:
        """Until an ending comes, and then the rest of the log."""
        pause_s = _PAUSE_S
        with closing(LogFollower(folder, lambda: MediaDecoder(self._packer.see_medium))) as log:
            self._attempt(self._open)
            while (ending := _next(endings, pause_s)) is None:
                done = self._attempt(lambda: self._forward(log))
                pause_s = _PAUSE_S if done else min(2 * pause_s, _LONGEST_PAUSE_S)
            if self._attempt(lambda: self._finish(log, folder, ending)):
                self._tell(f"{self._title} has the run{self._gaps()}: {self._receiver.place}")
            else:
                self._tell(f"{self._title} does not have all of the run.")

    def _open(self) -> None:
        if not self._is_open:
            self._receiver.open(self._name)
            self._is_open = True

    def _forward(self, log: LogFollower, *, at_end: bool = False) -> None:
        self._open()
        self._send()  # what could not be sent the last time
        for record in log.poll():
            self._packer.see(record)
        if self._packer.has_points or at_end:  # the settings go with the first point, all together
            self._unsent = self._packer.take()
            self._left_out += self._unsent.thin(_MOST_POINTS)
            taken = {name for kind, name in NAMES.items() if kind in self._receiver.takes}
            self._not_taken += Counter({k: n for k, n in self._unsent.kinds.items() if k not in taken})
            self._send()

    def _finish(self, log: LogFollower, folder: str, ending: Ending) -> None:
        for record in records_inside(folder):
            self._packer.see(record)
        self._forward(log, at_end=True)
        self._receiver.close(ending)

    def _send(self) -> None:
        if self._unsent is None:
            return
        self._receiver.take(self._unsent)
        if self._unsent.points:
            self._has(self._unsent.points[-1].step)
        self._unsent = None

    def _gaps(self) -> str:
        gaps = [f"{self._left_out:,} points that came too fast for it"] if self._left_out else []
        kinds = [f"{count:,} of the kind {kind}" for kind, count in self._not_taken.items()]
        gaps += [f"what only the log can show ({', '.join(kinds)})"] if kinds else []
        return f" without {' and '.join(gaps)}" if gaps else ""

    def _attempt(self, deed: Callable[[], None]) -> bool:
        try:
            deed()
        except Exception as error:  # whatever a tracker does, the run goes on without it
            if not self._has_failed:
                first = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
                what = f"{type(error).__name__}: {first}" if first else type(error).__name__
                self._tell(f"{self._title} failed ({what}). It is tried again; the run goes on.")
            self._has_failed = True
            return False
        return True


def run_name(script: str) -> str:
    """train (torch-debugger): a script that tracks itself has a run beside this one."""
    return f"{os.path.basename(script).removesuffix('.py')} (torch-debugger)"


def _next(endings: Endings, wait_s: float) -> Ending | None:
    try:
        return endings.get(timeout=wait_s)
    except queue.Empty:
        return None


# What writers keep in folders inside a run's: the series of `add_scalars` and the settings of `add_hparams`.
#
# Looked at once, when the run has ended: which folders are the run's own is told by what is in them.
def records_inside(folder: str) -> Iterator[Record]:
    """Series are called CHART/SERIES, as everywhere. Where there are several settings they are trials, and none
    of them is the run's."""
    said = folders_of_hparams(folder)
    for inner in hparam_folders(folder):
        yield HparamsFact(dict(said[inner]), "add_hparams", 0)
        yield from (record for record in read_log(inner) if isinstance(record, Scalars))
    for series in series_folders(folder):
        for record in read_log(series.folder):
            if isinstance(record, Scalars):
                yield from (Scalars(record.step, record.time, {series.tag: each}) for each in record.values.values())


# What each tracker must be able to do: open a run, take parcels, close the run.
_RECEIVERS = {"wandb": "WandbReceiver", "mlflow": "MlflowReceiver", "trackio": "TrackioReceiver"}


class Receiver(Protocol):
    """One run of a tracker. Any of these may raise, and take as long as it takes."""

    takes: frozenset[type]  # of what is no number; the rest stays in the log, and that is said

    def open(self, name: str) -> None: ...
    def take(self, parcel: Parcel) -> None: ...
    def close(self, ending: Ending) -> None: ...

    @property
    def place(self) -> str:
        """Where to find the run: an address or a folder, or how to send what is there; once it is open."""
        ...


def make_receiver(tracker: Tracker, directory: str) -> Receiver:
    """`directory` is for files the library keeps beside a run; the library is imported when it is opened."""
    module = importlib.import_module(f"torch_debugger.integrations.to_{tracker.package}")
    receiver: Receiver = getattr(module, _RECEIVERS[tracker.package])(tracker.chosen_project, directory)
    return receiver
