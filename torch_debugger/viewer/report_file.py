"""The report: one HTML file with the page, the answers to what it asks first, and a part that needs no script;
of one run, or of several compared.

It fetches nothing, and its own Content-Security-Policy allows nothing but the script and the styles inside it.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, TypeVar

from torch_debugger._version import __version__
from torch_debugger.log.folders import FoundRun
from torch_debugger.log.run import Run
from torch_debugger.system.errors import UsageError
from torch_debugger.viewer.questions import File, Query, find_answer, page_file
from torch_debugger.viewer.report_figures import Markup, element, together
from torch_debugger.viewer.report_page import still_page, still_several, still_style
from torch_debugger.viewer.report_questions import (
    Question,
    finer_curves,
    first_questions,
    further_questions,
    further_questions_of,
    questions_of_each,
    shared_questions,
)
from torch_debugger.viewer.runs import details_of, rows_of
from torch_debugger.viewer.shown_runs import ShownRun, ShownRuns

MARK = "<!-- a report of torch-debugger -->"
_MOST_BYTES = 1_000_000
_LEAST_FOR_ANSWERS = 200_000
_MORE_BYTES, _MOST_BYTES_OF_SEVERAL = 250_000, 4_000_000  # for each run beyond the first


class OneFile(NamedTuple):
    html: str
    left_out: dict[str, int]  # question -> how many of its answers did not fit
    has_page: bool  # False where the page was not built: then it is the still part alone


def make_one_file(run: Run) -> OneFile:
    def fill(answers: WrittenAnswers) -> None:
        answers.add_first(first_questions(run, answers.ask))
        answers.add_further(further_questions(run, answers.ask))
        answers.add_further(finer_curves(run))

    return _file(run.name, still_page(run), OneShownRun(run), _MOST_BYTES, fill)


def make_file_of(runs: Sequence[Run]) -> OneFile:
    """Two runs or more, each with a name of its own; the first two are compared at first sight."""

    def fill(answers: WrittenAnswers) -> None:
        answers.add_first(shared_questions(runs))
        answers.add_first(each for each in questions_of_each(runs, answers.ask) if each.key not in answers.texts)
        answers.add_further(further_questions_of(runs, answers.ask))

    most = min(_MOST_BYTES + _MORE_BYTES * (len(runs) - 1), _MOST_BYTES_OF_SEVERAL)
    return _file(f"{len(runs)} runs compared", still_several(runs), ChosenRuns(runs), most, fill)


def _file(
    title: str, still: Markup, shown: ShownRuns, most_bytes: int, fill: Callable[[WrittenAnswers], None]
) -> OneFile:
    script, page_style = _bundled("page.js"), _bundled("page.css")
    styles = [text.replace("\r", "").replace("</", "<\\/") for text in (page_style, still_style())]
    room = most_bytes - sum(map(len, (still, script, *styles)))
    answers = WrittenAnswers(shown, max(room, _LEAST_FOR_ANSWERS))
    if script:
        fill(answers)
    # The same program without what would end its element; in a program that stands only in texts.
    inside = script.replace("\r", "").replace("</script", "<\\/script").replace("<!--", "\\x3C!--")
    return OneFile(_document(title, still, styles, inside, answers.to_json()), answers.left_out, bool(script))


def _document(name: str, still: Markup, styles: list[str], script: str, answers: str) -> str:
    head = together(
        Markup('<meta charset="utf-8">\n'),
        _policy(styles, script),
        Markup('<meta name="viewport" content="width=device-width, initial-scale=1">\n'),
        Markup('<meta name="referrer" content="no-referrer">\n'),
        Markup(f'<meta name="generator" content="torch-debugger {__version__}">\n'),
        element("title", f"{name}: torch-debugger report"),
        Markup('\n<link rel="icon" href="data:,">\n'),
        *(Markup(f"<style>{text}</style>\n") for text in styles),
    )
    page = Markup(f'<div id="page">{still}</div>\n')
    kept = Markup(f'<script type="application/json" id="answers">{answers}</script>\n')
    live = together(kept, Markup(f'<script type="module">{script}</script>\n')) if script else ""
    body = together(page, live)
    return f'<!doctype html>\n{MARK}\n<html lang="en">\n<head>\n{head}</head>\n<body>\n{body}</body>\n</html>\n'


def _policy(styles: list[str], script: str) -> Markup:
    rules = [
        "default-src 'none'",
        f"script-src {_hash(script)}" if script else "script-src 'none'",
        f"style-src {' '.join(map(_hash, styles))}",
        "img-src data:",
        "media-src data:",
        "base-uri 'none'",
        "form-action 'none'",
    ]
    return Markup(f'<meta http-equiv="Content-Security-Policy" content="{"; ".join(rules)}">\n')


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode('ascii')}'"


def _bundled(name: str) -> str:
    """Empty where the page was not built."""
    found = page_file(name)
    return found.content.decode("utf-8") if found is not None else ""


# One run that stays as it is: what a report is made from.
_Answer = TypeVar("_Answer")


class OneShownRun(ShownRuns):
    def __init__(self, run: Run) -> None:
        super().__init__({})
        self._run = run

    def names(self) -> list[str]:
        return [self._run.name]

    def ask(self, name: str, question: Callable[[Run], _Answer]) -> _Answer:
        if name != self._run.name:
            raise UsageError(f"This file holds the run {self._run.name!r} and not {name!r}.")
        return question(self._run)

    def pulse(self, name: str) -> dict[str, Any]:
        return {"version": "report", "growing": False}


# Some runs that stay as they are: what a report of several runs is made from.
class ChosenRuns(ShownRuns):
    """In the order in which they were named."""

    def __init__(self, runs: Sequence[Run]) -> None:
        super().__init__({})
        self._runs = {run.name: run for run in runs}
        self._shown = {run.name: ShownRun(_found(run), os.path.dirname(run.folder)) for run in runs}
        found = {name: shown.found for name, shown in self._shown.items()}
        rows_of(self).tell(found, math.inf)  # whole, as nobody asks a file again
        details_of(self).tell(found, list(found), math.inf)

    def names(self) -> list[str]:
        return list(self._runs)

    def all_shown(self) -> dict[str, ShownRun]:
        return self._shown

    def ask(self, name: str, question: Callable[[Run], _Answer]) -> _Answer:
        if name not in self._runs:
            raise UsageError(f"This file does not hold the run {name!r}.")
        return question(self._runs[name])

    def pulse(self, name: str) -> dict[str, Any]:
        return {"version": "report", "growing": False}


def _found(run: Run) -> FoundRun:
    return FoundRun(run.name, run.folder, run.changed, run.read_bytes)


# The answers that a report holds: those that fit, the most wanted first.
_MOST_REFUSED = 20  # answers in a row for which there was no room: then there is none


class WrittenAnswers:
    """JSON by key. `left_out` are the names of questions whose answers did not fit, with how many of each."""

    def __init__(self, shown_runs: ShownRuns, most_bytes: int) -> None:
        self._shown_runs = shown_runs
        self._known: dict[str, Any] = {}
        self.texts: dict[str, str] = {}
        self.left_out: dict[str, int] = {}
        self.room = most_bytes

    def ask(self, question: Question) -> Any:
        """The answer, whether it will be kept or not; None where the run has nothing of the kind."""
        if question.beside:
            return self._answer(question)
        if question.key not in self._known:
            self._known[question.key] = self._answer(question)
        return self._known[question.key]

    def add_first(self, questions: Iterable[Question]) -> None:
        """All of them; of those that do not fit together the largest are left out."""
        made = {question: text for question in questions if (text := self._text(question)) is not None}
        for question, text in made.items():
            self._keep(question, text)
        for question in sorted(made, key=lambda each: -len(made[each])):
            if self.room >= 0:
                return
            self.room += _size(question, self.texts.pop(question.key))
            self._leave_out(question)

    def add_further(self, questions: Iterable[Question]) -> None:
        """As long as there is room. One that is there already is taken for finer if it comes again."""
        refused = 0
        for question in questions:
            text = self._text(question) if question.beside or question.key not in self.texts else None
            if text is None:
                continue
            freed = _size(question, self.texts[question.key]) if question.key in self.texts else 0
            if _size(question, text) <= self.room + freed:
                self.room += freed
                self._keep(question, text)
                refused = 0
                continue
            refused += 1
            if not freed:
                self._leave_out(question)
            if refused >= _MOST_REFUSED:
                return

    def to_json(self) -> str:
        """Safe inside a script element: nothing in it can end it or open a comment, and all of it is ASCII."""
        parts = (f"{json.dumps(key)}:{text}" for key, text in self.texts.items())
        return "{" + ",".join(parts).replace("<", "\\u003c") + "}"

    def _keep(self, question: Question, text: str) -> None:
        self.texts[question.key] = text
        self.room -= _size(question, text)

    def _leave_out(self, question: Question) -> None:
        self.left_out[question.name] = self.left_out.get(question.name, 0) + 1

    def _text(self, question: Question) -> str | None:
        answer = self.ask(question)
        return None if answer is None else json.dumps(answer, allow_nan=False, separators=(",", ":"))

    def _answer(self, question: Question) -> Any:
        answer = find_answer(question.name)
        if answer is None:
            return None
        try:
            # A file becomes a data: URL, which the page takes for an address.
            made = answer(Query(self._shown_runs, {**question.given, **question.beside}))
            if not isinstance(made, File):
                return made
            kind = made.kind.replace(" ", "")
            return f"data:{kind};base64,{base64.b64encode(made.content).decode('ascii')}"
        except Exception:  # as on the live page, what cannot be answered takes nothing else with it
            return None


def _size(question: Question, text: str) -> int:
    return len(text) + text.count("<") * 5 + len(question.key) + 4
