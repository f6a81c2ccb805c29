"""All that is known of one layer: its source, its numbers over time, its parameters, its findings."""

from __future__ import annotations

from typing import Any

from torch_debugger.archive.run import Run
from torch_debugger.errors import UsageError
from torch_debugger.report.json_form import finding_to_json
from torch_debugger.report.source import shown_path
from torch_debugger.viewer.asked import Asked
from torch_debugger.viewer.grids import UNMEASURED, as_json, thinned
from torch_debugger.viewer.layers.grid import fill
from torch_debugger.viewer.layers.ledger import ledger_of
from torch_debugger.viewer.layers.looks import NUMBERS, Look, gather
from torch_debugger.viewer.layers.marks import findings_by_layer
from torch_debugger.viewer.layers.models import Models
from torch_debugger.viewer.layers.spreads import sources


def answer(asked: Asked) -> dict[str, Any]:
    return asked.of_run(lambda run: layer_of(run, asked.text("layer")))


def layer_of(run: Run, layer: str) -> dict[str, Any]:
    models, gathered = Models(run), gather(run, only=layer)
    curves = [_curve(key, gathered.looks.get(key, []), layer) for key in NUMBERS]
    known = [curve for curve in curves if curve is not None]
    if not known and models.module(layer) is None:
        raise UsageError(f"The run {run.name!r} has no layer {layer!r}.")
    return {
        "layer": layer,
        **_source(run, models, layer),
        "curves": known,
        "parameters": ledger_of(run, models, layer),
        "findings": _findings(run, layer),
        "spreads": sources(run, layer),
    }


def _source(run: Run, models: Models, layer: str) -> dict[str, Any]:
    module = models.module(layer)
    if module is None:
        return {"kind": None, "place": None, "settings": {}}
    folder = run.facts.run.folder if run.facts.run else None
    file = shown_path(module.place.file, folder) if module.place.file else None
    place = {"file": file, "line": module.place.line, "code": module.place.code} if file else None
    settings = {name: as_json(float(value)) for name, value in module.settings.items()}
    return {"kind": module.kind, "place": place, "settings": settings}


def _curve(key: str, looks: list[Look], layer: str) -> dict[str, Any] | None:
    grid = fill([look for look in looks if layer in look.layers], [layer])
    values = grid.values[0]
    measured = values != UNMEASURED
    if not measured.any():
        return None
    number, steps = NUMBERS[key], [step for step, seen in zip(grid.steps, measured, strict=True) if seen]
    chosen = thinned(values[measured])
    return {
        "key": key,
        "title": number.title,
        "unit": number.unit,
        "scale": number.scale,
        "says": number.says,
        "steps": [steps[place] for place in chosen],
        "values": [as_json(value) for value in values[measured][chosen].tolist()],
    }


def _findings(run: Run, layer: str) -> list[dict[str, Any]]:
    folder = run.facts.run.folder if run.facts.run else None
    about = findings_by_layer(run.findings, (layer,)).get(layer, [])
    return [finding_to_json(each, folder, None) for each in about]
