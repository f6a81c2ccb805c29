"""Numbers written by one process are read by another."""

from __future__ import annotations

import math
import os

from torch_debugger.log.process_channels import Board


def test_a_new_board_is_blank() -> None:
    board = Board.create()
    assert (board.step, board.at_prompt, board.torch_seen) == (0, 0, 0)
    assert math.isnan(board.loss)


def test_what_another_process_writes_is_seen_here() -> None:
    board = Board.create()
    pid = os.fork()
    if pid == 0:
        theirs = Board(board.fd)
        theirs.step, theirs.loss, theirs.at_prompt, theirs.torch_seen = 2**40, -0.25, 1, 1
        os._exit(0)
    os.waitpid(pid, 0)
    assert (board.step, board.loss, board.at_prompt, board.torch_seen) == (2**40, -0.25, 1, 1)


def test_the_file_has_no_name_and_is_not_inherited_unasked() -> None:
    board = Board.create()
    assert os.fstat(board.fd).st_nlink == 0
    assert not os.get_inheritable(board.fd)


def test_the_last_steps_are_noted_and_the_oldest_give_way() -> None:
    board = Board.create()
    assert board.last_steps() == []
    for step in range(1, 20_001):
        board.note(step, 100.0 + step, step / 8 if step % 2 else math.nan)
    noted = board.last_steps()
    assert [each.step for each in noted] == list(range(20_001 - len(noted), 20_001))
    assert len(noted) > 4096  # so many records may wait for the log's writer
    assert (noted[-2].time, noted[-2].loss) == (20_099.0, 19_999 / 8)
    assert math.isnan(noted[-1].loss)
