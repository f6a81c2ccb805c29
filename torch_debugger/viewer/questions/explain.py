"""What `torch-debugger explain` says of a check, by its name or id."""

from __future__ import annotations

from typing import Any

from torch_debugger.checks.catalog import find_check
from torch_debugger.checks.pages import page
from torch_debugger.viewer.asked import Asked


def answer(asked: Asked) -> dict[str, Any]:
    text = page(find_check(asked.text("check")))
    return {"summary": text.summary, "sections": text.sections}
