"""The parent's part when the training stands still: say so once all ranks have told where they are, and end
the run if that was asked for."""

from __future__ import annotations

import dataclasses
import functools
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from os import getpid
from typing import NoReturn

import psutil

from torch_debugger.checks.catalog import catalog
from torch_debugger.checks.hangs import HangCheck
from torch_debugger.checks.judge import RanksJudge
from torch_debugger.log.event_files import rank_of_process
from torch_debugger.log.process_channels import Board
from torch_debugger.ranks.process_activity import CEILING_S, FLOOR_S, RUNNING, KernelView, view_process
from torch_debugger.records import Finding, HangFact, HangOver, Place, Record, StackLine, Standing
from torch_debugger.records.ranks import CALL, LOOP
from torch_debugger.report.result import RanksDigest
from torch_debugger.report.text import source_line
from torch_debugger.runner.outputs import print_hang
from torch_debugger.system.files import Row, ask, first_thread, has_handler
from torch_debugger.system.program import say
from torch_debugger.system.tracebacks import is_user_path

ABORTED = 124  # the exit code of a run that was ended since it hung, as that of timeout(1)
_OTHER_RANKS_S = 3.0  # to tell where they are, after the first of them was sure
_KILL_S = 5.0


class HangReporter:
    """Hears every record; `act` is called again and again, and `end_run` ends the child."""

    def __init__(self, judge: RanksJudge, digest: RanksDigest, end_run: Callable[[], None], *, quiet: bool) -> None:
        self.told: tuple[Finding, ...] = ()
        self.aborted = False
        self._judge, self._digest, self._quiet = judge, digest, quiet
        self._end_run = end_run
        self._ranks: dict[int, HangFact] = {}
        self._since_s: float | None = None
        self._is_said = False

    def see(self, record: Record, rank: int | None, now_s: float) -> None:
        if isinstance(record, HangFact):
            self._ranks[rank or 0] = record
            if record.final and self._since_s is None:
                self._since_s = now_s
        elif isinstance(record, HangOver):
            self._ranks.pop(rank or 0, None)
            if not any(fact.final for fact in self._ranks.values()):
                self._since_s, self._is_said = None, False

    def act(self, now_s: float) -> None:
        if self._since_s is None or self._is_said:
            return
        world = max(fact.world for fact in self._ranks.values())
        if len(self._ranks) < world and now_s - self._since_s < _OTHER_RANKS_S:
            return
        findings = hang_findings(self._judge.findings)
        if findings:  # else some rank is still at work, and the others wait for it
            self._is_said = True
            self._say(findings)
            if any(fact.policy == "abort" for fact in self._ranks.values()):
                self.aborted = True
                self._end_run()

    def _say(self, findings: list[Finding]) -> None:
        result = self._digest.result(self._judge.findings, outcome="hung")
        result = dataclasses.replace(result, findings=tuple(findings), verdict=findings[0])
        stacks = any(fact.policy != "warn" for fact in self._ranks.values())
        try:
            print_hang(result, stacks=stacks and not self._quiet)
        except Exception as error:  # whatever is wrong with our words, the run must still be ended if asked for
            say(f"the hang could not be explained ({type(error).__name__}: {error}).")
        self.told = tuple(findings)

    @property
    def is_hung(self) -> bool:
        return bool(hang_findings(self._judge.findings))


def hang_findings(findings: list[Finding]) -> list[Finding]:
    """Those that say that the training stands still; one that went on again is a note by now."""
    return [finding for finding in findings if finding.check in _ids() and finding.severity != "note"]


@functools.cache
def _ids() -> frozenset[str]:
    return frozenset(check.id for check in catalog() if issubclass(check, HangCheck))


def end_here() -> NoReturn:
    """This very process, at once: the thread that hangs would not hear of a wish to end."""
    end_with_descendants(getpid(), itself=False)
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(ABORTED)


def end_with_descendants(pid: int, *, itself: bool = True) -> None:
    """At once, and everybody that the process has started: a worker that hangs would never notice that the
    training is gone."""
    try:
        process = psutil.Process(pid)
        doomed = process.children(recursive=True)
    except psutil.Error:
        return
    doomed += [process] if itself else []
    for each in doomed:
        try:
            each.kill()
        except psutil.Error:  # it has ended meanwhile
            continue
    psutil.wait_procs([each for each in doomed if each.pid != pid], timeout=_KILL_S)


# The second pair of eyes: a child whose own watchdog says nothing any more is looked at from outside.
#
# That is so while a function in C holds Python's lock, in which no thread of the child can run. The kernel tells
# whether it computes, and Python's faulthandler, asked by a signal, where it is. Time in which we did not run either
# (the machine slept, the job was stopped) is not the child's.
_OURS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_LOADER = os.path.join("torch", "utils", "data", "dataloader.py")
_IDLE = 0.05  # of a core; on a crowded machine one that computes may not get much more
_LEAST_STEPS = 3
_MOST_LATE_S = 1.0  # from one call of `look` to the next


@dataclass
class _QuietTime:
    """Since when, how the child was then, and when to look next."""

    since_s: float
    view: KernelView | None
    look_at_s: float


class HeartbeatMonitor:
    """`look` is called again and again; it gives a record when there is something to tell."""

    def __init__(self, board: Board, pid: int, timeout_s: float, policy: str) -> None:
        self._board, self._pid, self._policy = board, pid, policy
        self._least_s = timeout_s or FLOOR_S
        self._most_s = max(timeout_s, CEILING_S)
        self._beats = 0
        self._quiet: _QuietTime | None = None
        self._hang_since_s: float | None = None
        self._seen_s = self._lost_s = 0.0

    def look(self, clock_s: float) -> HangFact | HangOver | None:
        board = self._board
        self._lost_s += max(clock_s - self._seen_s - _MOST_LATE_S, 0.0)
        self._seen_s = clock_s
        now_s = clock_s - self._lost_s
        if board.beats != self._beats or not board.beats or self._quiet is None:
            self._beats = board.beats
            return self._went_on(now_s)
        if not board.stack_signal or now_s < self._quiet.look_at_s or self._hang_since_s is not None:
            return None
        self._quiet.look_at_s = now_s + self._least_s
        return self._examine(self._quiet, now_s) if not board.at_prompt else None

    def _went_on(self, now_s: float) -> HangOver | None:
        hang_since_s, self._hang_since_s = self._hang_since_s, None
        view = view_process(self._pid) if self._beats else None
        self._quiet = _QuietTime(now_s, view, now_s + self._least_s)
        return HangOver(rank_of_process(), self._board.step, now_s - hang_since_s) if hang_since_s is not None else None

    def _examine(self, quiet: _QuietTime, now_s: float) -> HangFact | None:
        view, silent_s = view_process(self._pid), now_s - quiet.since_s
        pid, number = self._pid, self._board.stack_signal
        # Stopped by somebody, at its end, or by exec another program
        if view is None or view.state in ("T", "t", "Z", "X") or not has_handler(pid, number):
            self._quiet = _QuietTime(now_s, view, now_s + self._least_s)
            return None
        stack = first_thread(ask(pid, number, self._board.stacks_fd))
        used = (view.cpu_s - quiet.view.cpu_s) / max(silent_s, 1e-3) if quiet.view is not None else 1.0
        computes = used > _IDLE or view.call == RUNNING
        in_loader = any(_LOADER in row[0] for row in stack) and self._board.step >= _LEAST_STEPS
        if computes and not in_loader and silent_s < self._most_s:
            return None  # long work in C, such as reading a large pickle, holds Python's lock as well
        self._hang_since_s = quiet.since_s
        return self._fact(stack, view, LOOP if computes else CALL, silent_s)

    def _fact(self, rows: list[Row], view: KernelView, kind: str, silent_s: float) -> HangFact:
        lines = tuple(_line(*row) for row in rows if not row[0].startswith(_OURS))
        place = next((line.place for line in reversed(lines) if line.is_users), Place())
        standing = Standing("training", self._pid, True, 1.0 * (kind == LOOP), view.call, view.target, lines, kind)
        return HangFact(
            rank=rank_of_process(),
            world=int(os.environ.get("WORLD_SIZE", "1")) if rank_of_process() is not None else 1,
            step=self._board.step + 1,
            final=True,
            still_s=silent_s,
            expected_s=self._least_s,
            slowest_s=0.0,
            kind=kind,
            doing=place.code or "",
            place=place,
            call=place.code or "",
            condition=Place(),
            shapes=(),
            groups=(),
            batches=-1,
            batches_of=-1,
            is_out_of_data=False,
            worker=-1,
            stacks=(standing,),
            policy=self._policy,
        )


def _line(file: str, line: int, function: str) -> StackLine:
    users = is_user_path(file)
    return StackLine(Place(file, line, code=source_line(file, line) if users else None), function, users)
