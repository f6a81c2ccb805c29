"""A model of a run: its graph laid out, and its modules with their shapes, parameters, FLOPs and findings.

`root` names the model; without it the largest is told. `roots` are all there are, with graphs of `add_graph`.
"""

from __future__ import annotations

from typing import Any

from torch_debugger.archive.run import Run
from torch_debugger.viewer.asked import Asked
from torch_debugger.viewer.models.health_numbers import numbers_of
from torch_debugger.viewer.models.known_models import chosen_model, models_of
from torch_debugger.viewer.models.layouts import layout_of
from torch_debugger.viewer.models.logged_graphs import graph_answer, names_of
from torch_debugger.viewer.models.module_tables import module_rows


def answer(asked: Asked) -> dict[str, Any]:
    return asked.of_run(lambda run: _model(run, asked.text("root")))


def _model(run: Run, root: str) -> dict[str, Any]:
    models = models_of(run)
    logged = names_of(run, list(models))
    roots = [*models, *logged]
    if not roots:
        return {"roots": [], "root": None}
    largest = (
        chosen_model(models, "").fact.root if models else next(iter(logged))
    )  # the one that is told unasked
    if (root or largest) in logged:
        name = root or largest
        return {"roots": roots, "largest": largest, **graph_answer(run, name, logged[name])}
    model = chosen_model(models, root)
    fact, flow, graph = model.fact, model.flow, model.graph
    return {
        "roots": roots,
        "largest": largest,
        "root": fact.root,
        "class": fact.kind,
        "step": flow.step if flow is not None else None,
        "note": graph.note,
        "drawing": layout_of(graph, flow),
        "modules": module_rows(model, run.findings, run.facts.run.folder if run.facts.run else None),
        "all_modules": len(fact.modules),
        "numbers": numbers_of(run, fact.root),
    }
