"""The parent's part of a run: start the child, follow it to its end, and never import torch."""

from __future__ import annotations

import dataclasses
import functools
import os
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, nullcontext
from typing import TYPE_CHECKING

from torch_debugger.checks.ranks_judge import RanksJudge
from torch_debugger.cli.child_process import ChildProcess
from torch_debugger.cli.crash_printer import CrashPrinter
from torch_debugger.cli.ending import exit_code_of
from torch_debugger.cli.fellow_ranks import FellowRanks
from torch_debugger.cli.follow import Follower
from torch_debugger.cli.hang_desk import ABORTED, HangDesk
from torch_debugger.cli.launch import Orders
from torch_debugger.cli.live import LiveRow
from torch_debugger.cli.options import RunOptions
from torch_debugger.cli.pulse import Pulse
from torch_debugger.cli.rank_launch import RankLaunch
from torch_debugger.cli.rank_parent import Patience, rank_end, rank_fact, rank_process
from torch_debugger.cli.status import Display, PlainStatus, Silence
from torch_debugger.cli.surroundings_log import log_late, no_log, own_log
from torch_debugger.report.exits import outcome_of_exit
from torch_debugger.report.ranks_digest import RanksDigest
from torch_debugger.report.result import RunResult
from torch_debugger.runlog.board import Board
from torch_debugger.runlog.logfile import rank_of_process
from torch_debugger.runlog.reader import LogFollower
from torch_debugger.runlog.requests import make_request_pipe
from torch_debugger.saying import say

if TYPE_CHECKING:
    from torch_debugger.cli.couriers import Couriers

_STDERR = 2


def run_in_child(
    options: RunOptions,
    judge: RanksJudge,
    folder: str,
    display: Display | None = None,
    couriers: Couriers | None = None,
    launch: RankLaunch | None = None,
    report_early: Callable[[RunResult], None] | None = None,
) -> tuple[RunResult, int]:
    """The result and the script's exit status, -n when signal n ended it. Of several ranks, ours is the first,
    and the result is that of all; `report_early` is given it as it stands before we are killed."""
    board, digest = Board.create(), RanksDigest(options.program.target)
    reader, sender = make_request_pipe()
    orders = Orders(
        options.settings(folder),
        options.program.module,
        board.fd,
        reader.fd,
        dies_with_parent=launch is not None,
    )
    child = ChildProcess(options.program, orders) if launch is None else rank_process(options, orders, launch)
    log = LogFollower(folder)
    gathered = options.program if options.keep_log else None
    is_logged = gathered is not None or launch is not None
    own = own_log(folder, gathered, options.log_limit_bytes) if is_logged else nullcontext(no_log)
    status_line = _closed(display or _choose_display(options))
    result_of = functools.partial(_result, options, judge, digest, board, folder)
    with closing(log), closing(sender), status_line as shown, own as tell, child.running():
        reader.close()  # the child has its own
        crash = CrashPrinter(judge, digest, quiet=options.quiet)
        hangs = HangDesk(judge, digest, child.end_at_once, quiet=options.quiet)
        say_news = couriers.speak if couriers is not None else lambda: None
        pulse = Pulse(board, child.pid, options.hang_timeout_s, options.on_hang)
        follower = Follower(
            log, board, sender, judge, digest, shown, crash.show, say_news, hangs, pulse, rank_of_process()
        )
        if launch is not None:
            tell(rank_fact(launch, child))
        status = _follow(follower, Patience(child, lambda: _speak_early(judge, result_of, report_early)), child)
        log_late(folder, follower.unlogged(), options.log_limit_bytes, child.pid)
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
    options: RunOptions, judge: RanksJudge, digest: RanksDigest, board: Board, folder: str, status: int | None
) -> RunResult:
    """`status` is None where the script has not ended, but will not be heard any more."""
    digest.reached(board.step)
    code = exit_code_of(status) if status is not None else None
    is_told = status is not None and status >= 0
    return digest.result(
        judge.findings,
        outcome=None if is_told else outcome_of_exit(code) if code is not None else "stopped",
        exit_code=code,
        log=_from_here(folder) if options.keep_log else None,
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


def _choose_display(options: RunOptions) -> Display:
    if options.quiet:
        return Silence()
    if options.live and os.isatty(_STDERR):
        return LiveRow(_STDERR)
    return PlainStatus(_STDERR, time.monotonic())
