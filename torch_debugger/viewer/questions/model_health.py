"""One number of every module of a model, by step: what the drawing is coloured by."""

from __future__ import annotations

from typing import Any

from torch_debugger.errors import UsageError
from torch_debugger.viewer.asked import Asked
from torch_debugger.viewer.layers.looks import NUMBERS
from torch_debugger.viewer.models.health_numbers import health_of


def answer(asked: Asked) -> dict[str, Any]:
    name, root = asked.text("number"), asked.text("root")
    if name not in NUMBERS:
        raise UsageError(f"There is no number {name!r}; there are {', '.join(NUMBERS)}.")
    return asked.of_run(lambda run: health_of(run, root, name))
