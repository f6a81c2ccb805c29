"""A class of the user's as its source has it: its methods, and what its __init__ does about its base."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from torch_debugger.anatomy.sources import class_source, place_at, tree_of
from torch_debugger.records import Place
from torch_debugger.records.evidence.building import MethodFact


@dataclass(frozen=True)
class ClassSource:
    file: str
    node: ast.ClassDef

    @property
    def place(self) -> Place:
        return place_at(self.file, self.node.lineno)

    @property
    def base(self) -> str:
        """The first base class as it is written: nn.Module"""
        return ast.unparse(self.node.bases[0]) if self.node.bases else ""

    def methods(self) -> list[ast.FunctionDef]:
        return [node for node in self.node.body if isinstance(node, ast.FunctionDef)]

    def method(self, name: str) -> ast.FunctionDef | None:
        return next((node for node in self.methods() if node.name == name), None)

    def fact(self, method: ast.FunctionDef, inside: str = "") -> MethodFact:
        return MethodFact(method.name, place_at(self.file, method.lineno), inside, filled_by(method))

    def nested(self, name: str) -> MethodFact | None:
        """A function of this name that stands inside a method."""
        for method in self.methods():
            for node in ast.walk(method):
                if isinstance(node, ast.FunctionDef) and node is not method and node.name == name:
                    return self.fact(node, method.name)
        return None

    def outside(self, name: str) -> MethodFact | None:
        """A function of this name that takes self and stands after the class, at the file's own level."""
        tree = tree_of(self.file)
        for node in tree.body if tree else ():
            if isinstance(node, ast.FunctionDef) and node.name == name and node.lineno > self.node.lineno:
                arguments = node.args.args
                if arguments and arguments[0].arg == "self":
                    return self.fact(node, "<module>")
        return None


def source_of(cls: type) -> ClassSource | None:
    found = class_source(cls)
    return ClassSource(*found) if found is not None else None


def filled_by(method: ast.FunctionDef) -> tuple[str, ...]:
    """The attributes of its first argument that a method assigns."""
    own = method.args.args[0].arg if method.args.args else ""
    names = [
        node.attr
        for node in ast.walk(method)
        if isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Store)
        and isinstance(node.value, ast.Name)
        and node.value.id == own
    ]
    return tuple(dict.fromkeys(names))


def first_statement(method: ast.FunctionDef) -> ast.stmt:
    """The first one after the docstring."""
    body = method.body
    if len(body) > 1 and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        return body[1]
    return body[0]


def base_calls(method: ast.FunctionDef) -> Iterator[ast.Attribute]:
    """Where a method names the __init__ of a base class, called or not: super().__init__, nn.Module.__init__"""
    for node in ast.walk(method):
        if isinstance(node, ast.Attribute) and node.attr == "__init__":
            yield node


def is_called(method: ast.FunctionDef, attribute: ast.Attribute) -> bool:
    return any(isinstance(node, ast.Call) and node.func is attribute for node in ast.walk(method))
