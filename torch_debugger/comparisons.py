"""Two runs compared: `torch_debugger.diff(a, b)` and `torch-debugger diff A B`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from torch_debugger.archive.comparing.of_runs import compare
from torch_debugger.archive.run import Run
from torch_debugger.errors import UsageError
from torch_debugger.report.comparison import ComparisonReport

_Where = str | os.PathLike[str] | Run


def diff(first: _Where, second: _Where, *, replicates: Sequence[_Where] = ()) -> ComparisonReport:
    """What differs between two runs, and where they part.

    A run is its log's folder, its name under ./runs, the result.json beside its log, or one of
    `torch_debugger.runs()`. `replicates` are
    runs like one of the two with other seeds: they tell how far apart runs of one kind end.
    """
    ours, theirs, *others = (_run(where) for where in (first, second, *replicates))
    return ComparisonReport(compare(ours, theirs, others))


def _run(where: _Where) -> Run:
    return where if isinstance(where, Run) else Run(_folder(Path(where)))


def _folder(where: Path) -> Path:
    if where.is_file():
        return where.parent
    for candidate in (where, Path("runs") / where):
        if candidate.is_dir():
            return candidate
    raise UsageError(
        f"There is no run {os.fspath(where)}. Name the folder of a log, a run under ./runs, or a result.json."
    )
