"""What the page asks of a run, as JSON values."""

from __future__ import annotations

from typing import Any

from torch_debugger.archive.run import Run
from torch_debugger.errors import UsageError
from torch_debugger.records import TensorRows
from torch_debugger.report.chapters import cause_index
from torch_debugger.report.json_form import finding_to_json
from torch_debugger.viewer.grids import as_json, layer_grid, thinned

# What a column says, for whoever chooses one.
KINDS = {
    "activation": "outputs of modules",
    "output_gradient": "gradients of outputs",
    "parameter": "weights and their gradients",
    "update": "updates",
    "range": "float16 ranges",
}


def findings_of(run: Run) -> dict[str, Any]:
    found, facts = run.findings, run.facts
    folder = facts.run.folder if facts.run else None
    return {
        "run": run.name,
        "status": run.status,
        "steps": run.steps,
        "script": facts.run.script if facts.run else None,
        "verdict": 0 if run.verdict is not None else None,
        "findings": [
            finding_to_json(each, folder, cause_index(found, place)) for place, each in enumerate(found)
        ],
        "hparams": {
            name: as_json(value) if type(value) is float else value for name, value in run.hparams.items()
        },
        "seeds": facts.seeds,
        "damage": run.damage,
    }


def layers_of(run: Run, kind: str, root: str, column: str) -> dict[str, Any]:
    """Without a kind: the tables there are. With one: the grid of one of its numbers."""
    if not kind:
        return {"tables": _tables(run)}
    grid = layer_grid(run.rows(kind, root or None), column)
    return {"kind": kind, "root": root, "column": column, **grid}


def scalars_of(run: Run, tag: str) -> dict[str, Any]:
    tags = run.tags.get("scalars", [])
    if not tag:
        return {"tags": tags}
    if tag not in tags:
        raise UsageError(f"The run {run.name!r} has no scalar {tag!r}.")
    curve = run.scalars(tag)
    chosen = thinned(curve.values)
    return {
        "tag": tag,
        "steps": curve.steps[chosen].tolist(),
        "values": [as_json(value) for value in curve.values[chosen].tolist()],
        "all_points": len(curve.values),
    }


def _tables(run: Run) -> list[dict[str, Any]]:
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for rows in run.records(TensorRows):
        if isinstance(rows, TensorRows) and rows.table.kind in KINDS:
            table = rows.table
            one = found.setdefault((table.kind, table.root), {"columns": {}, "steps": 0, "layers": 0})
            one["columns"] |= dict.fromkeys(table.columns)
            one["steps"] += 1
            one["layers"] = max(one["layers"], len(table.names))
    return [
        {"kind": kind, "root": root, "title": KINDS[kind], **one, "columns": list(one["columns"])}
        for (kind, root), one in found.items()
    ]
