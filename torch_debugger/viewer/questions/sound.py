"""One logged sound as a file; what is no sound by its own first bytes is refused."""

from __future__ import annotations

from torch_debugger.errors import UsageError
from torch_debugger.viewer.asked import Asked, File
from torch_debugger.viewer.media_bytes import sound_facts
from torch_debugger.viewer.questions.media import medium_at


def answer(asked: Asked) -> File:
    data = medium_at(asked, "sounds")
    facts = sound_facts(data)
    if "problem" in facts:
        raise UsageError(facts["problem"])
    return File(data, facts["kind"])
