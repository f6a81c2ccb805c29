"""Follows a log and hands it to a receiver. The log is the queue: however slow a tracker is, nobody waits."""

from __future__ import annotations

import os
import queue
from collections import Counter
from collections.abc import Callable
from contextlib import closing

from torch_debugger.integrations.trackers.ending import Ending
from torch_debugger.integrations.trackers.inner_folders import records_inside
from torch_debugger.integrations.trackers.media_decoder import MediaDecoder
from torch_debugger.integrations.trackers.parcels import NAMES, Packer, Parcel
from torch_debugger.integrations.trackers.receiver import Receiver
from torch_debugger.runlog.reader import LogFollower

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
                self._tell(f"{self._title} failed ({_in_one_line(error)}). It is tried again; the run goes on.")
            self._has_failed = True
            return False
        return True


def run_name(script: str) -> str:
    """train (torch-debugger): a script that tracks itself has a run beside this one."""
    return f"{os.path.basename(script).removesuffix('.py')} (torch-debugger)"


def _in_one_line(error: Exception) -> str:
    first = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
    return f"{type(error).__name__}: {first}" if first else type(error).__name__


def _next(endings: Endings, wait_s: float) -> Ending | None:
    try:
        return endings.get(timeout=wait_s)
    except queue.Empty:
        return None
