"""What runs in the watched process before the user's script, around it, and after it."""

from __future__ import annotations

import atexit
import builtins
import functools
import json
import os
import signal
import sys
from collections.abc import Callable, Set
from contextlib import nullcontext
from dataclasses import dataclass
from os import getpid
from types import TracebackType

from torch_debugger.log.process_channels import Board, RequestReader
from torch_debugger.runner.script import Beginning, Program, run_as_main
from torch_debugger.runner.watched_script import ScriptWatch, look_into_crash, undisturbed
from torch_debugger.settings import Settings
from torch_debugger.system.clocks import time
from torch_debugger.system.files import high_numbers, out_of_the_way
from torch_debugger.system.tracebacks import hide_our_frames


@dataclass(frozen=True)
class Orders:
    """What the parent tells its child, as one word of the command line: no environment variable
    of ours is left for the script's own children to find."""

    settings: Settings
    module: bool
    board_fd: int
    requests_fd: int
    dies_with_parent: bool = False  # one rank of several: what started it knows the parent alone

    def to_json(self) -> str:
        return json.dumps({**vars(self), "settings": self.settings.to_json()})

    @staticmethod
    def from_json(text: str) -> Orders:
        plain = json.loads(text)
        return Orders(**{**plain, "settings": Settings.from_json(plain["settings"])})


def main(at_start: Set[str], imports: Set[tuple[str, str]]) -> None:
    """`at_start`: the modules that Python itself has loaded; `imports`: who has imported whom since."""
    orders = Orders.from_json(sys.argv[1])
    program = Program(sys.argv[2], tuple(sys.argv[3:]), orders.module)
    _forget_us(program)
    spare_address_space()
    if orders.dies_with_parent:
        die_with_parent()
    board_fd, requests_fd = map(out_of_the_way, (orders.board_fd, orders.requests_fd))
    for fd in (board_fd, requests_fd):
        os.set_inheritable(fd, False)
    pid = getpid()
    with high_numbers(board_fd):
        board = Board(board_fd)
    handover = Handover(board)
    watch = _start_watch(orders, program, board, RequestReader(requests_fd))
    try:
        run_as_main(program, Beginning(at_start, imports))
    except BaseException as error:
        watch.saw(error)
        if not isinstance(error, SystemExit):
            itself = getpid() == pid  # and not a fork of the script's
            show_at_exit(handover, look_into=orders.settings.post_mortem and itself)
        raise  # the interpreter knows best how an exception, an exit code or Ctrl-C ends a process


def _start_watch(orders: Orders, program: Program, board: Board, requests: RequestReader) -> ScriptWatch:
    watch = ScriptWatch(program, orders.settings, board=board, requests=requests)
    watch.start()
    # Registered before any handler of the script's, these run after them all: a script may train in its own.
    atexit.register(watch_prompts(board))
    atexit.register(watch.end)
    return watch


def _forget_us(program: Program) -> None:
    """sys.orig_argv as plain python has it: scripts start themselves again from there."""
    ours = sys.orig_argv.index(sys.argv[0])
    sys.orig_argv[ours:] = program.words


# For an exception that ends the watched script: its traceback as plain python would show it.
#
# Shown by the parent, below the explanation, unless the script has an excepthook of its own.
def show_at_exit(handover: Handover, *, look_into: bool) -> None:
    """For an exception that is about to end the interpreter: the user's own excepthook
    gets it as it would have come without us; python's own is the parent's to replace. Then --pdb, perhaps."""
    users_hook = sys.excepthook

    def hook(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
        sys.excepthook = users_hook
        hide_our_frames(error)
        sys.last_traceback = error.__traceback__
        plain, interrupted = users_hook is sys.__excepthook__, isinstance(error, KeyboardInterrupt)
        if interrupted or not (plain and handover.is_possible() and handover.offer()):
            # Python's own is in C, where the next Ctrl-C waits; here it would be met by a line of ours.
            with undisturbed() if plain and interrupted else nullcontext():
                users_hook(kind, error, error.__traceback__)
        if look_into:
            look_into_crash(error)

    sys.excepthook = hook


# How a traceback goes from the child to the parent, which prints the explanation above it.
#
# The text itself travels in the log, as part of the CrashFact; one word of the board says whose turn it is. If the
# parent is gone, stopped or without the record, the child prints its traceback itself.
OFFERED, TAKEN, SHOWN, REFUSED = 1, 2, 3, 4

_WAIT_S = 2.0
_LOOK_EVERY_S = 0.005


class Handover:
    """The child's end."""

    def __init__(self, board: Board) -> None:
        self._board = board
        self._pid, self._parent = getpid(), os.getppid()
        self._stderr = _identity_of_stderr()

    def is_possible(self) -> bool:
        """Only where the traceback would go to the very terminal or file that the parent writes to."""
        same = self._stderr is not None and self._stderr == _identity_of_stderr()
        return getpid() == self._pid and sys.stderr is sys.__stderr__ and same

    def offer(self) -> bool:
        """Whether the parent shows the traceback; waits until it has, but not for long."""
        self._board.crash = OFFERED
        deadline = time.monotonic() + _WAIT_S
        while self._board.crash in (OFFERED, TAKEN) and time.monotonic() < deadline:
            if os.getppid() != self._parent:
                return False
            time.sleep(_LOOK_EVERY_S)
        if self._board.crash == OFFERED:
            self._board.crash = REFUSED  # nobody came: a parent that wakes up later must not print it again
        return self._board.crash in (TAKEN, SHOWN)


def _identity_of_stderr() -> tuple[int, int] | None:
    try:
        stat = os.fstat(2)
    except OSError:  # closed
        return None
    return stat.st_dev, stat.st_ino


# Tells the parent when the script waits for the user, so that no status line lands on a prompt.
def watch_prompts(board: Board) -> Callable[[], None]:
    """Marks the board while input() waits, which pdb and code.interact use as well; returns the undoing."""
    real_input = builtins.input

    @functools.wraps(real_input)
    def marked_input(*prompt: object) -> str:
        board.at_prompt += 1
        try:
            return real_input(*prompt)
        finally:
            board.at_prompt -= 1

    def restore() -> None:
        if builtins.input is marked_input:
            builtins.input = real_input

    builtins.input = marked_input
    return restore


# Little address space (`ulimit -v`), of which our threads would take the script's.
_LITTLE_BYTES = 4 * 1024**3
_ARENA_MAX = -8  # of mallopt


def spare_address_space() -> None:
    """Each thread reserves 64 MB for a heap of its own, unless glibc is told that one is enough for all."""
    if not sys.platform.startswith("linux") or not _is_little():
        return
    import ctypes

    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # not in musl
    if mallopt is not None:
        mallopt(_ARENA_MAX, 1)


def _is_little() -> bool:
    import resource

    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return limit != resource.RLIM_INFINITY and limit < _LITTLE_BYTES


# A process that does not outlive the one that started it.
_PR_SET_PDEATHSIG = 1  # of Linux's prctl


def die_with_parent() -> None:
    """As if it had been killed itself: whoever kills a rank knows the process that torchrun started, and must
    not leave another one running. Only where the system can do it, which is Linux."""
    if sys.platform != "linux":
        return
    import ctypes

    starter = os.getppid()
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != starter:  # it has gone before we asked
        os.kill(getpid(), signal.SIGKILL)
