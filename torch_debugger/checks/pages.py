"""A check's docstring taken apart: the one text behind `explain`, the docs and the viewer."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass

from torch_debugger.checks.base import Check
from torch_debugger.checks.catalog import catalog

HEADINGS = ("Symptom", "Evidence", "Fix", "Known limits")


@dataclass(frozen=True, slots=True)
class Page:
    summary: str
    sections: dict[str, str]  # by heading; paragraphs are parted by an empty line
    explained_by: tuple[str, ...]  # names of checks whose findings cause this one's


def page(check: type[Check]) -> Page:
    text = inspect.cleandoc(check.__doc__ or "")
    summary, *rest = re.split(rf"^({'|'.join(HEADINGS)}):\s", text, flags=re.MULTILINE)
    sections = {heading: _flowing(body) for heading, body in zip(rest[::2], rest[1::2], strict=True)}
    causes = tuple(other.name for other in catalog() if check.name in other.explains)
    return Page(_flowing(summary), sections, causes)


def _flowing(text: str) -> str:
    """Paragraphs as single lines, so that each reader may wrap them to its own width."""
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in re.split(r"\n\s*\n", text.strip()))
