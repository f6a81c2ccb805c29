"""`assert all(p.grad is not None for p in model.parameters())`: the first parameter that has none."""

from __future__ import annotations

import ast

from torch import nn

from torch_debugger.anatomy.kinds import is_a
from torch_debugger.anatomy.sources import place_at
from torch_debugger.probes.crash_conditions import condition_at
from torch_debugger.probes.examiners.absent_gradients import of_gradient
from torch_debugger.probes.examiners.reading import value_of
from torch_debugger.probes.examiners.scene import Scene
from torch_debugger.records.evidence.absent_values import AbsentValue


def examine_asserted_gradients(scene: Scene) -> AbsentValue | None:
    seen = scene.innermost
    condition = condition_at(seen) if seen is not None and seen.user else None
    if seen is None or condition is None or not condition.asserted:
        return None
    asked = _asked(condition.test)
    model = value_of(seen, asked[1]) if asked is not None else None
    if asked is None or not is_a(model, nn.Module):
        return None
    parameter = next((each for each in model.parameters() if each.grad is None), None)
    if parameter is None:
        return None
    name = asked[0]
    found = AbsentValue(f"{name}.grad", place_at(seen.file, seen.line), "grad", tensor=name)
    return of_gradient(scene, seen, found, parameter)


def _asked(test: ast.expr) -> tuple[str, ast.expr] | None:
    """The loop's name for a parameter, and the expression of the model, of a test of this very form."""
    if not isinstance(test, ast.Call) or ast.unparse(test.func) != "all" or len(test.args) != 1:
        return None
    loop = test.args[0]
    if not isinstance(loop, (ast.GeneratorExp, ast.ListComp)) or len(loop.generators) != 1:
        return None
    turn = loop.generators[0]
    source = turn.iter.func if isinstance(turn.iter, ast.Call) and not turn.iter.args else None
    if not isinstance(source, ast.Attribute) or turn.ifs:
        return None
    target: ast.expr = turn.target
    if source.attr == "named_parameters" and isinstance(target, ast.Tuple) and len(target.elts) == 2:
        target = target.elts[1]
    elif source.attr != "parameters":
        return None
    if not isinstance(target, ast.Name) or ast.unparse(loop.elt) != f"{target.id}.grad is not None":
        return None
    return target.id, source.value
