"""Where a run's log goes: a folder that stays, an object store, or a folder gone when the report is read."""

from __future__ import annotations

import itertools
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
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
    elif keep:
        yield str(_chosen_folder(chosen) if chosen is not None else _new_folder(script))
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


def _chosen_folder(chosen: str) -> Path:
    folder = Path(chosen).absolute()
    make_writable(folder)
    if any(folder.glob("*tfevents*")):
        raise holds_another_run(chosen)
    return folder


def _new_folder(script: str) -> Path:
    """runs/train-20260131-174502; a run started within the same second gets -2."""
    first = Path("runs", f"{name_of_script(script)}-{time.strftime('%Y%m%d-%H%M%S')}").absolute()
    later = (first.with_name(f"{first.name}-{number}") for number in itertools.count(2))
    folder = next(folder for folder in itertools.chain([first], later) if not folder.exists())
    make_writable(folder)
    return folder


def name_of_script(script: str) -> str:
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
