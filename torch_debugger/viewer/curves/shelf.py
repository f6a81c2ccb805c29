"""The curves that were looked at, ready to be looked at again."""

from __future__ import annotations

import threading
from collections import OrderedDict
from weakref import WeakKeyDictionary

from torch_debugger.archive.run import Run
from torch_debugger.viewer.curves.axes import maker_of
from torch_debugger.viewer.curves.indexing import Index, make_index

_MOST_POINTS = 16_000_000  # of one run: about 300 MB

_Kept = OrderedDict[tuple[str, str], Index]
_kept: WeakKeyDictionary[Run, tuple[int, _Kept]] = WeakKeyDictionary()
_lock = threading.Lock()


def indexes_of(run: Run, tags: list[str], kind: str) -> dict[str, Index]:
    """By tag, those that the run has. Made once, and again when something was written. Those who ask about one
    run take turns; the lock is for what all runs share."""
    kept = _of_run(run)
    there = set(run.tags.get("scalars", []))
    wanted = [tag for tag in tags if tag in there]
    missing = [tag for tag in wanted if (tag, kind) not in kept]
    if missing:
        along = maker_of(run, kind)
        for tag in missing:
            curve = run.scalars(tag)
            kept[tag, kind] = make_index(along(curve), curve.values)
    found = {tag: kept[tag, kind] for tag in wanted}
    _forget(kept, [(tag, kind) for tag in wanted])
    return found


def _of_run(run: Run) -> _Kept:
    with _lock:
        reads, kept = _kept.get(run, (-1, OrderedDict()))
        if reads != run.reads:
            kept = OrderedDict()
            _kept[run] = (run.reads, kept)
        return kept


def _forget(kept: _Kept, just_used: list[tuple[str, str]]) -> None:
    for key in just_used:
        kept.move_to_end(key)
    points = sum(len(index) for index in kept.values())
    while points > _MOST_POINTS and len(kept) > len(just_used):
        points -= len(kept.popitem(last=False)[1])
