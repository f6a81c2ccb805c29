"""The answers that a report holds: those that fit, the most wanted first."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from torch_debugger.errors import DebuggerError
from torch_debugger.viewer.asked import Asked, File
from torch_debugger.viewer.first_questions import Question
from torch_debugger.viewer.questions import find_answer
from torch_debugger.viewer.run_shelf import RunShelf


@dataclass
class WrittenAnswers:
    """JSON by key; `left_out` are the names of the questions whose answers did not fit, with how many each."""

    texts: dict[str, str] = field(default_factory=dict)
    left_out: dict[str, int] = field(default_factory=dict)

    def to_json(self) -> str:
        """Safe inside a script element: nothing in it can end it or open a comment, and all of it is ASCII."""
        parts = (f"{json.dumps(key)}:{text}" for key, text in self.texts.items())
        return "{" + ",".join(parts).replace("<", "\\u003c") + "}"


def answer_in_advance(shelf: RunShelf, questions: Iterable[Question], most_bytes: int) -> WrittenAnswers:
    """Of those that do not fit together the largest are left out."""
    answers = {question: text for question in questions if (text := _answer(shelf, question)) is not None}
    spent = sum(len(text) + len(question.key) + 4 for question, text in answers.items())
    written = WrittenAnswers()
    for question in sorted(answers, key=lambda each: -len(answers[each])):
        if spent <= most_bytes:
            break
        spent -= len(answers.pop(question))
        written.left_out[question.name] = written.left_out.get(question.name, 0) + 1
    written.texts = {question.key: text for question, text in answers.items()}
    return written


def _answer(shelf: RunShelf, question: Question) -> str | None:
    answer = find_answer(question.name)
    if answer is None:
        return None
    try:
        return json.dumps(_plain(answer(Asked(shelf, question.given))), allow_nan=False, separators=(",", ":"))
    except DebuggerError:  # the run has nothing of the kind, as the live page would say
        return None


def _plain(made: Any) -> Any:
    """A file becomes a data: URL, which the page takes for an address."""
    if not isinstance(made, File):
        return made
    kind = made.kind.replace(" ", "")
    return f"data:{kind};base64,{base64.b64encode(made.content).decode('ascii')}"
