"""The traces of torch.profiler among what is shown, and how far reading them has come."""

from __future__ import annotations

from typing import Any

from torch_debugger.viewer.asked import Asked


def answer(asked: Asked) -> dict[str, Any]:
    return {"traces": asked.shelf.traces.listed()}
