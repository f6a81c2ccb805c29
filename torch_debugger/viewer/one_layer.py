"""All that is known of one layer: its source, its numbers over time, its parameters, its findings."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from torch_debugger.log.run import Run
from torch_debugger.records import LedgerFact, OptimizerFact, TensorRows
from torch_debugger.report.json_and_markdown import finding_to_json
from torch_debugger.report.text import shown_path
from torch_debugger.system.errors import UsageError
from torch_debugger.viewer.layer_numbers import NUMBERS, LayerLook, Values, gather, only_layer, owner_of
from torch_debugger.viewer.layers import Models, fill, findings_by_layer
from torch_debugger.viewer.questions import UNMEASURED, Query, as_json, thinned


def answer_layer(query: Query) -> dict[str, Any]:
    return query.of_run(lambda run: layer_of(run, query.text("layer")))


def layer_of(run: Run, layer: str) -> dict[str, Any]:
    models, gathered = Models(run), gather(run, only=layer)
    curves = [_curve(key, gathered.looks.get(key, []), layer) for key in NUMBERS]
    known = [curve for curve in curves if curve is not None]
    if not known and models.module(layer) is None:
        raise UsageError(f"The run {run.name!r} has no layer {layer!r}.")
    folder = run.facts.run.folder if run.facts.run else None
    about = findings_by_layer(run.findings, (layer,)).get(layer, [])
    return {
        "layer": layer,
        **_source(run, models, layer),
        "curves": known,
        "parameters": ledger_of(run, models, layer),
        "findings": [finding_to_json(each, folder, None) for each in about],
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


def _curve(key: str, looks: list[LayerLook], layer: str) -> dict[str, Any] | None:
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


# How the values of one tensor of a layer were spread over the run: bars for each look.
def answer_spreads(query: Query) -> dict[str, Any]:
    kind, name = query.text("of"), query.text("name")
    if kind not in KINDS:
        raise UsageError(f"Spreads are of {', '.join(KINDS)}, not of {kind!r}.")
    return query.of_run(lambda run: _spreads(run, kind, name))


def _spreads(run: Run, kind: str, name: str) -> dict[str, Any]:
    steps, shares, values = looks_at(run, kind, name)
    return {"of": kind, "name": name, "steps": steps, **(drawn(shares, values) if steps else {})}


# The parameters of one layer: what they are, who trains them, and how they were at the last look.
_LEDGERS = ("parameter", "update")


def ledger_of(run: Run, models: Models, layer: str) -> list[dict[str, Any]]:
    fact = models.facts.get(models.root_of(layer))
    own = [each for each in fact.parameters if owner_of(each.path) == layer] if fact is not None else []
    looks, owners = _last_looks(run, layer), _owners(run)
    rows = {row.name: row for fact in run.records(LedgerFact) for row in fact.rows}
    found = []
    for each in own:
        row = rows.get(each.path)
        found.append(
            {
                "name": each.path,
                "shape": list(each.shape),
                "dtype": each.dtype,
                "device": each.device,
                "trainable": each.trainable,
                **looks.get(each.path, {}),
                **owners.get(each.path, {}),
                **({"gradient": row.gradient, "trainable": row.trainable} if row is not None else {}),
            }
        )
    return found


def _last_looks(run: Run, layer: str) -> dict[str, dict[str, Any]]:
    """By parameter: the norms at the last look, how far the last update moved it, and when one last did."""
    found: dict[str, dict[str, Any]] = {}
    narrow = only_layer(layer)
    for record in run.records(TensorRows):
        rows = narrow(record) if record.table.kind in _LEDGERS else None
        if rows is not None:
            for place, name in enumerate(rows.table.names):
                _note(found.setdefault(name, {}), rows, place)
    return found


def _note(known: dict[str, Any], rows: TensorRows, place: int) -> None:
    values = dict(zip(rows.table.columns, map(float, rows.values[place]), strict=True))
    if rows.table.kind == "parameter":
        known |= {"weight_norm": as_json(values["weight_norm"]), "grad_norm": as_json(values["grad_norm"])}
        known["looked_at"] = rows.step
    else:
        known |= {"ratio": as_json(values["ratio"]), "compared_at": rows.step}
        if values["change"] != 0:
            known["changed_at"] = rows.step


def _owners(run: Run) -> dict[str, dict[str, Any]]:
    """By parameter: the optimizer that holds it, its group where that is known, and the rate of that group."""
    facts = {fact.name: fact for fact in run.records(OptimizerFact)}
    several = len(facts) > 1
    return {
        name: {"optimizer": fact.name, "optimizer_kind": fact.kind, "groups": len(fact.groups)}
        | _group(run, fact, group, several)
        for fact in facts.values()
        for name, group in zip(fact.parameters, _groups(fact), strict=True)
    }


def _groups(fact: OptimizerFact) -> list[int | None]:
    if sum(fact.sizes) == len(fact.parameters):
        return [group for group, size in enumerate(fact.sizes) for _ in range(size)]
    return [0 if len(fact.groups) == 1 else None] * len(fact.parameters)


def _group(run: Run, fact: OptimizerFact, group: int | None, several: bool) -> dict[str, Any]:
    if group is None:
        return {}
    tag = f"lr/{fact.name}/{group}" if several else f"lr/{group}"
    if tag in run.tags.get("scalars", []):
        rate = float(run.scalars(tag).values[-1])
    else:
        rate = fact.groups[group].get("lr", 0.0)
    return {"group": group, "lr": as_json(rate)}


# How a layer's values were spread at each look, as bars of one common width.
KINDS = {"activation_spread": "Outputs", "weight_spread": "Weights", "gradient_spread": "Gradients"}
BINS = 48
_INNER = (0.02, 0.98)  # what lies outside at every look is told, not drawn


def sources(run: Run, layer: str) -> list[dict[str, str]]:
    """What there is of a layer: its outputs, and each of its parameters."""
    found: dict[tuple[str, str], None] = {}
    for rows in run.records(TensorRows):
        if rows.table.kind in KINDS:
            for name in rows.table.names:
                if name == layer or owner_of(name) == layer:
                    found[rows.table.kind, name] = None
    kinds = list(KINDS)
    ordered = sorted(found, key=lambda each: kinds.index(each[0]))
    return [
        {"of": kind, "name": name, "title": _title(kind, name, layer)}
        for kind, name in ordered
        if (kind == "activation_spread") == (name == layer)
    ]


def _title(kind: str, name: str, layer: str) -> str:
    return KINDS[kind] if name == layer else f"{KINDS[kind]}: {name.removeprefix(layer + '.')}"


def looks_at(run: Run, kind: str, name: str) -> tuple[list[int], Values, Values]:
    """The steps, the quantiles' shares, and at each step the values at these shares."""
    steps: list[int] = []
    values: list[NDArray[np.float32]] = []
    shares: Values = np.array([])
    for rows in run.rows(kind):
        if name in rows.table.names and rows.step not in steps:
            steps.append(rows.step)
            values.append(rows.values[rows.table.names.index(name)])
            shares = np.array(rows.table.columns, np.float64)
    return steps, shares, np.array(values, np.float64).reshape(len(steps), len(shares))


def drawn(shares: Values, values: Values) -> dict[str, Any]:
    """Edges, and for each look the part of its values between two of them, and of those that are nowhere."""
    low, high = _ends(shares, values)
    edges = np.linspace(low, high, BINS + 1)
    parts = [_parts(shares, row, edges) for row in values]
    return {
        "edges": [float(f"{edge:.5g}") for edge in edges],
        "parts": [[round(float(part), 4) for part in bars] for bars, _, _ in parts],
        "outside": [round(outside, 4) for _, outside, _ in parts],
        "not_finite": [round(lost, 4) for _, _, lost in parts],
    }


def _ends(shares: Values, values: Values) -> tuple[float, float]:
    inner = values[:, (shares >= _INNER[0]) & (shares <= _INNER[1])]
    known = inner[np.isfinite(inner)]
    low, high = (float(known.min()), float(known.max())) if len(known) else (-1.0, 1.0)
    wide = 0.05 * (high - low) or 0.5 * abs(high) or 0.5
    return low - wide, high + wide


def _parts(shares: Values, row: Values, edges: Values) -> tuple[Values, float, float]:
    """Between two quantiles values are taken to lie evenly; where both are the same, all lie on that number."""
    bars, lost = np.zeros(len(edges) - 1), 0.0
    for left, right, mass in zip(row[:-1], row[1:], np.diff(shares), strict=True):
        if not np.isfinite(left) or not np.isfinite(right):
            lost += float(mass)
        elif right > left:
            covered = np.minimum(edges[1:], right) - np.maximum(edges[:-1], left)
            bars += mass * np.maximum(covered, 0) / (right - left)
        elif edges[0] <= left <= edges[-1]:
            bars[min(int(np.searchsorted(edges, left, "right")) - 1, len(bars) - 1)] += mass
    return bars, max(0.0, 1.0 - lost - float(bars.sum())), lost
