"""What the page asks of a report of several runs beside what it asks of each: the table and the comparison."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from itertools import chain
from urllib.parse import quote

from torch_debugger.archive.run import Run
from torch_debugger.viewer.first_questions import (
    Ask,
    Question,
    finer_curves,
    first_questions,
    further_questions,
)


def shared_questions(runs: Sequence[Run]) -> Iterator[Question]:
    """The page asks a file for the details and the losses of all its runs at once, whatever is in sight."""
    names = _names(runs)
    yield Question("session")
    yield Question("names")
    yield Question("runs")
    yield Question("run_details", {}, {"names": names})
    yield Question("losses", {}, {"runs": names})
    yield _compare(runs[0], runs[1])


def questions_of_each(runs: Sequence[Run], ask: Ask) -> Iterator[Question]:
    return chain.from_iterable(first_questions(run, ask) for run in runs)


def further_questions_of(runs: Sequence[Run], ask: Ask) -> Iterator[Question]:
    """First each two of them compared, in either order, as they are chosen on the page."""
    yield from itertools.starmap(_compare, itertools.permutations(runs, 2))
    for run in runs:
        yield from further_questions(run, ask)
    for run in runs:
        yield from finer_curves(run)


def _compare(first: Run, second: Run) -> Question:
    return Question("compare", {"runs": _names([first, second])})


def _names(runs: Sequence[Run]) -> str:
    """As encodeURIComponent writes them."""
    return ",".join(quote(run.name, safe="!~*'()") for run in runs)
