"""One logged picture as a file; what is no picture by its own first bytes is refused."""

from __future__ import annotations

from torch_debugger.errors import UsageError
from torch_debugger.viewer.asked import Asked, File
from torch_debugger.viewer.media_bytes import picture_facts
from torch_debugger.viewer.questions.media import medium_at


def answer(asked: Asked) -> File:
    data = medium_at(asked, "pictures")
    facts = picture_facts(data)
    if "problem" in facts:
        raise UsageError(facts["problem"])
    return File(data, facts["kind"])
