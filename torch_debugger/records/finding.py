"""A judgement, and the wish for a closer look that may come with it."""

from __future__ import annotations

from dataclasses import dataclass, field

from torch_debugger.records.place import Place

SEVERITIES = ("note", "warning", "error")


@dataclass(frozen=True, slots=True)
class Request:
    """The one message that travels upstream: look closely for some steps."""

    steps: int
    modules: tuple[str, ...] = ()
    reason: str = ""
    profile: bool = False  # where the time of these steps goes, by torch's profiler


@dataclass(frozen=True, slots=True)
class Edit:
    """The change to make, as lines: what stands there and what should."""

    file: str
    line: int
    before: str
    after: str  # several lines joined by newlines; indentation as in the file


@dataclass(frozen=True, slots=True)
class Finding:
    check: str  # TD101
    name: str  # missing-zero-grad
    severity: str  # error | warning | note
    confidence: float
    message: str  # one sentence: where, what, how much, since when
    why: str
    fix: str
    where: Place
    first_step: int
    last_step: int
    evidence: dict[str, float | str] = field(default_factory=dict)
    status: str = "stable"
    edit: Edit | None = None
    request: Request | None = None
    symptom_of: str | None = None  # the name of the finding that explains this one
    ranks: tuple[int, ...] = ()  # of a distributed run: on which it was made

    @property
    def key(self) -> tuple[str, str]:
        """Findings with one key are one finding, seen again."""
        place = self.where.module or f"{self.where.file}:{self.where.line}"
        return self.check, place
