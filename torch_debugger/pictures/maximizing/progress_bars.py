"""A bar for what takes seconds: on a terminal only, and gone when it is done."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator

from torch_debugger.anatomy.randomness import randomness_kept


@contextlib.contextmanager
def progress_bar(words: str, total: int | None) -> Iterator[Callable[[], None]]:
    """The function that comes back is called after every step; off a terminal nothing is written."""
    if not sys.stderr.isatty():
        yield lambda: None
        return
    with randomness_kept():  # rich draws a number when it is imported
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    with Progress(
        *columns, console=console, transient=True, redirect_stdout=False, redirect_stderr=False
    ) as bar:
        task = bar.add_task(words, total=total)
        yield lambda: bar.advance(task)
