"""The lines of a unified diff, each piece of a long one with its sign."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rich.cells import chop_cells
from rich.console import Console, ConsoleOptions
from rich.text import Text

from torch_debugger.report.printable import printable

_MARGIN = "  "
_FURTHER = "    "  # before all pieces of a line but the first
_FEWEST_CELLS = 10
_STYLES = {"-": "red", "+": "green", "@": "cyan"}


class FoldedCode:
    """Folded at the width it is shown with: words would leave a sign alone before a long one."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterable[Text]:
        for line in self._lines:
            for piece in _pieces(printable(line), options.max_width):
                yield Text(f"{_MARGIN}{piece}", _STYLES.get(line[:1], ""), no_wrap=True, overflow="ignore")


def _pieces(line: str, width: int) -> Iterator[str]:
    sign, code = line[:1], line[1:]
    room = max(_FEWEST_CELLS, width - len(_MARGIN) - 1)
    first, *rest = chop_cells(code, room) or [""]
    yield f"{sign}{first}"
    for piece in chop_cells("".join(rest), room - len(_FURTHER)) if rest else ():
        yield f"{sign}{_FURTHER}{piece}"
