"""Two runs compared (`runs`: two names separated by a comma, each escaped): what differs, where they part."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from torch_debugger.archive.folders import Found
from torch_debugger.archive.run import Run
from torch_debugger.errors import UsageError
from torch_debugger.viewer.asked import Asked
from torch_debugger.viewer.comparison_answer import compared
from torch_debugger.viewer.run_lists import found_on
from torch_debugger.viewer.run_names import read_names

_LARGEST_LOGS = 300_000_000  # bytes of both: every number of every step is held against the other's
_MOST_KEPT = 8
_kept: OrderedDict[tuple[Found, Found], dict[str, Any]] = OrderedDict()


def answer(asked: Asked) -> dict[str, Any]:
    names, found = read_names(asked.text("runs")), found_on(asked.shelf)
    missing = [name for name in names if name not in found]
    if missing:
        raise UsageError(f"There is no run {missing[0]!r} in the folder that is shown.")
    if len(names) != 2:
        raise UsageError(f"Two runs can be compared step by step, but {len(names)} were named.")
    pair = found[names[0]], found[names[1]]
    if sum(each.size_bytes for each in pair) > _LARGEST_LOGS:
        raise UsageError("These logs are too large to compare in the page; torch-debugger diff A B does it.")
    return _once(pair, names)


def _once(pair: tuple[Found, Found], names: list[str]) -> dict[str, Any]:
    """A pair that has not changed since is not compared again."""
    made = _kept.pop(pair, None) or compared(Run(pair[0].folder, names[0]), Run(pair[1].folder, names[1]))
    _kept[pair] = made
    while len(_kept) > _MOST_KEPT:
        _kept.popitem(last=False)
    return made
