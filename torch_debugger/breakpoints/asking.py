"""Asks a breakpoint whether its condition holds, and stops where it does."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from os import getpid
from types import FrameType
from typing import Protocol

from torch_debugger.breakpoints.answers import holds
from torch_debugger.breakpoints.breakpoint import Breakpoint
from torch_debugger.breakpoints.moments import Moment
from torch_debugger.breakpoints.scenes import Scene
from torch_debugger.breakpoints.stopping import stop
from torch_debugger.saying import say
from torch_debugger.stats.unseen import unseen


class Watch(Protocol):
    """Whoever watches the whole training: counts its steps, and is asleep while something of ours runs."""

    active: bool

    @property
    def step(self) -> int: ...
    def asleep(self) -> AbstractContextManager[None]: ...


class _Busy(threading.local):
    now = False


class Asker:
    """Holds what all moments share: the watch, if there is one, and that a stop is no place for another."""

    def __init__(self, find_watch: Callable[[], Watch | None]) -> None:
        self.find_watch = find_watch
        self._busy = _Busy()
        self._pid = getpid()

    def is_awake(self) -> bool:
        """Not at a prompt, not in a fork (a loader's worker), not in a replay of ours."""
        watch = self.find_watch()
        asleep = watch is not None and not watch.active
        return not (self._busy.now or asleep or getpid() != self._pid)

    def ask(self, breakpoint: Breakpoint, scene: Scene, find_frame: Callable[[], FrameType]) -> None:
        if breakpoint.removed or not self.is_awake():
            return
        once = breakpoint.moment is Moment.STEP and breakpoint.last_step == scene.step
        if not once and self._holds(breakpoint, scene):
            breakpoint.hits += 1
            breakpoint.last_step = scene.step
            if breakpoint.stops:
                self._stop(breakpoint, scene, find_frame())

    def _holds(self, breakpoint: Breakpoint, scene: Scene) -> bool:
        self._busy.now = True
        try:
            return bool(unseen(holds, breakpoint.condition.tree, scene))
        except Exception as error:  # the promise: a condition that fails never reaches the training
            say(
                f"the breakpoint `{breakpoint}` failed at {scene.path or 'the loss'} ({type(error).__name__}: "
                f"{error}) and is taken off; the training goes on."
            )
            breakpoint.remove()
            return False
        finally:
            self._busy.now = False

    def _stop(self, breakpoint: Breakpoint, scene: Scene, frame: FrameType) -> None:
        watch = self.find_watch()
        where = f" in `{scene.path}`" if scene.path else ""
        reason = f"`{breakpoint}` holds at step {scene.step}{where}"
        self._busy.now = True
        try:
            with watch.asleep() if watch is not None else nullcontext():
                breakpoint.stops = stop(frame, reason, scene.at_hand(), breakpoint.remove)
        finally:
            self._busy.now = False
