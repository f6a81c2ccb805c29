"""What a traceback's text is made of."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

# Names that are exceptions wherever they stand; any other capitalised word may be one.
_SURE = re.compile(r"(Error|Exception|Warning|Interrupt|Exit|Iteration|Group|Unsupported|Cancelled|Timeout|Failed)$")
_ENDING = re.compile(r"(?P<kind>[A-Za-z_]\w*(?:\.[A-Za-z_<][\w<>]*)*)(?::(?: (?P<message>.*)|(?P<none>))|(?P<bare>))$")


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


# The text as lines that can be read: without colours, escapes and what loggers put before each line.
_LONGEST_TEXT = 2_000_000  # characters; of a longer log the end is read
_LONGEST_LINE = 4_000
_COLOURS = re.compile(r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b[@-Z\\-_]")
_LOST_COLOURS = re.compile(r"\[(?:\d{1,3};)*\d{0,3}m(?=\S|\s|$)")  # an escape character lost on the way
_ESCAPED = re.compile(r"Traceback \(most recent call last\):\\{1,4}n")  # a traceback inside a JSON string
_CLOCK = re.compile(r"\d\d:\d\d")


def readable_lines(text: str) -> list[str]:
    text = text[-_LONGEST_TEXT:].replace("\r\n", "\n").replace("\r", "\n").replace("\u00a0", " ")
    lines: list[str] = []
    for line in _LOST_COLOURS.sub("", _COLOURS.sub("", text)).split("\n"):
        lines += _unescaped(line).split("\n") if _ESCAPED.search(line) else [line]
    return [line[:_LONGEST_LINE].rstrip() for line in lines]


def _unescaped(line: str) -> str:
    if '\\"' in line:  # JSON: the first quote that is not escaped ends the string
        start = line.index("Traceback (most")
        line = line[:start] + re.split(r'(?<!\\)"', line[start:], maxsplit=1)[0]
    plain = re.sub(r"\\{1,4}n", "\n", line)
    return re.sub(r'\\{1,4}"', '"', plain).replace("\\t", "\t")


class Prefix:
    """What stands before each line of one traceback: `[rank0]: `, `2024-05-01 12:00:01 ERROR `, `> `."""

    def __init__(self, text: str) -> None:
        self.text = text
        same = re.escape(text)
        if _CLOCK.search(text):  # every line has its own time
            same = re.sub(r"\d+", r"\\d+", same)
        self._pattern = re.compile(same)
        self._alone = re.compile(re.escape(text.rstrip()) + r"\s*$") if text.strip() else re.compile(r"\s*$")

    def strip(self, line: str) -> str | None:
        """The line without it; None for a line that belongs to something else."""
        match = self._pattern.match(line)
        if match is not None:
            return line[match.end() :]
        return "" if self._alone.match(line) else None


# Tracebacks as the interpreter prints them, one after the other, out of any text.
_HEADER = re.compile(r"(?P<before>.*?)(?P<group>Exception Group )?Traceback \(most recent call last\):$")
_FRAME = re.compile(r'(?P<before>.*?)  File "(?P<file>[^"]+)", line (?P<line>\d+)(?:, in (?P<function>.+))?$')
_CARETS = re.compile(r"\s*[~^][~^\s]*$")
_LATER = 4  # lines after a header in which its first frame must come
_MOST_TRACEBACKS, _MOST_LINES, _MESSAGE_LINES = 200, 5_000, 200
INNER = "Original Traceback (most recent call last):"  # a worker's, inside the message of another
# How the text between two chained tracebacks begins; boxes break it off.
_JOINTS = {"The above exception was the direct cause": "cause", "During handling of the above": "context"}
# What cannot be part of a message any more: a prompt, a fence, the next record of a log.
_OVER = re.compile(
    r"```|~~~|>>>(?: |$)|\$ |\[?\d{4}-\d\d-\d\d|[EWIF]\d{4} \d\d:|-{20}|={20}|srun:|slurmstepd:"
    r"|Exception ignored in"
)


def python_tracebacks(lines: list[str]) -> Iterator[TextTraceback]:
    """Every traceback of the text, in its order; without a header, what starts with the first frame."""
    starts = [index for index, line in enumerate(lines) if _is_header(line)]
    if not starts:
        frames = (index - 1 for index, line in enumerate(lines) if _FRAME.match(line))
        starts = [index for index in [next(frames, None)] if index is not None]
    for index in starts[-_MOST_TRACEBACKS:]:
        found = _Reader(lines, index).read()
        if found.kind or found.frames:
            yield found


def _is_header(line: str) -> bool:
    match = _HEADER.match(line)
    return match is not None and not match["before"].endswith("Original ") and "  File " not in line


class _Reader:
    """Reads one traceback, from its header to the end of its message."""

    def __init__(self, lines: list[str], start: int) -> None:
        self._lines, self._start = lines, start
        header = _HEADER.match(lines[start]) if start >= 0 else None
        self._prefix = Prefix(self._find_prefix(header["before"] if header else ""))
        self._found = TextTraceback(self._prefix.text, group=bool(header and header["group"]))
        self._guess: tuple[str, str] | None = None
        self._inner = False
        self._code_line = ""  # the last line of code, as it stands: carets point into it

    def _find_prefix(self, before: str) -> str:
        """The first frame's line shows it best: loggers put their own only before the header."""
        for line in self._lines[self._start + 1 : self._start + 1 + _LATER]:
            match = _FRAME.match(line)
            if match is not None:
                return match["before"]
        return before

    def read(self) -> TextTraceback:
        for line in self._lines[self._start + 1 : self._start + 1 + _MOST_LINES]:
            content = self._prefix.strip(line)
            if content is None and self._is_border(line):
                break
            if content is None:
                continue  # a line of somebody else, printed in between
            if _is_header(content) or not self._take(content):
                break
            self._found.lines.append(content)
        if not self._found.kind and self._guess is not None:
            self._found.kind, self._found.message = self._guess
        self._found.message = self._found.message.strip("\n")
        return self._found

    def _is_border(self, line: str) -> bool:
        """Of an exception group, between its parts; or the end of an indented block."""
        ended = bool(self._found.kind)
        return ended and (line.lstrip().startswith("+-") or not self._prefix.text.strip())

    def _take(self, content: str) -> bool:
        """One line; whether there may be more."""
        return self._take_message(content) if self._found.kind else self._take_frame(content)

    def _take_frame(self, content: str) -> bool:
        frame = _FRAME.match(content)
        if frame is not None and not frame["before"].strip():
            file, function = frame["file"], frame["function"] or "<module>"
            self._found.frames.append(TextFrame(file, int(frame["line"][:9]), function))
        elif content.startswith(("   ", "\t")):
            self._take_code(content)
        else:
            self._take_ending(content)
        return True

    def _take_code(self, content: str) -> None:
        if not self._found.frames:
            return
        frame = self._found.frames[-1]
        if _CARETS.match(content) and frame.code and not frame.marked:
            first, last = len(content) - len(content.lstrip()), len(content.rstrip())
            frame.marked = "" if "\n" in frame.code else self._code_line[first:last]
        elif not _CARETS.match(content):
            self._code_line = content
            frame.code = f"{frame.code}\n{content.strip()}".strip()

    def _take_ending(self, content: str) -> None:
        found = ending(content)
        if found is not None and found[2]:
            self._found.kind, self._found.message = found[:2]
        elif found is not None and self._found.frames:
            self._guess = self._guess or found[:2]

    def _take_message(self, content: str) -> bool:
        self._inner = self._inner or content.startswith(INNER)
        if _leads_on(self._found, content.strip()):
            return False
        frame = _FRAME.match(content) if content.startswith("  File ") and not self._inner else None
        if frame is not None and frame["function"]:
            self._found.kind = self._found.message = ""  # that was no end: a line that looked like one
            return self._take_frame(content)
        message = self._found.message.split("\n")
        stands_apart = len(message) > 1 and not message[-1].strip() and _is_outdented(content)
        if _OVER.match(content) or stands_apart or len(message) > _MESSAGE_LINES:
            return False
        self._found.message += f"\n{content}"
        return True


def _leads_on(found: TextTraceback, content: str) -> bool:
    """Whether this line says that another traceback follows, which is noted."""
    for words, joint in _JOINTS.items():
        if content.startswith(words):
            found.leads_to_next = joint
            return True
    return False


def _is_outdented(content: str) -> bool:
    return bool(content.strip()) and not content[0].isspace()


# Tracebacks as IPython, Jupyter and Colab print them: with the code around each line, and an arrow.
_NOTEBOOK_HEADER = re.compile(r"(?P<before>[^\w]*)(?P<kind>[A-Za-z_][\w.]*) {2,}Traceback \(most recent call last\):?$")
_NOTEBOOK_PLACES = [
    re.compile(r"(?:Cell|Input) In ?\[(?P<cell>\d+)\](?:, line (?P<line>\d+))?(?:, in (?P<function>[^(]+))?"),
    re.compile(r"File (?P<file>\S.*?):(?P<line>\d+)(?:, in (?P<function>[\w.<>]+))?"),
    re.compile(r"(?P<file><ipython-input-[^>]+>|(?:[~./]|[A-Za-z]:)\S*?\.py) in (?P<function>[\w.]+|<[^>]+>)(?:\(|$)"),
]
_NOTEBOOK_ARROW = re.compile(r"-+> ?(?P<line>\d+) ?(?P<code>.*)$")


def notebook_tracebacks(lines: list[str]) -> Iterator[TextTraceback]:
    for header, following in _blocks(lines, _NOTEBOOK_HEADER.match):
        found, prefix = TextTraceback(header["before"]), Prefix(header["before"])
        for line in following:
            content = prefix.strip(line)
            if content is None or _NOTEBOOK_HEADER.match(content) or _is_over(found, content):
                break
            found.lines.append(content)
            if found.kind:
                found.message += f"\n{content}"
            elif not _take_arrow(found, _NOTEBOOK_ARROW.match(content)) and not _take_notebook_place(found, content):
                last = ending(content)
                if last is not None and last[0].rpartition(".")[2] == header["kind"].rpartition(".")[2]:
                    found.kind, found.message = last[:2]
        yield from _finished(found)


def _take_notebook_place(found: TextTraceback, content: str) -> bool:
    place = next((match for pattern in _NOTEBOOK_PLACES if (match := pattern.match(content))), None)
    if place is None:
        return False
    parts = place.groupdict()
    file = parts.get("file") or f"Cell In[{parts['cell']}]"
    function = (parts.get("function") or "<module>").rpartition(".")[2]
    function = "<module>" if function.startswith("<cell line") else function
    found.frames.append(TextFrame(file, int((parts.get("line") or "0")[:9]), function))
    return True


def _blocks(
    lines: list[str], is_header: Callable[[str], re.Match[str] | None]
) -> Iterator[tuple[re.Match[str], list[str]]]:
    """The headers in a text, each with the lines that follow it."""
    headers = [(index, match) for index, line in enumerate(lines) if (match := is_header(line))]
    for index, match in headers[-_MOST_TRACEBACKS:]:
        yield match, lines[index + 1 : index + 1 + _MOST_LINES]


def _is_over(found: TextTraceback, content: str) -> bool:
    """Behind the message of an exception."""
    if not found.kind:
        return False
    after_gap = found.message.endswith("\n")
    return _leads_on(found, content) or content.startswith("```") or (after_gap and _is_outdented(content))


def _take_arrow(found: TextTraceback, arrow: re.Match[str] | None) -> bool:
    if arrow is None or not found.frames:
        return False
    found.frames[-1].line, found.frames[-1].code = int(arrow["line"][:9]), arrow["code"].strip()
    return True


def _finished(found: TextTraceback) -> Iterator[TextTraceback]:
    """Nothing where it is no traceback after all."""
    if found.frames and found.kind:
        found.message = found.message.strip("\n")
        yield found


# Failures as pytest prints them: `net.py:14: in forward`, and the exception behind an E.
_PYTEST_PLACE = re.compile(r"(?P<file>\S.*?\.py):(?P<line>\d+):(?: in (?P<function>\S+)| (?P<kind>[A-Z]\w*))?$")
_PYTEST_BORDER = re.compile(r"_{3,} .+ _{3,}$|={3,}")  # the title of a failure, or the end of all


def pytest_failures(lines: list[str]) -> Iterator[TextTraceback]:
    """The line with an arrow stands above the place it belongs to, other code below."""
    borders = [index for index, line in enumerate(lines) if _PYTEST_BORDER.match(line)]
    for start, end in zip([-1, *borders], [*borders, len(lines)], strict=True):
        found, code = TextTraceback(lines=lines[start + 1 : end]), ""
        for line, below in itertools.pairwise([*found.lines, ""]):
            place = _PYTEST_PLACE.match(line)
            if line.startswith(">  "):
                code = line[1:].strip()
            elif line.startswith("E  "):
                message = line[1:].strip()
                if found.kind:
                    found.message += f"\n{message}"
                else:
                    found.kind, found.message = (ending(message) or ("AssertionError", message))[:2]
            elif place is not None and (code or not place["kind"]):
                code = code or (below.strip() if below.startswith("    ") else "")
                found.frames.append(TextFrame(place["file"], int(place["line"][:9]), place["function"] or "", code))
                code = ""
        if found.frames and found.kind:
            yield found


# Tracebacks as rich prints them: in a box, with an arrow before the line.
_BOX_HEADER = re.compile(r"\W*Traceback \(most recent call last\)\W*[\u2500-]{3}")
_BOX_PLACE = re.compile(r"(?:in )?(?P<file>\S.*?\.py|<[^>]+>):(?P<line>\d+)(?: in (?P<function>\S+))?$")
_BOX_ARROW = re.compile(r"[\u2771>] *(?P<line>\d+)[ \u2502]*(?P<code>.*)$")
_BOX_BORDER, _BOX_CORNER = "\u2502|", ("\u2570", "+-", "\u2514")
_PATHS = ("/", "~", "C:\\", "D:\\")


def boxed_tracebacks(lines: list[str]) -> Iterator[TextTraceback]:
    for _, following in _blocks(lines, _BOX_HEADER.search):
        found, closed = TextTraceback(), False
        for line, below in itertools.pairwise([*following, ""]):
            content = line.strip()
            closed = closed or content.startswith(_BOX_CORNER)
            if _BOX_HEADER.search(line) or _is_over(found, line):
                break
            found.lines.append(line)
            if found.kind:
                found.message += f"\n{line}"
            elif closed:
                found.kind, found.message = (ending(content) or ("", ""))[:2]
            else:
                _take_boxed(found, *(part.strip().strip(_BOX_BORDER).strip() for part in (line, below)))
        yield from _finished(found)


def _take_boxed(found: TextTraceback, content: str, below: str) -> None:
    """A place may be broken over two lines of the box; the arrow has its line number whole."""
    if _take_arrow(found, _BOX_ARROW.match(content)):
        return
    whole = f"{content}{below}" if content.startswith(_PATHS) else ""
    place = _BOX_PLACE.match(content) or _BOX_PLACE.match(whole)
    if place is not None:
        found.frames.append(TextFrame(place["file"], int(place["line"][:9]), place["function"] or ""))
