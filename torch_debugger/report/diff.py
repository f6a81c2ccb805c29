"""An edit as the lines of a small diff."""

from __future__ import annotations

import difflib
import textwrap

from torch_debugger.records import Edit
from torch_debugger.report.printable import printable


def diff_lines(edit: Edit) -> list[tuple[str, str]]:
    """(mark, text) pairs, mark being '-', '+' or ' '; indentation all lines share is left out."""
    before, after = _lines(edit.before), _lines(edit.after)
    marks: list[str] = []
    texts: list[str] = []
    for tag, old_from, old_to, new_from, new_to in difflib.SequenceMatcher(None, before, after).get_opcodes():
        old, new = before[old_from:old_to], after[new_from:new_to]
        marks += [" "] * len(old) if tag == "equal" else ["-"] * len(old) + ["+"] * len(new)
        texts += old if tag == "equal" else old + new
    return list(zip(marks, textwrap.dedent("\n".join(texts)).split("\n"), strict=False))


def _lines(text: str) -> list[str]:
    """No lines at all for an empty text: the edit is then a pure insertion or removal."""
    return [printable(line.rstrip()) for line in text.split("\n")] if text else []
