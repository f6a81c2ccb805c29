"""A statement of the user's that the traceback went through: its lines, and the call it was in."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from torch_debugger.checks.explainers.blame import place_text
from torch_debugger.checks.explainers.calls import (
    Argument,
    argument_of,
    calls_of,
    one_line,
    parse_expression,
    parse_statement,
    rewritten,
)
from torch_debugger.records import CrashFact, CrashFrame, Edit, Place


@dataclass(frozen=True, slots=True)
class Change:
    """A change of one argument of a call, in words and as an edit where it is plain."""

    text: str
    edit: Edit | None
    where: Place


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement as it is written, however many lines it takes."""

    line: Place  # the line that crashed or called
    whole: Place  # the first line, with the code of all
    failing: str = ""  # the very expression that raised

    def call(self, names: list[str]) -> str | None:
        """The call that raised; where Python cannot tell, the only call of the first name that is called."""
        code = self.whole.code or ""
        if self.failing:
            return written_call(code, self.failing)
        found = next((calls for name in names if (calls := calls_of(code, name))), [])
        return found[0] if len(found) == 1 else None

    def argument(self, names: list[str], position: int, keyword: str = "") -> Argument | None:
        call = self.call(names)
        return argument_of(call, position, keyword) if call else None

    def change(
        self, names: list[str], pattern: str, position: int = 0, keyword: str = "", after: str = ""
    ) -> Change:
        """Write `pattern` ("{}.flatten(1)") around an argument of the call, and `after` behind the call."""
        argument = self.argument(names, position, keyword)
        if argument is None or not is_plain(argument):
            behind = f" and write `{after}` behind the call" if after else ""
            told = f"give it `{pattern.format(keyword or 'x')}`{behind} at {place_text(self.line)}"
            return Change(told, None, self.line)
        changed = argument.replaced(pattern.format(argument.text)) + after
        text = f"write `{one_line(changed)}` instead of `{one_line(argument.call)}` at {place_text(self.line)}"
        return Change(text, rewritten(self.whole, argument.call, changed), self.line)


def statement_at(crash: CrashFact, place: Place) -> Statement:
    """The statement of the traceback around a line of it."""
    for frame in reversed(crash.frames):
        if frame.user and (frame.file, frame.line) == (place.file, place.line):
            return statement_of(frame, place.module)
    return Statement(place, place)


def statement_of(frame: CrashFrame, module: str | None) -> Statement:
    start, lines = frame.code_line or frame.line, frame.code.split("\n")
    inside = frame.line - start if 0 <= frame.line - start < len(lines) else 0
    line = Place(frame.file, frame.line, module, lines[inside])
    return Statement(line, Place(frame.file, start, module, frame.code), frame.failing)


def written_call(code: str, unparsed: str) -> str | None:
    """The call of this meaning as the code writes it."""
    tree = parse_statement(code)
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.Call) and ast.unparse(node) == unparsed:
            return ast.get_source_segment(code, node)
    return None


def is_plain(argument: Argument) -> bool:
    """A name, an attribute, an entry or a call: something a method can follow without parentheses."""
    node = parse_expression(argument.text)
    return isinstance(node, ast.Name | ast.Attribute | ast.Subscript | ast.Call)
