"""How the values of one tensor of a layer were spread over the run: bars for each look."""

from __future__ import annotations

from typing import Any

from torch_debugger.archive.run import Run
from torch_debugger.errors import UsageError
from torch_debugger.viewer.asked import Asked
from torch_debugger.viewer.layers.spreads import KINDS, drawn, looks_at


def answer(asked: Asked) -> dict[str, Any]:
    kind, name = asked.text("of"), asked.text("name")
    if kind not in KINDS:
        raise UsageError(f"Spreads are of {', '.join(KINDS)}, not of {kind!r}.")
    return asked.of_run(lambda run: _spreads(run, kind, name))


def _spreads(run: Run, kind: str, name: str) -> dict[str, Any]:
    steps, shares, values = looks_at(run, kind, name)
    return {"of": kind, "name": name, "steps": steps, **(drawn(shares, values) if steps else {})}
