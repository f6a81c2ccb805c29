"""The line that puts another parameter, or a new layer, in the place of one that was there."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from types import FrameType
from typing import Any

from torch import nn

from torch_debugger.records import Place
from torch_debugger.source.files import class_source, covers, model_sources, nodes_of, place_at, tree_of
from torch_debugger.source.frames import locals_of, place_of
from torch_debugger.source.objects import classes_of, is_a, name_of_class
from torch_debugger.source.statements import (
    attribute_place,
    condition_around,
    function_around,
    innermost_loop,
    surroundings_of,
)
from torch_debugger.source.syntax import called_name, calls_in, dotted, last_name, methods_of, nodes_in

_BUILDERS = frozenset({"__init__", "setup", "build", "reset_parameters", "configure_model"})


def parameter_line(name: str, model: nn.Module, files: tuple[str, ...], frame: FrameType | None) -> Place:
    """Of head.weight: `anything.weight = nn.Parameter(...)`, else `anything.head = nn.Linear(...)`.

    Only lines that may run again and again; the frame is that of backward().
    """
    path, modules = name.split("."), dict(model.named_modules())
    for depth in range(len(path) - 1, -1, -1):
        attribute, owner = path[depth], path[depth - 1] if depth else ""
        holder = modules.get(".".join(path[:depth]))
        found = [
            place_at(file, node.lineno)
            for file in files
            if (tree := tree_of(file)) is not None
            for node in _replacing(tree)
            for target in node.targets
            if isinstance(target, ast.Attribute) and target.attr == attribute and _may_be(target.value, owner)
            if depth < len(path) - 1 or _makes_parameter(node.value)
            if not _is_of_another(target.value, node, tree, holder, frame)
            if _may_repeat(file, node, tree, place_of(frame))
        ]
        if found:
            return found[-1]
    return Place()


def _may_repeat(file: str, node: ast.Assign, tree: ast.Module, backward: Place) -> bool:
    """Not in the pass of a loop that has backward() in it, unless this line has one as well."""
    around = function_around(tree, node.lineno)
    if surroundings_of(file, node.lineno).loops:
        return True
    if file == backward.file and around is function_around(tree, backward.line or 0):
        return not innermost_loop(backward)
    return around is not tree


def _is_of_another(
    part: ast.expr, node: ast.Assign, tree: ast.Module, holder: nn.Module | None, frame: FrameType | None
) -> bool:
    """By the class around `self`, or by the variable that the frame has under this name."""
    if isinstance(part, ast.Name) and part.id == "self":
        around = [each for each in nodes_of(tree) if isinstance(each, ast.ClassDef) and covers(each, node.lineno)]
        classes = {name_of_class(kind) for kind in classes_of(type(holder))}
        return bool(around) and not any(each.name in classes for each in around)
    if frame is None or tree_of(frame.f_code.co_filename) is not tree or _varies(part, tree):
        return False
    names = {**frame.f_globals, **locals_of(frame)}
    first, *rest = dotted(part).split(".")
    module = names.get(first)
    for attribute in rest:
        module = vars(module).get("_modules", {}).get(attribute) if is_a(module, nn.Module) else None
    return is_a(module, nn.Module) and module is not holder


def _varies(part: ast.expr, tree: ast.Module) -> bool:
    """The variable of a loop has had other values."""
    first = dotted(part).partition(".")[0]
    loops = (node.target for node in nodes_of(tree) if isinstance(node, (ast.For, ast.comprehension)))
    return any(isinstance(each, ast.Name) and each.id == first for target in loops for each in ast.walk(target))


@functools.lru_cache(maxsize=64)
def _replacing(tree: ast.Module) -> tuple[ast.Assign, ...]:
    """Assignments of the result of a call, outside of what builds a module."""
    return tuple(node for node in _outside_builders(tree) if isinstance(node, ast.Assign) and _calls(node.value))


def _outside_builders(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if not (isinstance(child, ast.FunctionDef) and child.name in _BUILDERS):
            yield child
            yield from _outside_builders(child)


def _may_be(part: ast.expr, owner: str) -> bool:
    """A variable may be any module; an attribute says which."""
    return not isinstance(part, ast.Attribute) or part.attr == owner


def _calls(value: ast.expr) -> bool:
    return any(isinstance(node, ast.Call) for node in nodes_of(value))


def _makes_parameter(value: ast.expr) -> bool:
    calls = [node for node in nodes_of(value) if isinstance(node, ast.Call)]
    return any(called_name(call) == "Parameter" for call in calls)


# Calls in a forward method that make parameters: nn.Parameter(...), nn.Linear(...), a module of the user's.
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
    found = []
    for file, statement in model_sources([module]):
        forward = methods_of(statement).get("forward")
        classes = nodes_in(file, ast.ClassDef)
        own = {node.name for node in classes if any("Module" in ast.unparse(base) for base in node.bases)}
        for call in calls_in(forward) if forward is not None else ():
            name = called_name(call)
            if _WITH_PARAMETERS.fullmatch(name) or name in own:
                found.append(Maker(statement.name, ast.unparse(call.func), place_at(file, call.lineno)))
    return found


# The line that fills a weight by hand: nn.init.constant_(layer.weight, 0.1), nn.init.normal_(layer.weight).
_CONSTANT = ("constant_", "zeros_", "ones_", "fill_", "zero_", "full_")
_RANDOM = (
    "normal_", "uniform_", "trunc_normal_", "xavier_normal_", "xavier_uniform_", "kaiming_normal_",
    "kaiming_uniform_", "orthogonal_", "mul_",
)  # fmt: skip


def constant_fill(module: nn.Module, attribute: str, file: str | None) -> Place | None:
    """The first call of the file that fills weights; else the line of the class that makes the parameter."""
    return _first_fill(file, _CONSTANT) or attribute_place(type(module), attribute)


def random_fill(file: str | None) -> Place | None:
    return _first_fill(file, _RANDOM)


def drawn_leaf(file: str | None) -> Place | None:
    """The first torch.randn(..., requires_grad=True) or the like: a weight that belongs to no module."""
    lines = [
        node.lineno
        for node in nodes_in(file, (ast.Assign, ast.Expr))
        if calls_in(node, "randn", "rand", "normal") and "requires_grad" in ast.unparse(node)
    ]
    return place_at(file, min(lines)) if file and lines else None


def _first_fill(file: str | None, names: tuple[str, ...]) -> Place | None:
    tree = tree_of(file)
    for call in calls_in(tree, *names) if tree is not None else ():
        if file and not re.search("bias|grad", ast.unparse(call)):
            return place_at(file, call.lineno)
    return None


# Lines of a class that make two weights one, or copy one into the other.
@dataclass(frozen=True)
class Tie:
    first: str  # embed.weight: what is given
    second: str  # head.weight: what gets it
    shared: bool  # assigned as it is; else a copy of its values
    place: Place


def ties(cls: type) -> list[Tie]:
    """Of `__init__` and of the methods that it calls, as far as they run always."""
    source = class_source(cls)
    if source is None:
        return []
    methods = methods_of(source[1])
    statements: list[ast.stmt] = []
    for statement in methods["__init__"].body if "__init__" in methods else ():
        statements.append(statement)
        match statement:
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id="self"), attr=called))):
                statements += methods[called].body if called in methods else ()
    return [Tie(*tie, place_at(source[0], statement.lineno)) for statement in statements for tie in _tie(statement)]


def _tie(statement: ast.stmt) -> Iterator[tuple[str, str, bool]]:
    match statement:
        case ast.Assign(targets=[target], value=value):
            second = _weight(target)
            sources = [path for node in ast.walk(value) if (path := _weight(node)) is not None]
            if second is not None and len(sources) == 1 and sources[0] != second:
                yield sources[0], second, _weight(value) is not None
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=target, attr="copy_"), args=[value])):
            second, first = _weight(target), _weight(value)
            if second is not None and first is not None and first != second:
                yield first, second, False


def _weight(node: ast.AST) -> str | None:
    """head.weight of self.head.weight and of self.head.weight.data"""
    if not isinstance(node, ast.Attribute):
        return None
    parts = ast.unparse(node).removesuffix(".data").split(".")
    return ".".join(parts[1:]) if len(parts) >= 3 and parts[0] == "self" and parts[-1] == "weight" else None


# Loops over named_parameters() that freeze or unfreeze what a test of the name lets through.
#
#     for name, p in model.named_parameters():
#         if name.startswith("encoder"):
#             p.requires_grad = False
#
# Only tests that are made of the name and of constants are read; they are pure, and so can be asked again.
_METHODS = frozenset({"startswith", "endswith", "split", "lower", "removeprefix", "replace"})
_FUNCTIONS = {"any": any, "all": all, "len": len}
_PLAIN = (
    ast.Expression, ast.Compare, ast.BoolOp, ast.UnaryOp, ast.Constant, ast.Tuple, ast.List, ast.Set, ast.Name,
    ast.Subscript, ast.GeneratorExp, ast.comprehension, ast.boolop, ast.unaryop, ast.cmpop, ast.expr_context,
)  # fmt: skip


@dataclass(frozen=True)
class NameTest:
    place: Place  # the line with the words that are looked for
    text: str  # name.startswith('encoder')
    value: bool  # of requires_grad, where the test is true
    owner: str  # the last word of whose parameters it goes through: model
    variable: str
    code: Any  # compiled
    words: tuple[tuple[str, Any], ...]

    def lets_through(self, name: str) -> bool:
        """As good as true where it cannot be asked."""
        scope = {"__builtins__": _FUNCTIONS, self.variable: name, **dict(self.words)}
        try:
            return bool(eval(self.code, scope))
        except (IndexError, TypeError, ValueError, AttributeError, NameError):
            return True


def name_tests(file: str) -> list[NameTest]:
    """Those that run always: at the top of a file, or in a function that is called outside of any condition."""
    tree = tree_of(file)
    loops = [loop for loop in nodes_in(file, ast.For) if condition_around(file, loop.lineno) is None]
    return [test for loop in loops for test in _tests_of(tree, file, loop)] if tree is not None else []


def _tests_of(tree: ast.Module, file: str, loop: ast.For) -> Iterator[NameTest]:
    match loop:
        case ast.For(
            target=ast.Tuple(elts=[ast.Name(id=name), ast.Name(id=parameter)]),
            iter=ast.Call(func=ast.Attribute(value=owner, attr="named_parameters"), args=[], keywords=[]),
        ):
            branches = [node for node in loop.body if isinstance(node, ast.If) and _is_pure(node.test, name)]
            for branch in branches:
                values = [_switched(statement, parameter) for statement in branch.body]
                value = next((value for value in values if value is not None), None)
                if value is None:
                    continue
                text, code = ast.unparse(branch.test), compile(ast.Expression(branch.test), file, "eval")
                for place, of, words in _uses(tree, file, owner, branch, _free_names(branch.test) - {name}):
                    yield NameTest(place, text, value, last_name(of), name, code, tuple(words.items()))


def _switched(statement: ast.stmt, parameter: str) -> bool | None:
    """p.requires_grad = False, p.requires_grad_(False)"""
    match statement:
        case ast.Assign(
            targets=[ast.Attribute(value=ast.Name(id=owner), attr="requires_grad")], value=ast.Constant(value=value)
        ) if owner == parameter:
            return bool(value)
        case ast.Expr(
            value=ast.Call(func=ast.Attribute(value=ast.Name(id=owner), attr="requires_grad_"), args=args)
        ) if owner == parameter and all(isinstance(each, ast.Constant) for each in args):
            return all(isinstance(each, ast.Constant) and bool(each.value) for each in args)
    return None


def _is_pure(test: ast.expr, name: str) -> bool:
    nodes = list(ast.walk(test))
    return all(_is_plain(node) for node in nodes) and name in map(last_name, nodes)


def _is_plain(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        return not node.keywords
    if isinstance(node, ast.Attribute):
        return node.attr in _METHODS
    return isinstance(node, _PLAIN)


def _free_names(test: ast.expr) -> set[str]:
    names = [node for node in ast.walk(test) if isinstance(node, ast.Name)]
    bound = {node.id for node in names if isinstance(node.ctx, ast.Store)}
    return {node.id for node in names} - bound - set(_FUNCTIONS)


def _uses(
    tree: ast.Module, file: str, owner: ast.expr, branch: ast.If, free: set[str]
) -> Iterator[tuple[Place, ast.expr, dict[str, Any]]]:
    """The test with its words and its model: written there, or given where the function around it is called."""
    function = function_around(tree, branch.lineno)
    if not isinstance(function, ast.FunctionDef):
        if not free:
            yield place_at(file, branch.lineno), owner, {}
        return
    names = [argument.arg for argument in function.args.args if argument.arg != "self"]
    for call in calls_in(tree, function.name):
        by_keyword = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
        arguments = {**dict(zip(names, call.args, strict=False)), **by_keyword}
        words = {name: _constant(arguments[name]) for name in free if name in arguments}
        known = words.keys() == free and None not in words.values()
        if known and condition_around(file, call.lineno) is None:
            place = place_at(file, call.lineno if free else branch.lineno)
            yield place, arguments.get(ast.unparse(owner), owner), words


def _constant(node: ast.expr) -> Any:
    try:
        return ast.literal_eval(node)
    except ValueError:
        return None


def bare_comparisons(file: str) -> list[tuple[Place, bool]]:
    """Statements that are nothing but `p.requires_grad == False`, with the value."""
    found: list[tuple[Place, bool]] = []
    for node in nodes_in(file, ast.Expr):
        match node.value:
            case ast.Compare(
                left=ast.Attribute(attr="requires_grad"), ops=[ast.Eq()], comparators=[ast.Constant(value)]
            ) if isinstance(value, bool):
                found.append((place_at(file, node.lineno), value))
    return found


# Statements and calls that switch gradients off for a parameter or a module, or on again.
def freezes(node: ast.AST) -> bool:
    """p.requires_grad = False, module.requires_grad_(False)"""
    value = _switched_to(node)
    return isinstance(value, ast.Constant) and value.value is False


def may_unfreeze(node: ast.AST) -> bool:
    """p.requires_grad = True, module.requires_grad_(), p.requires_grad = flag"""
    return _switched_to(node) is not None and not freezes(node)


def _switched_to(node: ast.AST) -> ast.expr | None:
    match node:
        case ast.Assign(targets=targets, value=value):
            named = (target.attr for target in targets if isinstance(target, ast.Attribute))
            return value if "requires_grad" in named else None
        case ast.Call(func=ast.Attribute(attr="requires_grad_"), args=arguments, keywords=keywords):
            values = [*arguments, *(keyword.value for keyword in keywords)]
            return values[0] if values else ast.Constant(True)
    return None
