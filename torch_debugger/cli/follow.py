"""The parent's loop: read what the child has logged, judge it, say how it goes."""

from __future__ import annotations

import math
import os
import time
from collections import deque
from collections.abc import Callable

from torch_debugger.checks.ranks_judge import RanksJudge
from torch_debugger.cli.handover import OFFERED, REFUSED, SHOWN, TAKEN
from torch_debugger.cli.hang_desk import HangDesk, hang_findings
from torch_debugger.cli.pulse import Pulse
from torch_debugger.cli.status import Display, Progress
from torch_debugger.records import CrashFact, EndFact, Finding, Record, Scalars
from torch_debugger.report.ranks_digest import RanksDigest
from torch_debugger.runlog.board import Board
from torch_debugger.runlog.reader import LogFollower
from torch_debugger.runlog.requests import RequestSender

_TICK_S = 0.15
_RATE_WINDOW_S = 20.0


class Follower:
    """Follows one child until it has ended, and judges what all that write into its folder have to say."""

    def __init__(
        self,
        log: LogFollower,
        board: Board,
        requests: RequestSender,
        judge: RanksJudge,
        digest: RanksDigest,
        display: Display,
        show_crash: Callable[[CrashFact], bool],  # whether its traceback too
        say_news: Callable[[], None],
        hangs: HangDesk,
        pulse: Pulse | None = None,
        rank: int | None = None,
    ) -> None:
        self._rank = rank  # of the child that is followed
        self._log = log
        self._board = board
        self._requests = requests
        self._judge = judge
        self._digest = digest
        self._display = display
        self._show_crash = show_crash
        self._hangs, self._pulse = hangs, pulse
        self._say_news = say_news  # of those who take the run elsewhere
        self._crash: CrashFact | None = None
        self._has_ended, self._logged_step = False, 0
        self._pace = Pace()
        self._unsaid: list[Finding] = []

    def follow(self, wait: Callable[[float], int | None]) -> int:
        """`wait(timeout_s)` gives the child's exit status once there is one."""
        while (status := wait(_TICK_S)) is None:
            self._read(now_and_then=True)
            self._take_crash()
            self._feel_pulse(time.monotonic())
            self._speak(time.monotonic())
        self._read()
        return status

    def unlogged(self) -> list[Record]:
        """The last steps of a child that was killed before it wrote them down: judged here, and for the log."""
        if self._has_ended:
            return []
        noted = [noted for noted in self._board.last_steps() if noted.step > self._logged_step]
        lost: list[Record] = [
            Scalars(step, time, {} if math.isnan(loss) else {"loss": loss}) for step, time, loss in noted
        ]
        for record in lost:
            self._take(record, self._rank)
        return lost

    def _feel_pulse(self, now_s: float) -> None:
        found = self._pulse.look(now_s) if self._pulse is not None else None
        if found is not None:
            self._take(found, self._rank)
        if not self._board.at_prompt or not os.isatty(0):  # nobody can type there
            self._hangs.act(now_s)

    def _take_crash(self) -> None:
        """The child offers its traceback, and waits: what it logged before that is complete."""
        if self._board.crash != OFFERED:
            return
        self._read()
        if self._crash is None or not self._crash.traceback:
            self._board.crash = REFUSED
            return
        self._board.crash = TAKEN
        self._unsaid.clear()  # the explanation says it all
        self._board.crash = SHOWN if self._show_crash(self._crash) else REFUSED

    def _read(self, *, now_and_then: bool = False) -> None:
        for rank, record in self._log.read_ranks_on(now_and_then=now_and_then):
            self._take(record, rank)

    def _take(self, record: Record, rank: int | None) -> None:
        self._digest.see(record, rank)
        self._hangs.see(record, rank, time.monotonic())
        if rank == self._rank:
            self._notice(record)
        for finding in self._judge.see(record, rank):
            if not hang_findings([finding]):  # these are told together, with the stacks
                self._unsaid.append(finding)
            if finding.request is not None and rank == self._rank:
                self._requests.send(finding.request)

    def _notice(self, record: Record) -> None:
        """What the child itself has said."""
        if isinstance(record, CrashFact):
            self._crash = record
        elif isinstance(record, EndFact):
            self._has_ended = True
        elif isinstance(record, Scalars):
            self._logged_step = max(self._logged_step, record.step)

    def _speak(self, now_s: float) -> None:
        step = max(self._board.step, self._digest.step)  # a process that starts the ranks makes no steps itself
        rate = self._pace.rate(step, now_s)
        if self._board.at_prompt:
            return
        self._say_news()
        for finding in self._unsaid:
            if finding.severity != "note":  # notes can wait for the report
                self._display.announce(finding)
        self._unsaid.clear()
        progress = Progress(step, self._loss(), rate, self._judge.findings, self._board.trials)
        self._display.update(progress, now_s)

    def _loss(self) -> float | None:
        """A board without a loss says nan; only the log can tell that from a loss that is nan."""
        if self._digest.losses is None:
            return None if math.isnan(self._board.loss) else self._board.loss
        return self._board.loss if self._board.step else self._digest.losses.last[1]


class Pace:
    """Steps a second over the last moments."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, int]] = deque()

    def rate(self, step: int, now_s: float) -> float | None:
        self._seen.append((now_s, step))
        while now_s - self._seen[0][0] > _RATE_WINDOW_S:
            self._seen.popleft()
        # Count from where the first step was done: what came before is setting up.
        started = next(((then_s, steps) for then_s, steps in self._seen if steps), None)
        if started is None or now_s <= started[0]:
            return None
        return (step - started[1]) / (now_s - started[0])
