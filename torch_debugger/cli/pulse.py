"""The second pair of eyes: a child whose own watchdog says nothing any more is looked at from outside.

That is so while a function in C holds Python's lock, in which no thread of the child can run. The kernel tells
whether it computes, and Python's faulthandler, asked by a signal, where it is. Time in which we did not run
either (the machine slept, the job was stopped) is not the child's.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from torch_debugger.dumped_stacks import Row, ask, first_thread, has_handler
from torch_debugger.foreign_paths import is_user_path
from torch_debugger.ranks.hangs.kernel_view import RUNNING, KernelView, view_process
from torch_debugger.ranks.hangs.pace import CEILING_S, FLOOR_S
from torch_debugger.records import HangFact, HangOver, Place, StackLine, Standing
from torch_debugger.records.hangs import CALL, LOOP
from torch_debugger.report.source import source_line
from torch_debugger.runlog.board import Board
from torch_debugger.runlog.logfile import rank_of_process

_OURS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_LOADER = os.path.join("torch", "utils", "data", "dataloader.py")
_IDLE = 0.05  # of a core; on a crowded machine one that computes may not get much more
_LEAST_STEPS = 3
_MOST_LATE_S = 1.0  # from one call of `look` to the next


@dataclass
class _Quiet:
    """Since when, how the child was then, and when to look next."""

    since_s: float
    view: KernelView | None
    look_at_s: float


class Pulse:
    """`look` is called again and again; it gives a record when there is something to tell."""

    def __init__(self, board: Board, pid: int, timeout_s: float, policy: str) -> None:
        self._board, self._pid, self._policy = board, pid, policy
        self._least_s = timeout_s or FLOOR_S
        self._most_s = max(timeout_s, CEILING_S)
        self._beats = 0
        self._quiet: _Quiet | None = None
        self._told_s: float | None = None
        self._seen_s = self._lost_s = 0.0

    def look(self, clock_s: float) -> HangFact | HangOver | None:
        board = self._board
        self._lost_s += max(clock_s - self._seen_s - _MOST_LATE_S, 0.0)
        self._seen_s = clock_s
        now_s = clock_s - self._lost_s
        if board.beats != self._beats or not board.beats or self._quiet is None:
            self._beats = board.beats
            return self._went_on(now_s)
        if not board.stack_signal or now_s < self._quiet.look_at_s or self._told_s is not None:
            return None
        self._quiet.look_at_s = now_s + self._least_s
        return self._examine(self._quiet, now_s) if not board.at_prompt else None

    def _went_on(self, now_s: float) -> HangOver | None:
        told_s, self._told_s = self._told_s, None
        view = view_process(self._pid) if self._beats else None
        self._quiet = _Quiet(now_s, view, now_s + self._least_s)
        return HangOver(rank_of_process(), self._board.step, now_s - told_s) if told_s is not None else None

    def _examine(self, quiet: _Quiet, now_s: float) -> HangFact | None:
        view, silent_s = view_process(self._pid), now_s - quiet.since_s
        pid, number = self._pid, self._board.stack_signal
        # Stopped by somebody, at its end, or by exec another program
        if view is None or view.state in ("T", "t", "Z", "X") or not has_handler(pid, number):
            self._quiet = _Quiet(now_s, view, now_s + self._least_s)
            return None
        stack = first_thread(ask(pid, number, self._board.stacks_fd))
        used = (view.cpu_s - quiet.view.cpu_s) / max(silent_s, 1e-3) if quiet.view is not None else 1.0
        computes = used > _IDLE or view.call == RUNNING
        in_loader = any(_LOADER in row[0] for row in stack) and self._board.step >= _LEAST_STEPS
        if computes and not in_loader and silent_s < self._most_s:
            return None  # long work in C, such as reading a large pickle, holds Python's lock as well
        self._told_s = quiet.since_s
        return self._fact(stack, view, LOOP if computes else CALL, silent_s)

    def _fact(self, rows: list[Row], view: KernelView, kind: str, silent_s: float) -> HangFact:
        lines = tuple(_line(*row) for row in rows if not row[0].startswith(_OURS))
        place = next((line.place for line in reversed(lines) if line.is_users), Place())
        standing = Standing(
            "training", self._pid, True, 1.0 * (kind == LOOP), view.call, view.target, lines, kind
        )
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
