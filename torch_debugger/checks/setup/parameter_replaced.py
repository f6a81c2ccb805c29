"""TD150: a parameter is replaced while it trains, and its optimizer keeps the old one."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterable

from torch_debugger.checks.base import Check
from torch_debugger.checks.cycle_streaks import call_at
from torch_debugger.checks.state import RunState
from torch_debugger.records import Edit, Finding, Place, Record, ReplacedParameter


class ParameterReplaced(Check):
    """A parameter is replaced by a new one during the training, again and again.

    Symptom:
        One layer follows the training only by what replaces it; its optimizer state never grows, and what the
        optimizer does to it is lost.
    Evidence:
        At several looks the attribute of one and the same module held another object than at the last, where
        an optimizer trained the first one; the loss is computed with the new one, and no optimizer holds it.
        Where it is replaced between forward and backward, the graph of the loss ends in the old object, and the
        new one gets no gradient at all.
    Fix:
        Write the new values into the parameter: `with torch.no_grad(): layer.weight.copy_(values)`, after
        `optimizer.step()`.
    Known limits:
        A parameter that is replaced once is reported as parameters-not-in-optimizer. Replacements that no line
        of the script makes by an assignment are left to the library that makes them. So are parameters that no
        gradient trains (moving averages, class means) and those of functional_call.
    """

    id = "TD150"
    name = "parameter-replaced"
    title = "a parameter is replaced by a new object while it trains"
    reads = (ReplacedParameter,)
    explains = (
        "parameters-not-in-optimizer",
        "unused-parameters",
        "optimizer-holds-stale-parameters",
        "graph-cut",
    )

    looks_needed = 2  # the first may be the one change that a new optimizer follows

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        assert isinstance(record, ReplacedParameter)
        if record.looks == self.looks_needed:
            yield self._judge(record)

    def _judge(self, fact: ReplacedParameter) -> Finding:
        line = call_at(fact.place, f"{fact.name} = nn.Parameter(...)")
        happens = (
            "the backward() of the same step reaches the old one, so the new one gets no gradient"
            if fact.in_step
            else "the optimizer still holds the first one, so none of its updates reaches the model"
        )
        return self.finding(
            severity="error",
            confidence=0.93,
            message=(
                f"{line} puts a new parameter of {fact.elements:,} values in the place of `{fact.name}` in "
                f"every step looked at: {happens}."
            ),
            why=(
                "A graph and an optimizer know a parameter as an object, not by its name. An assignment makes "
                "the module use another object; what was given to the optimizer stays as it was."
            ),
            fix=(
                f"Write into the parameter that is there, after the update: `with torch.no_grad(): "
                f"{fact.name}.copy_(...)`."
            ),
            where=dataclasses.replace(fact.place, module=fact.name),
            first_step=max(1, fact.step - fact.looks + 1),
            last_step=fact.step,
            evidence={
                "parameter": fact.name,
                "values": float(fact.elements),
                "looks": float(fact.looks),
                "replaced": "between forward and backward" if fact.in_step else "between steps",
            },
            edit=None if fact.in_step else _in_place(fact.place),
        )


def _in_place(place: Place) -> Edit | None:
    """`x.weight = nn.Parameter(values)` as a write; before a backward the line would have to move as well."""
    try:
        statements = ast.parse(place.code or "").body
    except SyntaxError:
        return None
    match statements:
        case [ast.Assign(targets=[ast.Attribute() as target], value=ast.Call(args=[values]) as call)]:
            if place.file and place.line and ast.unparse(call.func).endswith("Parameter"):
                write = f"{ast.unparse(target)}.copy_({ast.unparse(values)})"
                return Edit(place.file, place.line, place.code or "", f"with torch.no_grad():\n    {write}")
    return None
