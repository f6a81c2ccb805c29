"""One question as it came from the page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from torch_debugger.archive.run import Run
from torch_debugger.errors import UsageError
from torch_debugger.viewer.run_shelf import RunShelf

_Answer = TypeVar("_Answer")


@dataclass(frozen=True)
class Asked:
    shelf: RunShelf
    given: Mapping[str, str] = field(default_factory=dict)
    edit_token: str = ""
    told: Mapping[str, Any] | None = None  # what an edit says; None for a question that only reads

    def text(self, name: str, default: str = "") -> str:
        return self.given.get(name, default)

    def whole(self, name: str, default: int) -> int:
        return int(self._number(name, default))

    def number(self, name: str, default: float | None = None) -> float | None:
        return self._number(name, default) if name in self.given or default is not None else None

    def _number(self, name: str, default: float | None) -> float:
        said = self.given.get(name, default)
        try:
            return float(said)  # type: ignore[arg-type]
        except (TypeError, ValueError):
            raise UsageError(f"{name} must be a number, but {said!r} came.") from None

    def of_run(self, question: Callable[[Run], _Answer]) -> _Answer:
        """What `question` makes of the run that was named, read up to now."""
        return self.shelf.ask(self.text("run"), question)


@dataclass(frozen=True)
class File:
    """An answer that is no JSON: a picture, a sound, a table to download."""

    content: bytes
    kind: str
    headers: Mapping[str, Any] = field(default_factory=dict)
