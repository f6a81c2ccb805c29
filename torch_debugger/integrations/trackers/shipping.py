"""A run's way to a tracker, seen from the process that watches it: started, heard, and ended in time."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any, Protocol

from torch_debugger.clocks import time
from torch_debugger.integrations.trackers.delivery import Delivery, Endings
from torch_debugger.integrations.trackers.ending import Ending
from torch_debugger.integrations.trackers.receiver import Receiver
from torch_debugger.integrations.trackers.tracker import Tracker

WAIT_S = 20.0  # at the end of a run, for all trackers together
_SILENT_S = 2.0  # of that before we say what is waited for
# The folder we are started in comes last: a wandb.py of the user's is not the library.
_START = (
    "import sys; sys.path.append(sys.path.pop(0)); "
    "from torch_debugger.integrations.trackers.courier import main; main()"
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


class CourierProcess:
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
    if not _wait(carriers, min(deadline, time.monotonic() + _SILENT_S)):
        say(f"waiting for {_titles(carriers)} to take the rest of the run, {WAIT_S:g} s at most.")
    for carrier in carriers:
        if not carrier.wait(max(0.0, deadline - time.monotonic())):
            carrier.abandon()
            steps = f"step {carrier.step} of {ending.result.get('steps', 0)}"
            say(f"{carrier.title} was too slow: it had {steps} when it was left, {WAIT_S:g} s after the end.")


def _wait(carriers: list[Carrier], deadline: float) -> bool:
    return all(carrier.wait(max(0.0, deadline - time.monotonic())) for carrier in carriers)


def _titles(carriers: list[Carrier]) -> str:
    return " and ".join(carrier.title for carrier in carriers)
