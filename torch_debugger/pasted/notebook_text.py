"""Tracebacks as IPython, Jupyter and Colab print them: with the code around each line, and an arrow."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torch_debugger.pasted.lines import Prefix
from torch_debugger.pasted.parts import TextFrame, TextTraceback, ending

_HEADER = re.compile(r"(?P<before>[^\w]*)(?P<kind>[A-Za-z_][\w.]*) {2,}Traceback \(most recent call last\):?$")
_PLACES = [
    re.compile(r"(?:Cell|Input) In ?\[(?P<cell>\d+)\](?:, line (?P<line>\d+))?(?:, in (?P<function>[^(]+))?"),
    re.compile(r"File (?P<file>\S.*?):(?P<line>\d+)(?:, in (?P<function>[\w.<>]+))?"),
    re.compile(
        r"(?P<file><ipython-input-[^>]+>|(?:[~./]|[A-Za-z]:)\S*?\.py) in (?P<function>[\w.]+|<[^>]+>)(?:\(|$)"
    ),
]
_ARROW = re.compile(r"-+> ?(?P<line>\d+) ?(?P<code>.*)$")
_JOINTS = {
    "The above exception was the direct cause": "cause",
    "During handling of the above exception": "context",
}
_MOST_TRACEBACKS, _MOST_LINES = 200, 5_000


def notebook_tracebacks(lines: list[str]) -> Iterator[TextTraceback]:
    headers = [(index, match) for index, line in enumerate(lines) if (match := _HEADER.match(line))]
    for index, header in headers[-_MOST_TRACEBACKS:]:
        found = _read(header, lines[index + 1 : index + 1 + _MOST_LINES])
        if found.frames and found.kind:
            yield found


def _read(header: re.Match[str], lines: list[str]) -> TextTraceback:
    found, prefix = TextTraceback(header["before"]), Prefix(header["before"])
    for line in lines:
        content = prefix.strip(line)
        if content is None or _HEADER.match(content) or (found.kind and _is_over(found, content)):
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
    for words, joint in _JOINTS.items():
        if content.startswith(words):
            found.leads_to_next = joint
            return True
    after_gap = found.message.endswith("\n")
    stands_apart = after_gap and bool(content.strip()) and not content[0].isspace()
    return content.startswith("```") or stands_apart
