"""The parent's part of a run: start the child, follow it to its end, and never import torch."""

from __future__ import annotations

import dataclasses
import functools
import math
import os
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, nullcontext
from types import TracebackType
from typing import TYPE_CHECKING

from torch_debugger.checks.judge import RanksJudge
from torch_debugger.log.event_files import rank_of_process
from torch_debugger.log.object_stores import is_url
from torch_debugger.log.process_channels import Board, RequestSender, make_request_pipe
from torch_debugger.log.reader_records import LogFollower
from torch_debugger.records import CrashFact, EndFact, Finding, Record, Scalars
from torch_debugger.report.result import RanksDigest, RunResult, outcome_of_exit
from torch_debugger.report.text import one_line
from torch_debugger.runner.child_process import ChildProcess, log_late, no_log, own_log
from torch_debugger.runner.hang_reports import ABORTED, HangReporter, HeartbeatMonitor, hang_findings
from torch_debugger.runner.launch import OFFERED, REFUSED, SHOWN, TAKEN, Orders
from torch_debugger.runner.options import settings_of_child
from torch_debugger.runner.outputs import CrashPrinter, exit_code_of
from torch_debugger.runner.rank_parents import FellowRanks, Patience, RankLaunch, rank_end, rank_fact, rank_process
from torch_debugger.runner.script import Program
from torch_debugger.runner.status import Display, LiveRow, PlainStatus, Progress, Silence, write_line
from torch_debugger.settings import Settings
from torch_debugger.system.program import say

if TYPE_CHECKING:
    from torch_debugger.integrations.delivery import Carrier


_STDERR = 2


def run_in_child(
    program: Program,
    settings: Settings,
    judge: RanksJudge,
    folder: str,
    display: Display | None = None,
    couriers: RunningTrackers | None = None,
    launch: RankLaunch | None = None,
    report_early: Callable[[RunResult], None] | None = None,
) -> tuple[RunResult, int]:
    """The result and the script's exit status, -n when signal n ended it. Of several ranks, ours is the first,
    and the result is that of all; `report_early` is given it as it stands before we are killed."""
    board, digest = Board.create(), RanksDigest(program.target)
    reader, sender = make_request_pipe()
    orders = Orders(
        settings_of_child(settings, folder),
        program.module,
        board.fd,
        reader.fd,
        dies_with_parent=launch is not None,
    )
    child = ChildProcess(program, orders) if launch is None else rank_process(program, orders, launch)
    log = LogFollower(folder)
    gathered = program if settings.keep_log else None
    is_logged = gathered is not None or launch is not None
    own = own_log(folder, gathered, settings.log_limit_bytes) if is_logged else nullcontext(no_log)
    status_line = _closed(display or _choose_display(settings))
    result_of = functools.partial(_result, settings.keep_log, judge, digest, board, folder)
    with closing(log), closing(sender), status_line as shown, own as tell, child.running():
        reader.close()  # the child has its own
        crash = CrashPrinter(judge, digest, quiet=settings.quiet)
        hangs = HangReporter(judge, digest, child.end_at_once, quiet=settings.quiet)
        say_news = couriers.speak if couriers is not None else lambda: None
        monitor = HeartbeatMonitor(board, child.pid, settings.hang_timeout_s, settings.on_hang)
        follower = Follower(
            log, board, sender, judge, digest, shown, crash.show, say_news, hangs, monitor, rank_of_process()
        )
        if launch is not None:
            tell(rank_fact(launch, child))
        status = _follow(follower, Patience(child, lambda: _speak_early(judge, result_of, report_early)), child)
        log_late(folder, follower.unlogged(), settings.log_limit_bytes, child.pid)
        if launch is not None:
            tell(end := rank_end(launch, ABORTED if hangs.aborted else status, board))
            judge.see(end, launch.rank)
            others = FellowRanks(launch, folder, lambda: judge.ranks.ends, _hurry(child, status))
            _follow_others(follower, lambda timeout_s: 0 if hangs.aborted else others.wait(timeout_s))
    judge.finish()
    status = ABORTED if hangs.aborted else status
    result = dataclasses.replace(result_of(status), told=(*crash.told, *hangs.told))
    return (dataclasses.replace(result, outcome="hung") if hangs.is_hung and status else result), status


def _speak_early(
    judge: RanksJudge, result_of: Callable[[None], RunResult], report: Callable[[RunResult], None] | None
) -> None:
    if report is not None:
        judge.finish()
        report(result_of(None))


def _hurry(child: ChildProcess, status: int) -> Callable[[], bool]:
    """When one rank has failed, whoever started them ends the others soon, and then us."""
    return lambda: bool(status) or child.told_to_end_at is not None


def _follow_others(follower: Follower, wait: Callable[[float], int | None]) -> None:
    try:
        follower.follow(wait)
    except Exception as error:  # as below
        say(f"stopped watching the other ranks by a fault of its own ({type(error).__name__}: {error}).")


def _result(
    keep_log: bool, judge: RanksJudge, digest: RanksDigest, board: Board, folder: str, status: int | None
) -> RunResult:
    """`status` is None where the script has not ended, but will not be heard any more."""
    digest.reached(board.step)
    code = exit_code_of(status) if status is not None else None
    has_exited = status is not None and status >= 0
    return digest.result(
        judge.findings,
        outcome=None if has_exited else outcome_of_exit(code) if code is not None else "stopped",
        exit_code=code,
        log=_from_here(folder) if keep_log else None,
        faults=judge.faults,
        checks=len(judge.checks),
        facts=judge.ranks.facts,
        ends=judge.ranks.ends,
    )


def _follow(follower: Follower, patience: Patience, child: ChildProcess) -> int:
    try:
        return follower.follow(patience.wait)
    except Exception as error:  # our fault is no reason to lose the script's exit status
        say(f"stopped watching by a fault of its own ({type(error).__name__}: {error}); your script goes on.")
        return child.wait_for_end()


def _from_here(folder: str) -> str:
    try:
        return os.path.relpath(folder)
    except OSError:  # the script has deleted the folder it was started in
        return folder


@contextmanager
def _closed(display: Display) -> Iterator[Display]:
    try:
        yield display
    finally:
        display.close()


def _choose_display(settings: Settings) -> Display:
    if settings.quiet:
        return Silence()
    if settings.live and os.isatty(_STDERR):
        return LiveRow(_STDERR)
    return PlainStatus(_STDERR, time.monotonic())


# The parent's loop: read what the child has logged, judge it, say how it goes.
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
        hangs: HangReporter,
        monitor: HeartbeatMonitor | None = None,
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
        self._hangs, self._monitor = hangs, monitor
        self._say_news = say_news  # of those who take the run elsewhere
        self._crash: CrashFact | None = None
        self._has_ended, self._logged_step = False, 0
        self._pace = StepRate()
        self._unsaid: list[Finding] = []

    def follow(self, wait: Callable[[float], int | None]) -> int:
        """`wait(timeout_s)` gives the child's exit status once there is one."""
        while (status := wait(_TICK_S)) is None:
            self._read(now_and_then=True)
            self._take_crash()
            self._check_heartbeat(time.monotonic())
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

    def _check_heartbeat(self, now_s: float) -> None:
        found = self._monitor.look(now_s) if self._monitor is not None else None
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


class StepRate:
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


# `--to`: the couriers of one run, one a tracker, and what they have to say.
class RunningTrackers:
    """Started with the script; whatever ends the run, none of them is left behind."""

    def __init__(self, program: Program, settings: Settings, folder: str) -> None:
        self._program, self._settings = program, settings
        self._folder = folder
        self._carriers: list[Carrier] = []
        self._news: deque[str] = deque()  # filled by their threads, said by ours

    def __enter__(self) -> RunningTrackers:
        if not self._settings.trackers:
            return self
        from torch_debugger.integrations.delivery import TrackerProcess as CourierProcess
        from torch_debugger.integrations.delivery import run_name
        from torch_debugger.integrations.tracker import read_tracker

        name = run_name(self._program.target)
        beside = self._folder if self._keeps_folder() else os.getcwd()
        for tracker in map(read_tracker, self._settings.trackers):
            try:
                self._carriers.append(CourierProcess(tracker, self._folder, beside, name, self._news.append))
            except OSError as error:
                self._news.append(f"{tracker.title} will not have the run: {error.strerror}.")
        return self

    def _keeps_folder(self) -> bool:
        """Neither one that is gone at the end, nor what waits to go to an object store."""
        return self._settings.keep_log and not is_url(self._settings.log_dir or "")

    def speak(self) -> None:
        while self._news:
            write_line(_STDERR, one_line(self._news.popleft()))

    def conclude(self, result: RunResult) -> None:
        """The report is printed by now: whoever waits here has read it."""
        if self._carriers:
            from torch_debugger.integrations.delivery import conclude, ending_of

            conclude(self._carriers, ending_of(result), lambda sentence: write_line(_STDERR, sentence))
        self.speak()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for carrier in self._carriers:
            carrier.abandon()
