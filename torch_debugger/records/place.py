"""Where something is: in the user's files, and in the user's model."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Place:
    """A line of the user's code and, where one is known, the module path it belongs to."""

    file: str | None = None
    line: int | None = None
    module: str | None = None
    code: str | None = None  # the source line itself, stripped

    def __bool__(self) -> bool:
        return self.file is not None or self.module is not None
