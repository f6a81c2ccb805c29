"""For loaders without workers: a thread that looks, 20 times a second, which sample the training is at."""

from __future__ import annotations

import threading
from typing import Any

from torch_debugger.clocks import time
from torch_debugger.probes.sample_follower import PERIOD_S, SampleFollower
from torch_debugger.signals import OwnThread


class TrainingAttendant:
    def __init__(self) -> None:
        self.fault: Exception | None = None
        self._follower = SampleFollower()
        self._asked: tuple[int, float] | None = None  # the thread that makes a batch just now, and since when
        self._ended = False
        self._thread = OwnThread(self._run, "torch-debugger samples")

    def begin(self) -> None:
        """This thread begins to make a batch."""
        self._asked = (threading.get_ident(), time.monotonic())

    def end(self) -> None:
        self._asked = None

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._ended = True
        if self._thread.is_alive():
            self._thread.join(timeout=1.0)

    def slowest(self) -> dict[str, Any] | None:
        if self.fault is not None:
            raise self.fault  # to the guard, who tells it
        return self._follower.slowest

    def _run(self) -> None:
        try:
            while not self._ended:
                time.sleep(PERIOD_S)
                asked = self._asked
                if asked is not None:
                    self._follower.look(asked[0], time.monotonic(), asked[1])
                else:
                    self._follower.rest(time.monotonic())
        except Exception as error:  # of a thread of ours: told by whoever asks it
            self.fault = error
