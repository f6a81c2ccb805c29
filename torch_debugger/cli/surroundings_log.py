"""What the parent itself writes into the log folder, in an event file of its own: the surroundings, and of a
rank who it is and how it ended.

The file is made before the child's, so that it comes first by name: TensorBoard reads a folder's files one
after the other and never goes back to one when a later one has begun.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from torch_debugger.cli.main_module import Program
from torch_debugger.errors import DebuggerError
from torch_debugger.records import Record
from torch_debugger.runlog.writer import LogWriter
from torch_debugger.saying import say
from torch_debugger.surroundings.background import Gathering
from torch_debugger.surroundings.gathering import file_of, typed_command

Tell = Callable[[Record], object]


@contextmanager
def own_log(folder: str, program: Program | None) -> Iterator[Tell]:
    """What takes records of the parent's own. The surroundings of the program, if one is given, are gathered
    beside, and done or given up when the block is left."""
    try:
        writer = LogWriter(folder, on_fault=_is_said_by_the_child)
    except DebuggerError as error:
        _is_said_by_the_child(str(error))
        yield no_log
        return
    gathering = _gathering(program, writer) if program is not None else None
    try:
        yield writer.add
    finally:
        if gathering is not None:
            gathering.wait()
        writer.close()


def no_log(record: Record) -> None:
    """Where there is nowhere to write it."""


def _gathering(program: Program, writer: LogWriter) -> Gathering:
    script = file_of(program.target, module=program.module)
    return Gathering(typed_command(), script, writer.add, say)


def _is_said_by_the_child(fault: str) -> None:
    """A full disk or a deleted folder: it writes to the same one, and far more."""
