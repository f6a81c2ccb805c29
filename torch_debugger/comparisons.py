"""Two runs compared: `torch_debugger.diff(a, b)` and `torch-debugger diff A B`."""

from __future__ import annotations

import os
from collections.abc import Sequence

from torch_debugger.archive.comparing.of_runs import compare
from torch_debugger.archive.opening import open_run
from torch_debugger.archive.run import Run
from torch_debugger.report.comparison import ComparisonReport

_Where = str | os.PathLike[str] | Run


def diff(first: _Where, second: _Where, *, replicates: Sequence[_Where] = ()) -> ComparisonReport:
    """What differs between two runs, and where they part.

    A run is its log's folder, its name under ./runs, the result.json beside its log, or one of
    `torch_debugger.runs()`. `replicates` are
    runs like one of the two with other seeds: they tell how far apart runs of one kind end.
    """
    ours, theirs, *others = (open_run(where) for where in (first, second, *replicates))
    return ComparisonReport(compare(ours, theirs, others))
