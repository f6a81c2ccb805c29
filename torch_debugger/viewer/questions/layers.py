"""The layers of a run over its steps. Without a number: what there is to choose from. With one: its grid.

Of a model with thousands of layers the page asks for the rows that it shows: `top` is the first of them.
"""

from __future__ import annotations

import math
from typing import Any

from torch_debugger.archive.run import Run
from torch_debugger.errors import UsageError
from torch_debugger.viewer.asked import Asked
from torch_debugger.viewer.grids import as_json
from torch_debugger.viewer.layers.grid import whole_grid
from torch_debugger.viewer.layers.looks import NUMBERS, layers_with
from torch_debugger.viewer.layers.marks import marks
from torch_debugger.viewer.layers.models import Models
from torch_debugger.viewer.layers.ranges import range_of
from torch_debugger.viewer.layers.standing_out import what_stands_out

ROWS_AT_ONCE = 200


def answer(asked: Asked) -> dict[str, Any]:
    if not asked.text("number"):
        return asked.of_run(choices)
    return asked.of_run(lambda run: _grid(run, asked))


def choices(run: Run) -> dict[str, Any]:
    """The numbers and the models that have any; the models in the order in which they came."""
    models = Models(run)
    by_number = {key: _roots(models, layers) for key, layers in layers_with(run).items()}
    roots = dict.fromkeys([*models.facts, *(root for found in by_number.values() for root in found)])
    known = {root for found in by_number.values() for root in found}
    return {
        "budget": run.facts.run.budget if run.facts.run else None,
        "models": [root for root in roots if root in known],
        "numbers": [
            {"key": key, "title": each.title, "unit": each.unit, "says": each.says, "models": by_number[key]}
            for key, each in NUMBERS.items()
            if by_number[key]
        ],
    }


def _roots(models: Models, layers: list[str]) -> list[str]:
    return list(dict.fromkeys(models.root_of(layer) for layer in layers))


def _grid(run: Run, asked: Asked) -> dict[str, Any]:
    number = NUMBERS.get(asked.text("number"))
    if number is None:
        raise UsageError(f"There is no number {asked.text('number')!r} of layers.")
    first, last = asked.number("from", -math.inf), asked.number("to", math.inf)
    assert first is not None and last is not None
    whole = whole_grid(run, number.key, asked.text("model"))
    chosen = whole.between(first, last)
    shown, top = chosen.thinned(), max(0, asked.whole("top", 0))
    found = range_of(chosen.values, number.scale)
    rows = shown.values[top : top + ROWS_AT_ONCE].tolist()
    return {
        "number": number.key,
        "layers": shown.layers if not top else [],
        "steps": shown.steps,
        "top": top,
        "values": [[_short(value) for value in row] for row in rows],
        "range": found.to_json() if found is not None else None,
        "looks": len(chosen.steps),
        "measured": len(whole.steps),
        "span": [whole.steps[0], whole.steps[-1]] if whole.steps else None,
        "stands_out": what_stands_out(number.key, chosen),
        "marks": marks(run.findings, shown.layers) if not top else [],
    }


def _short(value: float) -> float | str | None:
    """Four figures: more cannot be seen, and the answer is half as long."""
    known = as_json(value)
    return float(f"{known:.4g}") if isinstance(known, float) else known
