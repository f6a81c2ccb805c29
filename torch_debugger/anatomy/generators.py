"""Random generators that a dataset, or a transform of its, keeps as an attribute and draws from."""

from __future__ import annotations

import ast
import random
from dataclasses import dataclass

import numpy
import torch

from torch_debugger.anatomy.dataset_parts import asked_by_workers, dataset_parts, own_attribute_of
from torch_debugger.anatomy.kinds import is_a
from torch_debugger.anatomy.sources import class_source, place_at
from torch_debugger.anatomy.statements import attribute_place
from torch_debugger.records import Place

_KINDS = (numpy.random.Generator, numpy.random.RandomState, random.Random, torch.Generator)


@dataclass(frozen=True)
class KeptGenerator:
    owner: str  # the class
    attribute: str
    kind: str
    place: Place  # the line that makes it
    drawn: Place  # the first line that draws from it where a sample is made


def kept_generators(dataset: object) -> list[KeptGenerator]:
    found = [_found(owner, name) for owner in dataset_parts(dataset) for name in _generators(owner)]
    return [each for each in found if each is not None]


def _generators(owner: object) -> list[str]:
    held = vars(owner) if hasattr(owner, "__dict__") else {}
    return [name for name, value in held.items() if is_a(value, _KINDS)]


def _found(owner: object, attribute: str) -> KeptGenerator | None:
    source = class_source(type(owner))
    if source is None:
        return None
    file, statement = source
    if any(name in ("get_worker_info", "worker_info") for name in _names(statement)):
        return None  # it asks which worker it is
    parts = [part for method in asked_by_workers(statement) for part in ast.walk(method)]
    uses = [part for part in parts if isinstance(part, ast.Attribute) and own_attribute_of(part) == attribute]
    if not uses or any(isinstance(use.ctx, ast.Store) for use in uses):
        return None
    kind = type(getattr(owner, attribute)).__name__
    made = attribute_place(type(owner), attribute) or Place()
    return KeptGenerator(
        type(owner).__name__, attribute, kind, made, place_at(file, min(use.lineno for use in uses))
    )


def _names(node: ast.AST) -> set[str]:
    parts = list(ast.walk(node))
    attributes = {part.attr for part in parts if isinstance(part, ast.Attribute)}
    return attributes | {part.id for part in parts if isinstance(part, ast.Name)}
