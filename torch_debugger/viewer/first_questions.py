"""What the views ask of a run at first sight: a report holds the answers to these, the most wanted first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from urllib.parse import quote_plus

from torch_debugger.archive.run import Run


@dataclass(frozen=True)
class Question:
    name: str
    given: Mapping[str, str] = field(default_factory=dict, hash=False)

    @property
    def key(self) -> str:
        """As web/src/asking.ts makes it: sorted, nothing empty, encoded as URLSearchParams does."""
        given = sorted((name, value) for name, value in self.given.items() if value != "")
        query = "&".join(f"{_encoded(name)}={_encoded(value)}" for name, value in given)
        return f"{self.name}?{query}" if query else self.name


def first_questions(run: Run) -> Iterator[Question]:
    yield Question("session", {})
    yield Question("names", {})
    yield Question("about", {"run": run.name})


def _encoded(text: str) -> str:
    return quote_plus(text, safe="*", errors="replace").replace("~", "%7E")
