"""The hyperparameters of a program, found in its own variables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from torch_debugger.records import HparamsFact, OptimizerFact
from torch_debugger.records.surroundings import HparamValue
from torch_debugger.surroundings.configs import MOST_VALUES, constants, flatten, is_config
from torch_debugger.surroundings.objects import instance_dict

_MOST_OBJECTS = 12
_MOST_NAMES = 5000
CONSTANTS = "constants"


def find_hparams(scopes: Sequence[Mapping[str, Any]], step: int) -> list[HparamsFact]:
    """`scopes` are variables by name, the innermost frame's first. Each object is told once."""
    facts: list[HparamsFact] = []
    seen: set[int] = set()
    numbers: dict[str, HparamValue] = {}
    for scope in scopes:
        numbers = constants(scope) | numbers
        for name, value in _variables(scope):
            if len(facts) < _MOST_OBJECTS and id(value) not in seen and is_config(name.split(".")[-1], value):
                seen.add(id(value))
                values = flatten(value)
                facts += [HparamsFact(values, name, step)] if values else []
    return [*facts, HparamsFact(numbers, CONSTANTS, step)] if numbers else facts


def optimizer_hparams(optimizers: Sequence[OptimizerFact], step: int) -> list[HparamsFact]:
    """The optimizers' settings; those of later groups only where they differ from the first's."""
    facts: list[HparamsFact] = []
    for fact in optimizers[:_MOST_OBJECTS]:
        groups = fact.settings
        first = groups[0] if groups else {}
        values: dict[str, HparamValue] = {f"{fact.name}.kind": fact.kind}
        values |= {f"{fact.name}.{key}": item for key, item in first.items()}
        for number, group in enumerate(groups[1:], 1):
            other = {key: item for key, item in group.items() if item != first.get(key)}
            values |= {f"{fact.name}.groups.{number}.{key}": item for key, item in other.items()}
        facts.append(HparamsFact(dict(list(values.items())[:MOST_VALUES]), fact.name, step))
    return facts


def _variables(scope: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in list(scope.items())[:_MOST_NAMES]:
        if not name.startswith("_"):
            yield name, value
    if "self" in scope:  # a trainer keeps its settings
        for name, value in instance_dict(scope["self"]).items():
            yield f"self.{name}", value
