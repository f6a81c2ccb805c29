"""Rehearsals on a pretended accelerator: when they begin, and when they are heard.

Of the script's models, and of the lines that the script has ahead of it."""

from __future__ import annotations

from types import FrameType
from typing import Any

import torch

from torch_debugger.anatomy.forked import in_fork
from torch_debugger.anatomy.frames import frames
from torch_debugger.anatomy.moments import Moment, moment_of
from torch_debugger.anatomy.sources import is_user_file, line_at
from torch_debugger.clocks import time
from torch_debugger.probes.backward import Backward
from torch_debugger.probes.module_moves import ModuleMoves
from torch_debugger.probes.roots import Root, Roots
from torch_debugger.probes.watch import Watch
from torch_debugger.trials.rehearsal import RehearsalProcess


class Rehearsals:
    MOST = 3  # roots rehearsed in one run
    LAST_WAIT_S = 1.0  # for a rehearsal still under way when the script ends

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self._running: list[RehearsalProcess] = []
        self._begun = 0
        self.moves = ModuleMoves(watch)
        self._script_begun = False
        self._roots: Roots | None = None

    @property
    def probes(self) -> list[ModuleMoves]:
        return [self.moves] if self._roots is not None else []

    def listen(self, backward: Backward) -> None:
        self._roots = backward.roots
        backward.roots.on_call.append(self.begin)
        backward.on_look.append(self.begin_script)
        self.watch.on_step.append(self.poll)

    def begin_script(self, loss: torch.Tensor, frame: FrameType | None) -> None:
        """At the first backward: the step, and all that the script has ahead of it."""
        if self._script_begun or in_fork():
            return
        self._script_begun = True
        from torch_debugger.trials.script_rehearsal.conduct import start
        from torch_debugger.trials.script_rehearsal.unmoved_model import unmoved_model

        moves, moments = self.moves.alive(), _own_frames()
        if not moves and self._roots is not None:
            trained = [(root.name, module) for root, module in self._roots.alive() if root.trained]
            found = unmoved_model(trained, moments, self.watch.step)
            if found is not None:
                self.watch.emit(found)
        if moves and moments:
            with torch._C._EnableTorchFunction():
                process = start(moments, moves, self.watch.step)
            if process is not None:
                self._running.append(process)

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


def _own_frames() -> list[Moment]:
    """The user's, from the innermost out to where a library called them; none where it calls backward()."""
    found: list[Moment] = []
    for frame in frames(2):
        if is_user_file(frame.f_code.co_filename):
            found.append(moment_of(frame))
        elif found:
            break
    return found if found and "backward" in line_at(found[0].file, found[0].line) else []
