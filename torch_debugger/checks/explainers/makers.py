"""Sizes that reach a constructor through the user's own function or class: double_conv(16, 8)."""

from __future__ import annotations

import ast
import functools

from torch_debugger.checks.explainers.calls import Argument, argument_of, calls_of, number_of
from torch_debugger.records import LayerFact, Place


def handed_in(layer: LayerFact, name: str, value: int) -> tuple[Argument, Place] | None:
    """The argument that gives `name` its value where the user's function is called, and that line.

    Only for a name that serves nothing else in the function: changing it must change this layer alone.
    """
    built = layer.construction
    if built is None or uses_of(layer, name) != 1:
        return None
    names = _parameters(built.scope)
    for owner in built.owners if name in names else ():
        calls = calls_of(owner.code or "", built.maker)
        argument = argument_of(calls[0], names.index(name), name) if len(calls) == 1 else None
        if argument is not None and number_of(argument.text) == value:
            return argument, owner
    return None


def uses_of(layer: LayerFact, name: str) -> int:
    """How often the function that builds the layer reads a name; 0 where that is not known."""
    function = _function(layer.construction.scope) if layer.construction else None
    names = [node for node in ast.walk(function) if isinstance(node, ast.Name)] if function else []
    return sum(node.id == name and isinstance(node.ctx, ast.Load) for node in names)


def _parameters(scope: str) -> list[str]:
    function = _function(scope)
    names = [argument.arg for argument in function.args.args] if function else []
    return names[1:] if names[:1] in (["self"], ["cls"]) else names


@functools.lru_cache(maxsize=64)
def _function(scope: str) -> ast.FunctionDef | None:
    try:
        body = ast.parse(scope).body
    except (SyntaxError, ValueError):
        return None
    return body[0] if body and isinstance(body[0], ast.FunctionDef) else None
