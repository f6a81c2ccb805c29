"""Copies of a model that a script keeps beside it: same class, same shapes, other parameters."""

from __future__ import annotations

import ast
from collections import deque
from dataclasses import dataclass
from types import FrameType
from typing import Any

from torch import nn

from torch_debugger.records import Place
from torch_debugger.source.attributes import assignments
from torch_debugger.source.calls import calls_of
from torch_debugger.source.files import covers, nodes_of, place_at, tree_of
from torch_debugger.source.objects import is_a, is_one_of, own_attributes
from torch_debugger.source.statements import condition_around, function_around
from torch_debugger.source.syntax import called_method, called_name, calls_in, dotted, flat_targets, nodes_in, pairs
from torch_debugger.source.variables import scopes

_GENERIC = ("module", "model", "net", "network")
_DEEPEST, _VISITED, _ITEMS = 3, 2000, 32
_LOOKS = 20_000  # at 1 to 2 us each


def copies_of(model: nn.Module, frame: FrameType | None) -> list[tuple[str, nn.Module]]:
    """Under the names of the user's variables and attributes, each copy once."""
    shapes, own = _shapes(model), {id(parameter) for parameter in model.parameters()}
    found: list[tuple[str, nn.Module]] = []
    inside: set[int] = set()  # what an AveragedModel wraps
    for name, module in _modules_in(frame) if shapes else ():
        if id(module) in inside or module is model or type(_unwrapped(module)) is not type(model):
            continue
        if _shapes(module) == shapes and not any(id(parameter) in own for parameter in module.parameters()):
            found.append((name, module))
            inside |= {id(part) for part in module.modules()}
    return found


def copied_siblings(model: nn.Module, own: set[int]) -> list[tuple[str, nn.Module, str, nn.Module]]:
    """Of two parts side by side, alike in class and shapes: the one outside `own` parameters, and its model."""
    found = []
    for path, parent in model.named_modules():
        if len(vars(parent).get("_modules", ())) < 2:  # also where modules are nested hundreds deep
            continue
        children = [(name, child, _shapes(child)) for name, child in parent.named_children()]
        children = [each for each in children if each[2]]
        owned = [each for each in children if all(id(p) in own for p in each[1].parameters())]
        others = [each for each in children if not any(id(p) in own for p in each[1].parameters())]
        found += [
            (name, copy, f"{path}.{of}".lstrip("."), part)
            for name, copy, shapes in others
            for of, part, same in owned
            if type(copy) is type(part) and shapes == same
        ]
    return found


def _modules_in(frame: FrameType | None) -> list[tuple[str, nn.Module]]:
    found: list[tuple[str, nn.Module]] = []
    seen: set[int] = set()
    looks = _LOOKS
    for names in scopes(frame):
        waiting = deque((name, value, 0) for name, value in names)
        while waiting and looks:
            name, value, depth = waiting.popleft()
            looks -= 1
            if id(value) in seen:
                continue
            if issubclass(type(value), nn.Module) and name != "self":
                found.append((name, value))
            inside = _inside(value)
            if depth < _DEEPEST and inside and len(seen) < _VISITED:
                seen.add(id(value))
                waiting += [(_label(name, key), each, depth + 1) for key, each in inside]
    return found


def _inside(value: Any) -> list[tuple[str, Any]]:
    """Attributes and children of an object, entries of a list: callbacks -> EMACallback -> ema -> module."""
    if is_one_of(value, (list, tuple)):
        return [("", each) for each in value[:_ITEMS]]
    attributes = own_attributes(value)
    children = attributes.get("_modules")
    return [*{**attributes, **children}.items()] if is_a(children, dict) else [*attributes.items()]


def _label(holder: str, key: str) -> str:
    """ema.module, where the attribute's own name says nothing."""
    qualified = f"{holder}.{key}" if holder not in ("", "self") else key
    return key if key and key not in _GENERIC else qualified.strip(".")


def _unwrapped(module: nn.Module) -> nn.Module:
    """An AveragedModel keeps the copy inside it."""
    if "_modules" not in vars(module):  # its class has not called super().__init__() yet
        return module
    inside = dict(module.named_children())
    return inside["module"] if [*inside] == ["module"] else module


def _shapes(module: nn.Module) -> list[tuple[int, ...]]:
    return [tuple(p.shape) for p in module.parameters() if not nn.parameter.is_lazy(p)]


def maker_of(name: str, file: str | None) -> Place:
    """The last line of a file that assigns a variable or attribute of this name."""
    tree, last = tree_of(file), name.rpartition(".")[2]
    made = [node for node, _ in assignments(tree)] if tree is not None else []
    lines = [node.lineno for node in made if last in {_last(part) for part in flat_targets(node)}]
    return place_at(file, max(lines)) if file and lines else Place()


# Loops that go through the parameters of two models side by side: does one of them get written to?
_CALLERS = 4  # followed


@dataclass(frozen=True)
class Walk:
    place: Place  # for a, p in zip(ema.parameters(), net.parameters()):
    idle: Place | None  # the first line inside, where none of them changes a parameter
    sometimes: bool  # under a condition: every so many steps
    uncalled: Place | None  # the function that leads to it and that no line calls


def walks_of(file: str | None, owner: str) -> list[Walk]:
    """Those through the parameters of `owner`, a variable or an attribute."""
    tree = tree_of(file)
    if tree is None or file is None:
        return []
    lines = {place.line for name, place in calls_of(file, "parameters") if name == owner}
    loops = [node for node in nodes_in(file, ast.For) if node.lineno in lines]
    return [
        Walk(
            place_at(file, loop.lineno),
            _idle(file, loop),
            _is_conditional(tree, file, loop.lineno),
            _uncalled(tree, file, loop.lineno),
        )
        for loop in loops
        if "zip(" in ast.unparse(loop.iter)
    ]


def _idle(file: str, loop: ast.For) -> Place | None:
    """`a = 0.9 * a + ...` renames the variable, `a.mul(0.9)` drops its result."""
    variables = {part.id for part in ast.walk(loop.target) if isinstance(part, ast.Name)}
    idle = all(_is_dropped(node) or _is_renaming(node, variables) for node in loop.body)
    return place_at(file, loop.body[0].lineno) if idle else None


def _is_dropped(node: ast.stmt) -> bool:
    if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Call):
        return False
    methods = [called_method(call) for call in calls_in(node)]
    return all(method and not method.endswith("_") for method in methods)


def _is_renaming(node: ast.stmt, variables: set[str]) -> bool:
    return isinstance(node, ast.Assign) and all(
        isinstance(target, ast.Name) and target.id in variables for target in node.targets
    )


def _is_conditional(tree: ast.Module, file: str, line: int) -> bool:
    """The loop itself, or the calls of its function."""
    function = function_around(tree, line)
    name = getattr(function, "name", "")
    calls = [place.line for _, place in calls_of(file, name)] if name else []
    return any(condition_around(file, each) is not None for each in (line, *calls) if each is not None)


def _uncalled(tree: ast.Module, file: str, line: int) -> Place | None:
    """From a line up through the only calls of the functions around it."""
    for _ in range(_CALLERS):
        function = function_around(tree, line)
        if not isinstance(function, ast.FunctionDef):
            return None
        calls = calls_of(file, function.name)
        if not calls and not function.name.startswith("__"):
            return place_at(file, function.lineno)
        if len(calls) != 1 or calls[0][1].line is None:
            return None
        line = calls[0][1].line
    return None


# Where a state that is loaded was taken from a live model, and whether training lies between.
def taken_at(frame: FrameType) -> Place:
    """Of load_state_dict(best): the line best = model.state_dict(), if best is never made in another way."""
    file, line = frame.f_code.co_filename, frame.f_lineno
    tree = tree_of(file)
    name = _loaded_name(tree, line) if tree is not None else ""
    if tree is None or not name or _is_filled(tree, name):
        return Place()
    made = [value for node, _ in assignments(tree) for value in _values(node, name)]
    made = [value for value in made if not isinstance(value, ast.Constant)]  # best = None
    live = [value.lineno for value in made if ".state_dict()" in ast.unparse(value)]
    between = [taken for taken in live if _has_training_between(tree, taken, line)]
    return place_at(file, max(between)) if between and len(live) == len(made) else Place()


def is_filled_from_elsewhere(frame: FrameType) -> bool:
    """Of load_state_dict(state): state.update(pretrained), state[key] = value"""
    tree = tree_of(frame.f_code.co_filename)
    name = _loaded_name(tree, frame.f_lineno) if tree is not None else ""
    return tree is not None and bool(name) and _is_filled(tree, name)


def _loaded_name(tree: ast.Module, line: int) -> str:
    loads = [call for call in calls_in(tree, "load_state_dict") if called_method(call) and call.args]
    return next((_last(call.args[0]) for call in loads if covers(call, line)), "")


def _last(node: ast.AST) -> str:
    """best of self.best and of stopper.best; kept['best'] as it is"""
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        return f"{_last(node.value)}[{node.slice.value!r}]"
    return dotted(node).rpartition(".")[2]


def _values(node: ast.Assign, name: str) -> list[ast.expr]:
    assigned = [pair for target in node.targets for pair in pairs(target, node.value)]
    return [value for target, value in assigned if _last(target) == name]


def _is_filled(tree: ast.Module, name: str) -> bool:
    for node in nodes_of(tree):
        match node:
            case ast.Call(func=ast.Attribute(value=owner, attr="update")) if _last(owner) == name:
                return True
            case ast.Subscript(value=owner, ctx=ast.Store()) if _last(owner) == name:
                return True
    return False


def _has_training_between(tree: ast.Module, taken: int, loaded: int) -> bool:
    """In another function, in a loop that is over before the load, or before a loop with steps in it."""
    function = function_around(tree, loaded)
    if function_around(tree, taken) is not function:
        return True
    loops = [node for node in ast.walk(function) if isinstance(node, (ast.For, ast.While))]
    over = [loop for loop in loops if (loop.end_lineno or 0) < loaded]
    return any(
        _trains(tree, loop) if taken < loop.lineno else loop.lineno < taken and covers(loop, taken) for loop in over
    )


def _trains(tree: ast.Module, loop: ast.AST) -> bool:
    """A step in it, or a call of a function that has one."""
    names = {called_name(call) for call in calls_in(loop)}
    functions = [node for node in nodes_of(tree) if isinstance(node, ast.FunctionDef) and node.name in names]
    return "step" in names or any(calls_in(function, "step") for function in functions)
