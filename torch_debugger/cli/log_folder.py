"""Where a run's log goes: a folder that stays, or one that is gone when the report is read."""

from __future__ import annotations

import itertools
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from torch_debugger.errors import UsageError


@contextmanager
def open_log_folder(chosen: str | None, script: str, *, keep: bool) -> Iterator[str]:
    """The absolute path of a folder that exists and can be written; not kept, it is removed at the end."""
    if keep:
        yield str(_chosen_folder(chosen) if chosen is not None else _new_folder(script))
    else:
        with tempfile.TemporaryDirectory(prefix="torch-debugger-", ignore_cleanup_errors=True) as folder:
            yield folder


def _chosen_folder(chosen: str) -> Path:
    folder = Path(chosen).absolute()
    _make_writable(folder)
    if any(folder.glob("*tfevents*")):
        raise UsageError(f"{chosen} already holds the log of another run. Choose a new folder with --log-dir.")
    return folder


def _new_folder(script: str) -> Path:
    """runs/train-20260131-174502; a run started within the same second gets -2."""
    name = Path(script).stem if script.endswith(".py") else Path(script).name
    first = Path("runs", f"{name}-{time.strftime('%Y%m%d-%H%M%S')}").absolute()
    later = (first.with_name(f"{first.name}-{number}") for number in itertools.count(2))
    folder = next(folder for folder in itertools.chain([first], later) if not folder.exists())
    _make_writable(folder)
    return folder


def _make_writable(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise UsageError(
            f"The log folder {folder} cannot be written: {error.strerror}. "
            "Choose another with --log-dir, or keep no log with --no-log."
        ) from error
