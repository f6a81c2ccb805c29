"""Rehearsals of the script's models on a pretended accelerator: when they begin, and when they are heard."""

from __future__ import annotations

from typing import Any

import torch

from torch_debugger.clocks import time
from torch_debugger.probes.roots import Root
from torch_debugger.probes.watch import Watch
from torch_debugger.trials.rehearsal import RehearsalProcess


class Rehearsals:
    MOST = 3  # roots rehearsed in one run
    LAST_WAIT_S = 10.0  # for a rehearsal still under way when the script ends

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self._running: list[RehearsalProcess] = []
        self._begun = 0

    def begin(self, root: Root, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        module = root.module()
        if root.rehearsed or module is None or self._begun >= self.MOST:
            return
        root.rehearsed = True
        self._begun += 1
        step = self.watch.step
        with torch._C._EnableTorchFunction():  # in the fork as well
            process = RehearsalProcess.start(module, root.name, arguments, keywords, step=step)
        self._running.append(process)

    def poll(self, step: int = 0, scalars: dict[str, float] | None = None) -> None:
        for process in tuple(self._running):
            result = process.poll()
            if result is not None:
                self._running.remove(process)
                self.watch.emit(result)

    def wait(self) -> None:
        deadline = time.monotonic() + self.LAST_WAIT_S
        while self._running and time.monotonic() < deadline:
            self.watch.guard.call("rehearsal", self.poll)
            time.sleep(0.02)
        for process in self._running:
            process.close()
