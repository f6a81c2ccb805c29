"""The parameters of one layer: what they are, who trains them, and how they were at the last look."""

from __future__ import annotations

from typing import Any

from torch_debugger.archive.run import Run
from torch_debugger.records import LedgerFact, LedgerRow, OptimizerFact, ParameterFact, TensorRows
from torch_debugger.viewer.grids import as_json
from torch_debugger.viewer.layers.models import Models
from torch_debugger.viewer.layers.parameters import owner_of
from torch_debugger.viewer.layers.tables import only_layer

_LEDGERS = ("parameter", "update")


def ledger_of(run: Run, models: Models, layer: str) -> list[dict[str, Any]]:
    fact = models.facts.get(models.root_of(layer))
    own = [each for each in fact.parameters if owner_of(each.path) == layer] if fact is not None else []
    looks, rows, owners = _last_looks(run, layer), _ledger_rows(run), _owners(run)
    return [
        {
            **_described(each),
            **looks.get(each.path, {}),
            **owners.get(each.path, {}),
            **_state(rows.get(each.path)),
        }
        for each in own
    ]


def _described(fact: ParameterFact) -> dict[str, Any]:
    return {
        "name": fact.path,
        "shape": list(fact.shape),
        "dtype": fact.dtype,
        "device": fact.device,
        "trainable": fact.trainable,
    }


def _state(row: LedgerRow | None) -> dict[str, Any]:
    return {"gradient": row.gradient, "trainable": row.trainable} if row is not None else {}


def _last_looks(run: Run, layer: str) -> dict[str, dict[str, Any]]:
    """By parameter: the norms at the last look, how far the last update moved it, and when one last did."""
    found: dict[str, dict[str, Any]] = {}
    narrow = only_layer(layer)
    for record in run.records(TensorRows):
        rows = narrow(record) if isinstance(record, TensorRows) and record.table.kind in _LEDGERS else None
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


def _ledger_rows(run: Run) -> dict[str, LedgerRow]:
    facts = [fact for fact in run.records(LedgerFact) if isinstance(fact, LedgerFact)]
    return {row.name: row for fact in facts for row in fact.rows}


def _owners(run: Run) -> dict[str, dict[str, Any]]:
    """By parameter: the optimizer that holds it, its group where that is known, and the rate of that group."""
    facts = {fact.name: fact for fact in run.records(OptimizerFact) if isinstance(fact, OptimizerFact)}
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
