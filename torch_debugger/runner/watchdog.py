"""`Watchdog`: say so when the training stands still, from inside a program.

    with torch_debugger.Watchdog(timeout=300):
        train()

Under `torch-debugger run` a watchdog is on by itself; one that the program starts sets how long it waits and
what it does.
"""

from __future__ import annotations

import dataclasses
import sys
import threading
from datetime import timedelta
from os import getpid
from types import TracebackType
from typing import Any

from torch.optim.optimizer import register_optimizer_step_post_hook

from torch_debugger.checks.judge import RanksJudge
from torch_debugger.ranks.hang_detection import Asking, HangDetector
from torch_debugger.ranks.hang_evidence import Evidence, Thread
from torch_debugger.ranks.process_activity import CEILING_S, FLOOR_S, Limits, Pace
from torch_debugger.ranks.thread_stacks import AskedStacks
from torch_debugger.records import HangFact, HangOver
from torch_debugger.records.ranks import COLLECTIVE
from torch_debugger.report.result import RanksDigest
from torch_debugger.runner.hang_reports import HangReporter, end_here
from torch_debugger.runner.hang_watch import HangWatch, current_hang_watch
from torch_debugger.system.errors import UsageError
from torch_debugger.system.redaction import redact_record

POLICIES = ("warn", "dump", "abort")


class Watchdog:
    """Watches the thread that starts it.

    `timeout` is how long the training may stand still, in seconds or as a timedelta; without one it is
    learned from the run: three times its longest pause, but no less than `floor` and no more than `ceiling`.
    Standing still means waiting: a long validation or a compiler computes, and is left alone. A wait for other
    ranks, which only `torch-debugger run` hears, is told after `timeout`, or else after `ceiling`.

    `policy`: "warn" says what hangs and where, "dump" shows the stacks of all threads and workers too,
    "abort" does that and ends the process and all it has started, with exit code 124.
    """

    def __init__(
        self,
        timeout: float | timedelta | None = None,
        policy: str = "dump",
        *,
        floor: float | timedelta = FLOOR_S,
        ceiling: float | timedelta = CEILING_S,
    ) -> None:
        if policy not in POLICIES:
            raise UsageError(f"policy is one of {', '.join(POLICIES)}, not {policy!r}.")
        self.policy = policy
        self.hangs: list[HangFact] = []  # that were told, the last one last
        self._limits = Limits(
            timeout_s=_seconds("timeout", timeout) if timeout is not None else 0.0,
            floor_s=_seconds("floor", floor),
            ceiling_s=_seconds("ceiling", ceiling),
        )
        self._steps = 0
        self._pid = 0
        self._detector: HangDetector | None = None
        self._stacks = AskedStacks()
        self._hook: Any = None
        self._elsewhere: tuple[HangWatch, Limits, str] | None = None  # what `run` had before

    @property
    def watching(self) -> bool:
        return self._detector is not None or self._elsewhere is not None

    def start(self) -> Watchdog:
        if self.watching:
            return self
        known = current_hang_watch()
        if known is not None:
            self._elsewhere = (known, *known.settle(self._limits, self.policy))
            known.on_told.append(self.hangs.append)
            return self
        self._pid = getpid()
        self._stacks.register()
        self._hook = register_optimizer_step_post_hook(self._stepped)
        evidence = Evidence(lambda: self._steps, self._stacks, self.policy)
        thread = Thread(threading.get_ident(), threading.get_native_id())
        self._detector = HangDetector(
            thread, Pace(self._limits), lambda: (self._steps,), evidence, self._tell, Asking(None)
        )
        self._detector.start()
        return self

    def stop(self) -> None:
        if self._elsewhere is not None:
            known, limits, policy = self._elsewhere
            self._elsewhere = None
            known.settle(limits, policy)
            known.on_told.remove(self.hangs.append)
        detector, self._detector = self._detector, None
        if detector is not None:
            self._hook.remove()
            detector.stop()
            self._stacks.unregister()

    def beat(self) -> None:
        """A sign of life, for loops without an optimizer: they are counted instead of its steps."""
        self._steps += 1

    def __enter__(self) -> Watchdog:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _stepped(self, *arguments: Any) -> None:
        self._steps += 1

    def _tell(self, fact: HangFact | HangOver) -> None:
        """In the vigil's thread: the one that is watched does nothing any more."""
        if getpid() != self._pid or not isinstance(fact, HangFact) or not fact.final:
            return
        if fact.world > 1 and fact.kind == COLLECTIVE and fact.still_s < self._patience_s():
            return
        redacted = redact_record(fact)
        self.hangs.append(redacted)
        redacted = dataclasses.replace(redacted, world=1)  # the other ranks are not heard here
        judge, digest = RanksJudge(), RanksDigest(sys.argv[0])
        reporter = HangReporter(judge, digest, end_here, quiet=False)
        digest.see(redacted)
        judge.see(redacted)
        reporter.see(redacted, None, 0.0)
        reporter.act(1e9)

    def _patience_s(self) -> float:
        """With a wait for other ranks, of which nothing is known here: one of them may validate."""
        return self._limits.timeout_s or self._limits.ceiling_s

    def __repr__(self) -> str:
        state = "watching" if self.watching else "not started"
        return f"<Watchdog {state}, policy {self.policy}, {len(self.hangs)} hangs>"


def _seconds(name: str, value: float | timedelta) -> float:
    seconds = value.total_seconds() if isinstance(value, timedelta) else float(value)
    if not seconds > 0:
        raise UsageError(f"{name} is a time in seconds, or a timedelta, greater than 0, not {value!r}.")
    return seconds
