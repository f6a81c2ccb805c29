"""The parent's part where the script is one rank of several. The first rank's follows and reports for all;
the others start their child, say in the log who it is and how it ended, and are silent."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable
from contextlib import closing
from os import getpid

from torch_debugger.cli.child_process import ChildProcess, interrupts_left_to_child
from torch_debugger.cli.ending import exit_code_of
from torch_debugger.cli.handover import OFFERED, REFUSED
from torch_debugger.cli.launch import Orders
from torch_debugger.cli.options import RunOptions
from torch_debugger.cli.pulse import Pulse
from torch_debugger.cli.rank_launch import RankLaunch
from torch_debugger.cli.surroundings_log import own_log
from torch_debugger.records import RankEnd, RankFact
from torch_debugger.runlog.board import Board
from torch_debugger.runlog.requests import make_request_pipe

_TICK_S = 0.1


def run_other_rank(options: RunOptions, launch: RankLaunch, folder: str) -> int:
    """The exit status of the script: -n for signal n."""
    board = Board.create()
    reader, sender = make_request_pipe()
    orders = Orders(
        options.settings(folder), options.program.module, board.fd, reader.fd, dies_with_parent=True
    )
    child = rank_process(options, orders, launch)
    gathered = options.program if options.keep_log and launch.leads_machine else None
    with (
        interrupts_left_to_child(),
        closing(sender),
        own_log(folder, gathered, options.log_limit_bytes) as tell,
        child.running(),
    ):
        reader.close()  # the child has its own
        tell(rank_fact(launch, child))
        pulse = Pulse(board, child.pid, options.hang_timeout_s, options.on_hang)
        while (status := child.wait(_TICK_S)) is None:
            if (found := pulse.look(time.monotonic())) is not None:
                tell(found)
            if board.crash == OFFERED:  # its traceback is its own to print, as without us
                board.crash = REFUSED
        tell(rank_end(launch, status, board))
    return status


def rank_process(options: RunOptions, orders: Orders, launch: RankLaunch) -> ChildProcess:
    leads_group = os.getpgrp() == getpid()
    by_group = launch.by_torchrun and leads_group
    return ChildProcess(options.program, orders, is_rank=True, group_signalled=by_group)


class Patience:
    """Waits for a rank. One that does not end when it is asked to is killed in the end, and we with it:
    torchrun grants 30 seconds, so `speak` is called when half of them are over."""

    granted_s = 15.0

    def __init__(self, child: ChildProcess, speak: Callable[[], None]) -> None:
        self._child, self._speak = child, speak
        self._has_spoken = False

    def wait(self, timeout_s: float) -> int | None:
        status, asked = self._child.wait(timeout_s), self._child.told_to_end_at
        is_late = status is None and asked is not None and time.monotonic() - asked > self.granted_s
        if is_late and not self._has_spoken:
            self._has_spoken = True
            self._speak()
        return status


def rank_fact(launch: RankLaunch, child: ChildProcess) -> RankFact:
    host = socket.gethostname()
    return RankFact(launch.rank, launch.local_rank, launch.world_size, "", host, child.pid)


def rank_end(launch: RankLaunch, status: int, board: Board) -> RankEnd:
    return RankEnd(launch.rank, exit_code_of(status), time.time(), board.step)
