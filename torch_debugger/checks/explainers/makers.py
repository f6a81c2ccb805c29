"""Sizes that reach a constructor through the user's own functions and classes: double_conv(16, 8)."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Sequence

from torch_debugger.checks.explainers.calls import (
    Argument,
    argument_of,
    calls_of,
    number_of,
    one_line,
    parse_expression,
)
from torch_debugger.records import Construction, LayerFact, Place

_LOOPS = (ast.For, ast.While, ast.ListComp, ast.GeneratorExp, ast.DictComp)


def handed_in(layer: LayerFact, name: str, value: int, shared: bool) -> tuple[Argument, Place] | None:
    """The number that gives `name` its value: where the user's function is called, or where it is written.

    Only through names that serve nothing else on the way, unless the size is `shared` by nature, as the
    number of classes is: the change must reach this layer alone.
    """
    return _handed(layer.constructions, name, value, shared)


def _handed(
    chain: Sequence[Construction], name: str, value: int, shared: bool
) -> tuple[Argument, Place] | None:
    names = _parameters(chain[0].scope) if chain else []
    if name not in names:
        return _written(chain[0], name, value, shared) if chain else None
    if _uses(chain[0].scope, name) != 1 and not shared:
        return None
    for index, outer in enumerate(chain[1:], 1):
        calls = calls_of(outer.place.code or "", chain[0].maker)
        argument = argument_of(calls[0], names.index(name), name) if len(calls) == 1 else None
        if argument is not None:
            found = number_of(argument.text) == value
            return (argument, outer.place) if found else _handed(chain[index:], argument.text, value, shared)
        if calls:
            return _written(chain[0], name, value, shared)  # its default
    return None


def _written(built: Construction, expression: str, value: int, shared: bool) -> tuple[Argument, Place] | None:
    """HIDDEN, config["hidden"], cfg.hidden: the number behind it, if the file writes it in one place."""
    if not isinstance(parse_expression(expression), ast.Name | ast.Attribute | ast.Subscript):
        return None
    name = re.findall(r"[A-Za-z_]\w*", expression)[-1]
    for number in built.numbers:
        if (number.name, number.value) == (name, value) and (shared or number.uses == 1):
            start = len(number.text) - len(str(value))
            return Argument(number.text, start, len(number.text)), number.place
    return None


def uses_of(layer: LayerFact, name: str) -> int:
    """How often the function that builds the layer reads a name; 0 where that is not known."""
    return _uses(layer.constructions[0].scope, name) if layer.constructions else 0


def is_repeated(layer: LayerFact, call: str) -> bool:
    """Whether the call stands in a loop or a comprehension: a change of it would reach other layers too."""
    function = _function(layer.constructions[0].scope) if layer.constructions else None
    loops = [node for node in ast.walk(function) if isinstance(node, _LOOPS)] if function else []
    inside = [part for loop in loops for part in ast.walk(loop) if isinstance(part, ast.Call)]
    return any(ast.unparse(part) == one_line(call) for part in inside)


def _uses(scope: str, name: str) -> int:
    function = _function(scope)
    names = [node for node in ast.walk(function) if isinstance(node, ast.Name)] if function else []
    return sum(node.id == name and isinstance(node.ctx, ast.Load) for node in names)


def _parameters(scope: str) -> list[str]:
    function = _function(scope)
    names = [argument.arg for argument in function.args.args] if function else []
    return names[1:] if names[:1] in (["self"], ["cls"]) else names


def defaults_of(scope: str) -> dict[str, int | None]:
    """The arguments that the user's function takes, with those defaults that are plain numbers."""
    function = _function(scope)
    written = [number_of(ast.unparse(node)) for node in function.args.defaults] if function else []
    names = _parameters(scope)
    return dict(zip(names, [*[None] * (len(names) - len(written)), *written], strict=False))


@functools.lru_cache(maxsize=64)
def _function(scope: str) -> ast.FunctionDef | None:
    try:
        body = ast.parse(scope).body
    except (SyntaxError, ValueError):
        return None
    return body[0] if body and isinstance(body[0], ast.FunctionDef) else None
