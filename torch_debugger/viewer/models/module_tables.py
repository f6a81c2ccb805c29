"""The modules of a model as rows: for the panel beside the drawing, and for the table instead of it."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from torch_debugger.records import CallFact, Finding, ModuleFact, ParameterFact
from torch_debugger.report.source import shown_path
from torch_debugger.viewer.models.arithmetic import Arithmetic, Flops
from torch_debugger.viewer.models.known_models import KnownModel, sizes_of

MOST_MODULES = 3000
_MOST_PARAMETERS = 12  # told one by one
_MOST_SHAPES = 4


def module_rows(model: KnownModel, findings: list[Finding], folder: str | None) -> list[dict[str, Any]]:
    """In the order of definition; callers before what they call."""
    sizes, flops, calls = sizes_of(model.fact), Arithmetic(model.flow).by_path(), _calls(model)
    flops = _with_holders({model.full_path(path): each for path, each in flops.items()}, model)
    own = _own_parameters(model)
    told = defaultdict(list)
    for finding in findings:
        told[finding.where.module or ""].append(_finding(finding))
    rows = []
    for module in model.fact.modules[:MOST_MODULES]:
        made = calls.get(module.path, [])
        count = flops.get(module.path)
        rows.append(
            {
                "path": module.path,
                "class": module.kind,
                "parameters": sizes[module.path],
                "own": own.get(module.path, []),
                "calls": len(made) if model.flow is not None else None,
                "given": [list(shape) for shape in made[0].given[:_MOST_SHAPES]] if made else [],
                "made": [list(shape) for shape in made[0].made[:_MOST_SHAPES]] if made else [],
                "flops": count.known if count is not None else None,
                "missing": count.missing if count is not None else "",
                "findings": told.get(module.path, []),
                "place": _place(module, folder),
            }
        )
    return rows


def _with_holders(flops: dict[str, Flops], model: KnownModel) -> dict[str, Flops]:
    """Also for module lists, which are not called themselves: those of their members."""
    found = dict(flops)
    for module in reversed(model.fact.modules):
        above = module.path.rpartition(".")[0]
        if module.path in found and above and above not in flops:
            found[above] = found[above] + found[module.path] if above in found else found[module.path]
    return found


def _calls(model: KnownModel) -> dict[str, list[CallFact]]:
    found: dict[str, list[CallFact]] = defaultdict(list)
    if model.flow is not None:
        numbers = {call.scope: call for call in model.flow.calls}
        for scope in model.flow.graph.scopes:
            if scope.name in numbers:
                found[model.full_path(scope.path)].append(numbers[scope.name])
    return found


def _own_parameters(model: KnownModel) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for parameter in model.fact.parameters:
        path, _, name = parameter.path.rpartition(".")
        if len(found[path]) < _MOST_PARAMETERS:
            found[path].append(_parameter(name, parameter))
    return found


def _parameter(name: str, parameter: ParameterFact) -> dict[str, Any]:
    return {
        "name": name,
        "shape": list(parameter.shape),
        "dtype": parameter.dtype,
        "trainable": parameter.trainable,
    }


def _finding(finding: Finding) -> dict[str, Any]:
    return {"name": finding.name, "severity": finding.severity, "message": finding.message}


def _place(module: ModuleFact, folder: str | None) -> dict[str, Any] | None:
    place = module.place
    if place.file is None:
        return None
    return {"file": shown_path(place.file, folder), "line": place.line, "code": place.code}
