"""What a traceback's text is made of."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

# Names that are exceptions wherever they stand; any other capitalised word may be one.
_SURE = re.compile(
    r"(Error|Exception|Warning|Interrupt|Exit|Iteration|Group|Unsupported|Cancelled|Timeout|Failed)$"
)
_ENDING = re.compile(
    r"(?P<kind>[A-Za-z_]\w*(?:\.[A-Za-z_<][\w<>]*)*)(?::(?: (?P<message>.*)|(?P<none>))|(?P<bare>))$"
)


@dataclass
class TextFrame:
    """One `File "...", line N, in f` with the code lines under it."""

    file: str
    line: int
    function: str
    code: str = ""
    marked: str = ""  # what the carets under the code point at


@dataclass
class TextTraceback:
    """One traceback: its frames, the exception it ends with, and how the next one is chained to it."""

    prefix: str = ""  # what stood before each of its lines: [rank0]:
    frames: list[TextFrame] = field(default_factory=list)
    kind: str = ""  # as it is written: torch.OutOfMemoryError
    message: str = ""
    leads_to_next: str = ""  # "cause" or "context": the next one was raised from it, or while handling it
    group: bool = False  # an exception group: its parts follow
    lines: list[str] = field(default_factory=list)  # the text itself, without its prefix


def ending(line: str) -> tuple[str, str, bool] | None:
    """(kind, message, sure) of a line such as `RuntimeError: no`; None for other lines."""
    match = _ENDING.match(line.rstrip())
    if match is None or len(match["kind"]) > 200:
        return None
    name = match["kind"].rpartition(".")[2]
    sure = bool(_SURE.search(name)) or (name[:1].isupper() and "." in match["kind"])
    if not sure and not (name[:1].isupper() or "." in match["kind"]):
        return None
    return match["kind"], match["message"] or "", sure
