"""What runs in the watched process before the user's script, around it, and after it."""

from __future__ import annotations

import atexit
import dataclasses
import json
import os
import sys
from collections.abc import Set
from dataclasses import dataclass
from os import getpid

from torch_debugger.cli.address_space import spare_address_space
from torch_debugger.cli.deaths import die_with_parent
from torch_debugger.cli.handover import Handover
from torch_debugger.cli.main_module import Program, run_as_main
from torch_debugger.cli.own_imports import Beginning
from torch_debugger.cli.prompt import watch_prompts
from torch_debugger.cli.tracebacks import show_at_exit
from torch_debugger.cli.watch import Watch
from torch_debugger.file_numbers import high_numbers, out_of_the_way
from torch_debugger.runlog.board import Board
from torch_debugger.runlog.requests import RequestReader
from torch_debugger.settings import Settings


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
        return json.dumps(dataclasses.asdict(self))

    @staticmethod
    def from_json(text: str) -> Orders:
        plain = json.loads(text)
        return Orders(**{**plain, "settings": Settings(**plain["settings"])})


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


def _start_watch(orders: Orders, program: Program, board: Board, requests: RequestReader) -> Watch:
    watch = Watch(program, orders.settings, board=board, requests=requests)
    watch.start()
    # Registered before any handler of the script's, these run after them all: a script may train in its own.
    atexit.register(watch_prompts(board))
    atexit.register(watch.end)
    return watch


def _forget_us(program: Program) -> None:
    """sys.orig_argv as plain python has it: scripts start themselves again from there."""
    ours = sys.orig_argv.index(sys.argv[0])
    sys.orig_argv[ours:] = program.words
