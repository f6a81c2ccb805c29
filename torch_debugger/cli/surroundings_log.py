"""What the parent itself writes into the log folder, in an event file of its own: the surroundings, and of a
rank who it is and how it ended.

The file is made before the child's, so that it comes first by name: TensorBoard reads a folder's files one
after the other and never goes back to one when a later one has begun.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from torch_debugger.cli.main_module import Program
from torch_debugger.errors import DebuggerError
from torch_debugger.records import Record
from torch_debugger.runlog.logfile import host_in_names, writer_in_name
from torch_debugger.runlog.writer import LogWriter
from torch_debugger.saying import say
from torch_debugger.surroundings.background import Gathering
from torch_debugger.surroundings.gathering import file_of, typed_command

_OWN_PART = 20

Tell = Callable[[Record], object]


@contextmanager
def own_log(folder: str, program: Program | None, limit_bytes: int) -> Iterator[Tell]:
    """What takes records of the parent's own: a small part of what the log may hold. The surroundings of the
    program, if one is given, are gathered beside, and done or given up when the block is left."""
    try:
        writer = LogWriter(folder, limit_bytes=limit_bytes // _OWN_PART, on_fault=_is_said_by_the_child)
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


def log_late(folder: str, records: Sequence[Record], limit_bytes: int, child: int) -> None:
    """What the child had not yet written when it was killed, in a file behind its own: as much as fits."""
    if not records:
        return
    left_bytes = limit_bytes - limit_bytes // _OWN_PART - _written_bytes(folder, child, os.getpid())
    try:
        writer = LogWriter(folder, limit_bytes=max(left_bytes, 0), on_fault=_is_said_by_the_child)
    except DebuggerError as error:
        _is_said_by_the_child(str(error))
        return
    for record in records:
        writer.add(record)
    writer.close()


def _written_bytes(folder: str, *processes: int) -> int:
    writers = {(host_in_names(), process) for process in processes}
    return sum(file.stat().st_size for file in os.scandir(folder) if writer_in_name(file.name) in writers)


def no_log(record: Record) -> None:
    """Where there is nowhere to write it."""


def _gathering(program: Program, writer: LogWriter) -> Gathering:
    script = file_of(program.target, module=program.module)
    return Gathering(typed_command(), script, writer.add, say)


def _is_said_by_the_child(fault: str) -> None:
    """A full disk or a deleted folder: it writes to the same one, and far more."""
