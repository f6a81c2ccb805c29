"""Whether something was written since: told by the files' sizes, without reading them."""

from __future__ import annotations

from typing import Any

from torch_debugger.viewer.asked import Asked


def answer(asked: Asked) -> dict[str, Any]:
    return asked.shelf.pulse(asked.text("run"))
