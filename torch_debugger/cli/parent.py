"""The parent's part of a run: start the child, follow it to its end, and never import torch."""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext
from typing import TYPE_CHECKING

from torch_debugger.checks.judge import Judge
from torch_debugger.cli.child_process import ChildProcess
from torch_debugger.cli.crash_printer import CrashPrinter
from torch_debugger.cli.follow import Follower
from torch_debugger.cli.hang_desk import ABORTED, HangDesk
from torch_debugger.cli.launch import Orders
from torch_debugger.cli.live import LiveRow
from torch_debugger.cli.options import RunOptions
from torch_debugger.cli.pulse import Pulse
from torch_debugger.cli.status import Display, PlainStatus, Silence
from torch_debugger.cli.surroundings_log import surroundings_logged
from torch_debugger.report.digest import RunDigest
from torch_debugger.report.exits import outcome_of_exit
from torch_debugger.report.result import RunResult
from torch_debugger.runlog.board import Board
from torch_debugger.runlog.reader import LogFollower
from torch_debugger.runlog.requests import make_request_pipe
from torch_debugger.saying import say

if TYPE_CHECKING:
    from torch_debugger.cli.couriers import Couriers

_STDERR = 2


def run_in_child(
    options: RunOptions,
    judge: Judge,
    folder: str,
    display: Display | None = None,
    couriers: Couriers | None = None,
) -> tuple[RunResult, int]:
    """The result and the script's exit code, 128 + n when signal n ended it."""
    board, digest = Board.create(), RunDigest(options.program.target)
    reader, sender = make_request_pipe()
    orders = Orders(options.settings(folder), options.program.module, board.fd, reader.fd)
    child = ChildProcess(options.program, orders)
    log = LogFollower(folder)
    told = surroundings_logged(options.program, folder) if options.keep_log else nullcontext()
    status_line = _closed(display or _choose_display(options))
    with closing(log), closing(sender), status_line as shown, told, child.running():
        reader.close()  # the child has its own
        crash = CrashPrinter(judge, digest, quiet=options.quiet)
        hangs = HangDesk(judge, digest, child.end_at_once, quiet=options.quiet)
        say_news = couriers.speak if couriers is not None else lambda: None
        pulse = Pulse(board, child.pid, options.hang_timeout_s, options.on_hang)
        follower = Follower(log, board, sender, judge, digest, shown, crash.show, say_news, hangs, pulse)
        status = _follow(follower, child)
    judge.finish()
    digest.reached(board.step)
    code = ABORTED if hangs.aborted else 128 - status if status < 0 else status
    result = digest.result(
        judge.findings,
        outcome=_outcome(status, code, digest, hangs),
        exit_code=code,
        log=_from_here(folder) if options.keep_log else None,
        faults=judge.faults,
        checks=len(judge.checks),
    )
    return dataclasses.replace(result, told=(*crash.told, *hangs.told)), code


def _outcome(status: int, code: int, digest: RunDigest, hangs: HangDesk) -> str | None:
    """None where the child has said it itself."""
    if hangs.is_hung and (digest.end is None or digest.end.outcome == "stopped"):
        return "hung"
    return outcome_of_exit(code) if status < 0 else None


def _follow(follower: Follower, child: ChildProcess) -> int:
    try:
        return follower.follow(child.wait)
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
