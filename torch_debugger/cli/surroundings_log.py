"""What the parent itself writes into the log folder: the surroundings, in an event file of its own.

The file is made before the child's, so that it comes first by name: TensorBoard reads a folder's files one
after the other and never goes back to one when a later one has begun.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from torch_debugger.cli.main_module import Program
from torch_debugger.errors import DebuggerError
from torch_debugger.runlog.writer import LogWriter
from torch_debugger.saying import say
from torch_debugger.surroundings.background import Gathering
from torch_debugger.surroundings.gathering import file_of, typed_command


@contextmanager
def surroundings_logged(program: Program, folder: str) -> Iterator[None]:
    """Begins at once and is done, or given up, when the block is left."""
    try:
        writer = LogWriter(folder, on_fault=_is_said_by_the_child)
    except DebuggerError as error:
        _is_said_by_the_child(str(error))
        yield
        return
    script = file_of(program.target, module=program.module)
    gathering = Gathering(typed_command(), script, writer.add, say)
    try:
        yield
    finally:
        gathering.wait()
        writer.close()


def _is_said_by_the_child(fault: str) -> None:
    """A full disk or a deleted folder: it writes to the same one, and far more."""
