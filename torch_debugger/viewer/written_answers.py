"""The answers that a report holds: those that fit, the most wanted first."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable
from typing import Any

from torch_debugger.viewer.asked import Asked, File
from torch_debugger.viewer.first_questions import Question
from torch_debugger.viewer.questions import find_answer
from torch_debugger.viewer.run_shelf import RunShelf

_MOST_REFUSED = 20  # answers in a row for which there was no room: then there is none


class WrittenAnswers:
    """JSON by key. `left_out` are the names of questions whose answers did not fit, with how many of each."""

    def __init__(self, shelf: RunShelf, most_bytes: int) -> None:
        self._shelf = shelf
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
            return _plain(answer(Asked(self._shelf, {**question.given, **question.beside})))
        except Exception:  # as on the live page, what cannot be answered takes nothing else with it
            return None


def _size(question: Question, text: str) -> int:
    return len(text) + text.count("<") * 5 + len(question.key) + 4


def _plain(made: Any) -> Any:
    """A file becomes a data: URL, which the page takes for an address."""
    if not isinstance(made, File):
        return made
    kind = made.kind.replace(" ", "")
    return f"data:{kind};base64,{base64.b64encode(made.content).decode('ascii')}"
