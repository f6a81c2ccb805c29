"""Whether the source proves that a tensor would be on the CPU on a machine with an accelerator too.

The rehearsal runs with flags that this machine has set: `use_cuda` is False here, so a branch that
would move the tensor is not taken. Where the source holds such a way out, nothing is proven.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

import torch
from torch import nn

from torch_debugger.source.device_placement import (
    DEVICES,
    MOVES,
    Assignment,
    Following,
    assignments,
    calls_a_mover,
    mentions,
    name_of,
    sets_default_device,
    targets,
)
from torch_debugger.source.files import class_source, tree_of, user_trees
from torch_debugger.source.objects import is_a, is_one_of
from torch_debugger.source.syntax import function_in
from torch_debugger.source.variables import VariablesAt

FrameLine = tuple[str, int]  # file, line

_DEFINITIONS = (ast.FunctionDef, ast.ClassDef)


def is_proven(made_at: FrameLine, used_at: FrameLine, modules: Collection[str] = ()) -> bool:
    """Whether the tensor made at one line and used at another could not have been moved. A call of one of the
    `modules` moves nothing: what they are given met their weights."""
    tree = tree_of(made_at[0])
    if tree is None or sets_default_device(tree):
        return False
    statements = [*statements_at(tree, made_at[1])]
    later: list[Assignment] = []  # other assignments to the same names, in the function around this line
    if made_at != used_at:
        made = [each for each in statements if isinstance(each, Assignment)]
        names = {name_of(target) for each in made for target in targets(each) if isinstance(target.ctx, ast.Store)}
        around = [node for node in assignments(function_in(tree, made_at[1]) or tree) if node not in made]
        later = [node for node in around if names & {name_of(target) for target in targets(node)}]
    named = any(mentions(statement, DEVICES) for statement in statements)
    moved = any(mentions(statement, DEVICES | MOVES) for statement in later)
    used_in = tree_of(used_at[0]) or tree
    passed = [*statements, *later, *statements_at(used_in, used_at[1])]
    return bool(statements) and not (named or moved or any(calls_a_mover(each, tree, modules) for each in passed))


def left_behind(root: nn.Module) -> dict[int, FrameLine]:
    """Plain tensors set in `__init__` that `.to(device)` does not move, with the line that sets each."""
    return set_in_constructors(root.modules())


def set_in_constructors(objects: Iterable[Any]) -> dict[int, FrameLine]:
    """The same of whatever objects, whose attributes nothing moves but the user's own lines."""
    found: dict[int, FrameLine] = {}
    for each in objects:
        for name, value in vars(each).items():
            items = value if isinstance(value, (tuple, list)) else (value,)
            tensors = [item for item in items if isinstance(item, torch.Tensor)]
            line = _constructor_line(type(each), name) if tensors else None
            found |= {id(tensor): line for tensor in tensors if line}
    return found


def unregistered_layers(root: nn.Module) -> dict[int, FrameLine]:
    """Weights of layers in plain lists and dictionaries, which `.to(device)` does not move either."""
    moved = {id(each) for each in (*root.parameters(), *root.buffers())}
    found: dict[int, FrameLine] = {}
    for module in root.modules():
        for name, layers in plain_layers(module):
            # a line or a loop, of the script or of the class's file, may speak both of it and of a move
            files = [file for file, _ in filter(None, map(class_source, type(module).__mro__))]
            nodes = (node for tree in (script_tree(), *map(tree_of, files)) if tree for node in ast.walk(tree))
            small = (each for each in nodes if isinstance(each, ast.stmt) and not isinstance(each, _DEFINITIONS))
            by_hand = any(mentions(each, frozenset({name})) and mentions(each, MOVES) for each in small)
            line = None if by_hand else _constructor_line(type(module), name)
            weights = [each for layer in layers.values() for each in (*layer.parameters(), *layer.buffers())]
            found |= {id(each): line for each in weights if line and id(each) not in moved}
    return found


def plain_layers(module: nn.Module) -> Iterator[tuple[str, dict[Any, nn.Module]]]:
    """Attributes that hold modules in a list or a dictionary of Python's: their names, and what they hold."""
    for name, value in vars(module).items():
        pairs = enumerate(value) if isinstance(value, (tuple, list)) else value.items() if type(value) is dict else ()
        layers = {key: each for key, each in pairs if isinstance(each, nn.Module)}
        if layers and name != "_modules":
            yield name, layers


def script_tree() -> ast.Module | None:
    return tree_of(getattr(sys.modules.get("__main__"), "__file__", None) or "")


def _constructor_line(cls: type, attribute: str) -> FrameLine | None:
    """The line of an `__init__` that alone sets this attribute, to a value that was never on a device."""
    family = {each.__name__ for each in cls.__mro__}
    for file, statement in filter(None, map(class_source, cls.__mro__)):
        tree = tree_of(file)
        if tree is None or sets_default_device(tree):
            return None
        setting: list[Assignment] = []
        for one in (tree, *(other for other in user_trees() if other is not tree)):
            others = [node for node in ast.walk(one) if isinstance(node, ast.ClassDef) and node.name not in family]
            theirs = {id(node) for other in others for node in ast.walk(other)}
            for each in assignments(one):
                names = [target.attr for target in targets(each) if isinstance(target, ast.Attribute)]
                setting += [each] if attribute in names and id(each) not in theirs else []
        begun = [each for each in statement.body if isinstance(each, ast.FunctionDef) and each.name == "__init__"]
        if any(node in setting for each in begun for node in ast.walk(each)):
            first, script = setting[0], script_tree()
            following = Following([tree] if script is None or script is tree else [tree, script])
            value = first.value if len(setting) == 1 else None
            proven = value is not None and following.untouched(value, tree, first.lineno)
            return (file, first.lineno) if proven else None
    return None


def statements_at(tree: ast.Module, line: int) -> Iterator[ast.stmt]:
    """The simple statement at this line: no block, whose other lines are another matter."""
    statements = (node for node in ast.walk(tree) if isinstance(node, ast.stmt))
    for node in statements:
        if not hasattr(node, "body") and node.lineno <= line <= (node.end_lineno or node.lineno):
            yield node


_DEEPEST = 4
_MOST_ITEMS = 16


def kept_on_the_cpu(moments: Sequence[VariablesAt]) -> dict[int, FrameLine]:
    """Those that no line of the user's moves, with the line of the `__init__` that makes each."""
    seen: dict[int, Any] = {}
    for moment in moments:
        for value in moment.variables.values():
            _walk(value, seen, 0)
    return set_in_constructors(seen.values())


def _walk(value: Any, seen: dict[int, Any], depth: int) -> None:
    """The objects of the user's classes in there: none of the user's code runs for it."""
    if depth > _DEEPEST or id(value) in seen or is_a(value, (torch.Tensor, type)):
        return
    attributes = getattr(value, "__dict__", None)
    parts: list[Any] = []
    if is_one_of(value, (list, tuple, dict)):
        parts = [*(value.values() if type(value) is dict else value)][:_MOST_ITEMS]
    elif type(attributes) is dict and class_source(type(value)) is not None:
        seen[id(value)] = value
        parts = [*attributes.values()]
    for each in parts:
        _walk(each, seen, depth + 1)
