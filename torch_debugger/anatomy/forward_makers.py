"""Calls in a forward method that make parameters: nn.Parameter(...), nn.Linear(...), a module of the user's."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from torch import nn

from torch_debugger.anatomy.sources import class_source, nodes_of, place_at, tree_of
from torch_debugger.records import Place

_WITH_PARAMETERS = re.compile(
    r"Parameter|Linear|Bilinear|Conv(Transpose)?[123]d|Embedding(Bag)?|LSTM(Cell)?|GRU(Cell)?|RNN(Cell)?|PReLU"
    r"|\w*Norm([123]d)?|MultiheadAttention|Transformer\w*"
)


@dataclass(frozen=True)
class Maker:
    owner: str  # the class
    call: str  # nn.Linear
    place: Place


def forward_makers(module: nn.Module) -> list[Maker]:
    """In the classes of a model, the owner's own first."""
    classes = dict.fromkeys(type(child) for child in module.modules())
    return [maker for cls in classes for maker in _of_class(cls)]


def _of_class(cls: type) -> Iterator[Maker]:
    source = class_source(cls)
    if source is None:
        return
    file, statement = source
    own = _module_classes(tree_of(file))
    for method in statement.body:
        if isinstance(method, ast.FunctionDef) and method.name == "forward":
            for call in (node for node in ast.walk(method) if isinstance(node, ast.Call)):
                name = ast.unparse(call.func).rpartition(".")[2]
                if _WITH_PARAMETERS.fullmatch(name) or name in own:
                    yield Maker(cls.__name__, ast.unparse(call.func), place_at(file, call.lineno))


def _module_classes(tree: ast.Module | None) -> set[str]:
    classes = [node for node in nodes_of(tree) if isinstance(node, ast.ClassDef)] if tree is not None else []
    return {node.name for node in classes if any("Module" in ast.unparse(base) for base in node.bases)}
