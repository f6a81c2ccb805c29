"""Lines without the blanks rich fills them up with: terminals copy those, and logs keep them."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment


class Trimmed:
    """Some content at some width, each line ending where its last word does."""

    def __init__(self, content: RenderableType, width: int) -> None:
        self._content = content
        self._width = width

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterable[Segment]:
        for line in console.render_lines(self._content, options.update_width(self._width), pad=False):
            yield from _trim(line)
            yield Segment.line()


def _trim(line: list[Segment]) -> list[Segment]:
    while line and not line[-1].text.strip():
        line = line[:-1]
    return [*line[:-1], Segment(line[-1].text.rstrip(), line[-1].style)] if line else []
