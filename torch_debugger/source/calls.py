"""Calls of a method in the user's source, with the variable they are made on."""

from __future__ import annotations

import ast
import functools
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from torch_debugger.records import Place
from torch_debugger.source.files import (
    class_source,
    class_sources,
    covers,
    is_user_file,
    model_sources,
    nodes_of,
    place_at,
    tree_of,
)
from torch_debugger.source.objects import own_attributes
from torch_debugger.source.statements import function_around
from torch_debugger.source.syntax import FunctionNode, calls_in, last_name, methods_of, nodes_in

if TYPE_CHECKING:
    from torch import nn


@functools.lru_cache(maxsize=256)
def calls_of(file: str | None, method: str) -> tuple[tuple[str, Place], ...]:
    """`self.model.eval()` at line 40 -> ("model", train.py:40), and a plain `grad(...)` -> ("", ...).

    In the order of their lines, and looked up once: a script does not change while it runs.
    """
    tree = tree_of(file)
    if tree is None or file is None:
        return ()
    calls = calls_in(tree, method)
    return tuple((last_name(getattr(call.func, "value", None)), place_at(file, call.lineno)) for call in calls)


def written_as(place: Place, name: str) -> str:
    """How a line can reach what is known by its last name: `self.optimizer`, where its function says so, or
    fills it elsewhere in the class."""
    tree = tree_of(place.file)
    if tree is None or place.line is None:
        return name
    scope = function_around(tree, place.line)
    inside = [node for node in ast.walk(scope) if last_name(node) == name]
    if any(isinstance(node, ast.Name) for node in inside):
        return name
    found = {ast.unparse(node) for node in inside}
    arguments = scope.args.args if isinstance(scope, FunctionNode) else []
    if not found and arguments and arguments[0].arg == "self":
        classes = (node for node in nodes_of(tree) if isinstance(node, ast.ClassDef) and covers(node, place.line))
        parts = (part for cls in classes for part in ast.walk(cls) if last_name(part) == name)
        found = {text for part in parts if (text := ast.unparse(part)) == f"self.{name}"}
    return found.pop() if len(found) == 1 else name


# A method that is named but not called: the line `optimizer.step`, without its parentheses.
def uncalled(file: str | None, method: str, owner: str = "") -> Place:
    """The one statement of a file that is nothing but `something.<method>`, of this owner if one is named."""
    lines = [
        node.lineno
        for node in nodes_in(file, ast.Expr)
        if isinstance(node.value, ast.Attribute) and node.value.attr == method
        if ast.unparse(node.value.value).endswith(owner)
    ]
    return place_at(file, lines[0]) if file and len(lines) == 1 else Place()


# Calls of some functions in the classes that a model is made of, and the sizes written in a view().
Shape = tuple[int, ...]


def first_call(modules: Iterable[nn.Module], names: tuple[str, ...]) -> Place:
    """The first call of one of these functions, by its line; an empty place where there is none."""
    places = [place_at(file, call.lineno) for file, cls in model_sources(modules) for call in calls_in(cls, *names)]
    return min(places, key=lambda place: place.line or 0) if places else Place()


def call_with_sizes(modules: Iterable[nn.Module], after: Shape, products: bool) -> Place:
    """The first view() or reshape() that can have made this shape. Without `products` none of its sizes
    may be one: x.view(steps, batch * heads, size) moves nothing, whatever the numbers happen to be."""
    owners = {type(part): part for module in modules for part in module.modules()}
    for cls, owner in owners.items():
        source = class_source(cls)
        own = {f"self.{name}": value for name, value in own_attributes(owner).items()} if source is not None else {}
        for call in calls_in(source[1], "view", "reshape") if source is not None else ():
            plain = products or not any(_is_product(size) for size in _written_sizes(call))
            if source is not None and plain and _can_make(call, after, own.get):
                return place_at(source[0], call.lineno)
    return Place()


def _is_product(size: ast.expr) -> bool:
    return isinstance(size, ast.BinOp) and isinstance(size.op, ast.Mult)


def call_in_file(file: str | None, after: Shape, numbers: dict[str, int]) -> Place:
    """The first one that can have made this shape, or that of one sample of it; `numbers` are variables."""
    tree = tree_of(file)
    for call in calls_in(tree, "view", "reshape") if tree is not None else ():
        is_method = isinstance(call.func, ast.Attribute)
        if file and is_method and any(_can_make(call, shape, numbers.get) for shape in (after, after[1:])):
            return place_at(file, call.lineno)
    return Place()


def _can_make(call: ast.Call, after: Shape, number: Callable[[str], object]) -> bool:
    """Whether the sizes in x.view(...) fit a shape; unknown ones do."""
    sizes = _written_sizes(call)
    pairs = zip(sizes, after, strict=False)
    return len(sizes) == len(after) and all(_number(size, number) in (None, -1, real) for size, real in pairs)


def _written_sizes(call: ast.Call) -> list[ast.expr]:
    """x.view(a, b, c), x.view((a, b, c)), torch.reshape(x, (a, b, c))"""
    last = call.args[-1] if call.args else None
    return list(last.elts) if isinstance(last, (ast.Tuple, ast.List)) else call.args


def _number(size: ast.expr, number: Callable[[str], object]) -> int | None:
    """-1, 3, a variable or self.heads; None where it cannot be told."""
    try:
        value: object = ast.literal_eval(size)
    except (ValueError, TypeError):
        value = number(ast.unparse(size))
    return value if type(value) is int else None


# The line that takes the last step of what a call gave: out[:, -1] after out, _ = self.rnn(x).
def last_step_taken(call: Place) -> Place:
    """The first such line from the call on, in its function; the call itself where there is none."""
    tree = tree_of(call.file)
    if tree is None or call.file is None or call.line is None:
        return call
    parts = ast.walk(function_around(tree, call.line))
    lines = [part.lineno for part in parts if isinstance(part, ast.Subscript) and _takes_last(part.slice)]
    later = [line for line in lines if line >= call.line]
    return place_at(call.file, min(later), call.module) if later else call


def _takes_last(index: ast.expr) -> bool:
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    begins = [part.lower if isinstance(part, ast.Slice) else part for part in parts]
    return any(part is not None and ast.unparse(part) == "-1" for part in begins)


# Whether the user's source ever uses an attribute of a class once it has been filled.
_SETUP = frozenset({"__init__", "reset_parameters", "_reset_parameters", "init_weights", "_init_weights"})
# Whoever walks over children may meet any of them.
_WALKS = frozenset({"children", "named_children", "modules", "named_modules", "_modules", "get_submodule", "__dict__"})


def is_never_read(owner: nn.Module, name: str) -> bool:
    """No line of the user's reads the attribute outside of what sets the module up. False where unsure."""
    sources = class_sources(type(owner).__mro__)
    if not any("forward" in methods_of(statement) for _, statement in sources):
        return False  # the forward is a library's
    if any(_is_dynamic(node) for _, statement in sources for node in ast.walk(statement)):
        return False
    script = getattr(sys.modules.get("__main__"), "__file__", None)
    files = {file for file, _ in sources} | ({script} if isinstance(script, str) else set())
    trees = [tree for file in files if is_user_file(file) and (tree := tree_of(file)) is not None]
    return not any(_reads(node, name) for tree in trees for node in _outside_setup(tree))


def called_twice(owner: nn.Module, name: str) -> tuple[str, Place] | None:
    """A sibling of the same class that forward calls twice, with its second call: what should stand there?"""
    source = class_source(type(owner))
    forward = methods_of(source[1]).get("forward") if source is not None else None
    if source is None or forward is None:
        return None
    unused, own = getattr(owner, name, None), forward.args.args[0].arg
    before: set[str] = set()
    # Of calls within each other, what is called first ends first.
    for call in sorted(calls_in(forward), key=lambda call: (call.lineno, call.end_col_offset or 0)):
        match call.func:
            case ast.Attribute(value=ast.Name(id=called_on), attr=sibling) if called_on == own:
                if sibling in before and type(getattr(owner, sibling, None)) is type(unused):
                    return sibling, place_at(source[0], call.lineno)
                before.add(sibling)
    return None


def _is_dynamic(node: ast.AST) -> bool:
    if isinstance(node, ast.Attribute):
        return node.attr in _WALKS
    match node:
        case ast.Call(func=ast.Name(id="getattr"), args=arguments):
            return len(arguments) < 2 or not isinstance(arguments[1], ast.Constant)
        case ast.Call(func=ast.Name(id="vars" | "eval")):
            return True
    return False


def _outside_setup(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if not (isinstance(child, ast.FunctionDef) and child.name in _SETUP):
            yield child
            yield from _outside_setup(child)


def _reads(node: ast.AST, name: str) -> bool:
    if isinstance(node, ast.Attribute):
        return node.attr == name and isinstance(node.ctx, ast.Load)
    return isinstance(node, ast.Constant) and node.value == name  # getattr(self, "aux"), a dictionary of layers
