"""Embeddings of `add_embedding`: which there are with their steps or, with tag and step, one of them."""

from __future__ import annotations

from typing import Any

from torch_debugger.viewer.asked import Asked
from torch_debugger.viewer.projector.showing import embedding_at, embedding_list


def answer(asked: Asked) -> dict[str, Any]:
    tag = asked.text("tag")
    if "step" not in asked.given:
        return asked.of_run(embedding_list)
    step = asked.whole("step", 0)
    return asked.of_run(lambda run: embedding_at(run, tag, step))
