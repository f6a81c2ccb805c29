"""What a shelf's table of runs remembers between two questions."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from torch_debugger.archive.folders import Found
from torch_debugger.viewer.run_details import RunDetails
from torch_debugger.viewer.run_rows import RunRows
from torch_debugger.viewer.run_shelf import RunShelf

_ROWS: WeakKeyDictionary[RunShelf, RunRows] = WeakKeyDictionary()
_DETAILS: WeakKeyDictionary[RunShelf, RunDetails] = WeakKeyDictionary()


def found_on(shelf: RunShelf) -> dict[str, Found]:
    """By name, nothing opened: where each run is, when it was last written and how large it is."""
    return {name: shown.found for name, shown in shelf.all_shown().items()}


def rows_of(shelf: RunShelf) -> RunRows:
    return _ROWS.setdefault(shelf, RunRows())


def details_of(shelf: RunShelf) -> RunDetails:
    return _DETAILS.setdefault(shelf, RunDetails())
