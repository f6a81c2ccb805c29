"""What the views ask of a run at first sight: a report holds the answers to these, the most wanted first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from urllib.parse import quote_plus

from torch_debugger.archive.run import Run
from torch_debugger.viewer.first_media import data_asked, media_asked


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
    for name, given in (*data_asked(run), *media_asked(run)):
        yield Question(name, given)


def _encoded(text: str) -> str:
    return quote_plus(text, safe="*", errors="replace").replace("~", "%7E")
