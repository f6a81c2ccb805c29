"""Where a run's log goes: a folder that stays, an object store, or a folder gone when the report is read."""

from __future__ import annotations

import itertools
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from torch_debugger.errors import DebuggerError, UsageError
from torch_debugger.runlog.spool import Spool
from torch_debugger.runlog.stores import is_url
from torch_debugger.saying import say


@contextmanager
def open_log_folder(chosen: str | None, script: str, *, keep: bool) -> Iterator[str]:
    """The absolute path of a folder that exists and can be written; not kept, it is removed at the end."""
    if keep and chosen is not None and is_url(chosen):
        with closing(_spool(chosen)) as spool:
            yield spool.folder
    elif keep and chosen is not None:
        with _chosen_folder(chosen) as folder:
            yield str(folder)
    elif keep:
        yield str(_new_folder(script))
    else:
        with tempfile.TemporaryDirectory(prefix="torch-debugger-", ignore_cleanup_errors=True) as folder:
            yield folder


def _spool(url: str) -> Spool:
    try:
        spool = Spool(url, say)
    except DebuggerError as error:
        raise UsageError(
            f"{error} Choose another place with --log-dir, or keep no log with --no-log."
        ) from error
    if any("tfevents" in file.name for file in spool.found):
        spool.close()
        raise holds_another_run(url)
    return spool


def holds_another_run(place: str) -> UsageError:
    return UsageError(f"{place} already holds the log of another run. Choose a new folder with --log-dir.")


def can_keep_logs_here(*, say_so: bool) -> bool:
    """Whether `runs` can be made in, or written to, where the user stands: a script may be started in a folder
    that is read-only, and runs there without us."""
    above = Path("runs") if os.path.lexists("runs") else Path()
    try:
        tempfile.TemporaryFile(dir=above).close()
    except OSError as error:
        if say_so:
            where = f"{above if above.name else 'this folder'} cannot be written ({error.strerror})"
            say(f"no log is kept: {where}. Name another folder with --log-dir.")
        return False
    return True


@contextmanager
def _chosen_folder(chosen: str) -> Iterator[Path]:
    """It is ours as long as the run lasts: of two that begin at the same moment, one is refused."""
    folder = Path(chosen).absolute()
    make_writable(folder)
    with _locked(folder) as is_ours:
        if not is_ours or any(folder.glob("*tfevents*")):
            raise holds_another_run(chosen)
        yield folder


@contextmanager
def _locked(folder: Path) -> Iterator[bool]:
    """By a lock that is gone with the process, however that ends."""
    try:
        import fcntl
    except ImportError:  # Windows: two at once are not told apart there
        yield True
        return
    fd = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        is_ours = True
    except BlockingIOError:
        is_ours = False
    except OSError:  # a file system without locks
        is_ours = True
    try:
        yield is_ours
    finally:
        os.close(fd)


def _new_folder(script: str) -> Path:
    """runs/train-20260131-174502; a run started within the same second gets -2."""
    first = Path("runs", f"{name_of_script(script)}-{time.strftime('%Y%m%d-%H%M%S')}").absolute()
    later = (first.with_name(f"{first.name}-{number}") for number in itertools.count(2))
    make_writable(first.parent)
    for folder in itertools.chain([first], later):
        with suppress(FileExistsError):
            folder.mkdir()
            break
    make_writable(folder)
    return folder


def name_of_script(script: str) -> str:
    if script == "-":
        return "stdin"
    return Path(script).stem if script.endswith(".py") else Path(script).name


def make_writable(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise UsageError(
            f"The log folder {folder} cannot be written: {error.strerror}. "
            "Choose another with --log-dir, or keep no log with --no-log."
        ) from error
