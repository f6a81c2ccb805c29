"""The nearest neighbours of a point of an embedding, in all its dimensions; `by` is euclidean or cosine."""

from __future__ import annotations

from typing import Any

from torch_debugger.viewer.asked import Asked
from torch_debugger.viewer.projector.showing import nearest

_AT_ONCE = 20


def answer(asked: Asked) -> dict[str, Any]:
    tag, by = asked.text("tag"), asked.text("by", "euclidean")
    step, point, most = asked.whole("step", 0), asked.whole("point", 0), asked.whole("count", _AT_ONCE)
    return asked.of_run(lambda run: nearest(run, tag, step, point, by, most))
