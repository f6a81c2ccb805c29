"""What a traceback's text is made of."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
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
_JOINTS = {
    "The above exception was the direct cause of the following exception:": "cause",
    "During handling of the above exception, another exception occurred:": "context",
}
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
        if content.strip() in _JOINTS:
            self._found.leads_to_next = _JOINTS[content.strip()]
            return False
        frame = _FRAME.match(content) if content.startswith("  File ") and not self._inner else None
        if frame is not None and frame["function"]:
            self._found.kind = self._found.message = ""  # that was no end: a line that looked like one
            return self._take_frame(content)
        told = self._found.message.split("\n")
        after_gap = len(told) > 1 and not told[-1].strip()
        stands_apart = after_gap and bool(content.strip()) and not content[0].isspace()
        if _OVER.match(content) or stands_apart or len(told) > _MESSAGE_LINES:
            return False
        self._found.message += f"\n{content}"
        return True


# Tracebacks as IPython, Jupyter and Colab print them: with the code around each line, and an arrow.
_NOTEBOOK_TEXT_HEADER = re.compile(
    r"(?P<before>[^\w]*)(?P<kind>[A-Za-z_][\w.]*) {2,}Traceback \(most recent call last\):?$"
)
_PLACES = [
    re.compile(r"(?:Cell|Input) In ?\[(?P<cell>\d+)\](?:, line (?P<line>\d+))?(?:, in (?P<function>[^(]+))?"),
    re.compile(r"File (?P<file>\S.*?):(?P<line>\d+)(?:, in (?P<function>[\w.<>]+))?"),
    re.compile(r"(?P<file><ipython-input-[^>]+>|(?:[~./]|[A-Za-z]:)\S*?\.py) in (?P<function>[\w.]+|<[^>]+>)(?:\(|$)"),
]
_ARROW = re.compile(r"-+> ?(?P<line>\d+) ?(?P<code>.*)$")
_NOTEBOOK_TEXT_JOINTS = {
    "The above exception was the direct cause": "cause",
    "During handling of the above exception": "context",
}
_NOTEBOOK_TEXT_MOST_TRACEBACKS, _NOTEBOOK_TEXT_MOST_LINES = 200, 5_000


def notebook_tracebacks(lines: list[str]) -> Iterator[TextTraceback]:
    headers = [(index, match) for index, line in enumerate(lines) if (match := _NOTEBOOK_TEXT_HEADER.match(line))]
    for index, header in headers[-_NOTEBOOK_TEXT_MOST_TRACEBACKS:]:
        found = _read(header, lines[index + 1 : index + 1 + _NOTEBOOK_TEXT_MOST_LINES])
        if found.frames and found.kind:
            yield found


def _read(header: re.Match[str], lines: list[str]) -> TextTraceback:
    found, prefix = TextTraceback(header["before"]), Prefix(header["before"])
    for line in lines:
        content = prefix.strip(line)
        if content is None or _NOTEBOOK_TEXT_HEADER.match(content) or (found.kind and _is_over(found, content)):
            break
        found.lines.append(content)
        if found.kind:
            found.message += f"\n{content}"
        elif not _take_frame(found, content):
            told = ending(content)
            if told is not None and told[0].rpartition(".")[2] == header["kind"].rpartition(".")[2]:
                found.kind, found.message = told[:2]
    found.message = found.message.strip("\n")
    return found


def _take_frame(found: TextTraceback, content: str) -> bool:
    arrow = _ARROW.match(content)
    if arrow is not None and found.frames:
        found.frames[-1].line, found.frames[-1].code = int(arrow["line"][:9]), arrow["code"].strip()
        return True
    place = next((match for pattern in _PLACES if (match := pattern.match(content))), None)
    if place is None:
        return False
    told = place.groupdict()
    file = told.get("file") or f"Cell In[{told['cell']}]"
    function = (told.get("function") or "<module>").rpartition(".")[2]
    function = "<module>" if function.startswith("<cell line") else function
    found.frames.append(TextFrame(file, int((told.get("line") or "0")[:9]), function))
    return True


def _is_over(found: TextTraceback, content: str) -> bool:
    for words, joint in _NOTEBOOK_TEXT_JOINTS.items():
        if content.startswith(words):
            found.leads_to_next = joint
            return True
    after_gap = found.message.endswith("\n")
    stands_apart = after_gap and bool(content.strip()) and not content[0].isspace()
    return content.startswith("```") or stands_apart


# Failures as pytest prints them: `net.py:14: in forward`, and the exception behind an E.
_PLACE = re.compile(r"(?P<file>\S.*?\.py):(?P<line>\d+):(?: in (?P<function>\S+)| (?P<kind>[A-Z]\w*))?$")
_BORDER = re.compile(r"_{3,} .+ _{3,}$|={3,}")  # the title of a failure, or the end of all


def pytest_failures(lines: list[str]) -> Iterator[TextTraceback]:
    borders = [index for index, line in enumerate(lines) if _BORDER.match(line)]
    for start, end in zip([-1, *borders], [*borders, len(lines)], strict=True):
        found = _pytest_text_read(lines[start + 1 : end])
        if found.frames and found.kind:
            yield found


def _pytest_text_read(lines: list[str]) -> TextTraceback:
    """The line with an arrow stands above the place it belongs to, other code below."""
    found, code = TextTraceback(lines=lines), ""
    for index, line in enumerate(lines):
        place = _PLACE.match(line)
        if line.startswith(">  "):
            code = line[1:].strip()
        elif line.startswith("E  "):
            _take_error(found, line[1:].strip())
        elif place is not None and (code or not place["kind"]):
            below = lines[index + 1] if index + 1 < len(lines) else ""
            told = code or (below.strip() if below.startswith("    ") else "")
            found.frames.append(TextFrame(place["file"], int(place["line"][:9]), place["function"] or "", told))
            code = ""
    return found


def _take_error(found: TextTraceback, told: str) -> None:
    if found.kind:
        found.message += f"\n{told}"
    else:
        found.kind, found.message = (ending(told) or ("AssertionError", told))[:2]


# Tracebacks as rich prints them: in a box, with an arrow before the line.
_BOXED_TEXT_HEADER = re.compile(r"\W*Traceback \(most recent call last\)\W*[\u2500-]{3}")
_BOXED_TEXT_PLACE = re.compile(r"(?:in )?(?P<file>\S.*?\.py|<[^>]+>):(?P<line>\d+)(?: in (?P<function>\S+))?$")
_BOXED_TEXT_ARROW = re.compile(r"[\u2771>] *(?P<line>\d+)[ \u2502]*(?P<code>.*)$")
_BOXED_TEXT_BORDER, _CORNER = "\u2502|", ("\u2570", "+-", "\u2514")
_PATHS = ("/", "~", "C:\\", "D:\\")
_BOXED_TEXT_JOINTS = {"The above exception was the direct cause": "cause", "During handling of the above": "context"}
_BOXED_TEXT_MOST_TRACEBACKS, _BOXED_TEXT_MOST_LINES = 200, 5_000


def boxed_tracebacks(lines: list[str]) -> Iterator[TextTraceback]:
    starts = [index for index, line in enumerate(lines) if _BOXED_TEXT_HEADER.search(line)]
    for index in starts[-_BOXED_TEXT_MOST_TRACEBACKS:]:
        found = _boxed_text_read(lines[index + 1 : index + 1 + _BOXED_TEXT_MOST_LINES])
        if found.frames and found.kind:
            yield found


def _boxed_text_read(lines: list[str]) -> TextTraceback:
    found, closed = TextTraceback(), False
    for line, following in itertools.pairwise([*lines, ""]):
        content = line.strip()
        closed = closed or content.startswith(_CORNER)
        if _BOXED_TEXT_HEADER.search(line) or (found.kind and _boxed_text_is_over(found, line)):
            break
        found.lines.append(line)
        if found.kind:
            found.message += f"\n{line}"
        elif closed:
            found.kind, found.message = (ending(content) or ("", ""))[:2]
        else:
            _boxed_text_take_frame(found, _inside(line), _inside(following))
    found.message = found.message.strip("\n")
    return found


def _inside(line: str) -> str:
    return line.strip().strip(_BOXED_TEXT_BORDER).strip()


def _boxed_text_take_frame(found: TextTraceback, content: str, following: str) -> None:
    """A place may be broken over two lines of the box; the arrow has its line number whole."""
    arrow = _BOXED_TEXT_ARROW.match(content)
    whole = f"{content}{following}" if content.startswith(_PATHS) else ""
    place = _BOXED_TEXT_PLACE.match(content) or _BOXED_TEXT_PLACE.match(whole)
    if arrow is not None and found.frames:
        found.frames[-1].line, found.frames[-1].code = int(arrow["line"][:9]), arrow["code"].strip()
    elif place is not None:
        found.frames.append(TextFrame(place["file"], int(place["line"][:9]), place["function"] or ""))


def _boxed_text_is_over(found: TextTraceback, line: str) -> bool:
    for words, joint in _BOXED_TEXT_JOINTS.items():
        if line.startswith(words):
            found.leads_to_next = joint
            return True
    after_gap = found.message.endswith("\n")
    return after_gap and bool(line.strip()) and not line[0].isspace()
