"""Optimizers that refused what they were given: which argument, what it is, which parameters."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from types import GeneratorType, MethodType
from typing import Any

import torch
from torch import nn

from torch_debugger.crashes.expressions import binding_of, calls_on_line, statement_node, value_of
from torch_debugger.crashes.frames import LiveCrash, LiveFrame, is_tensor, kind_name
from torch_debugger.crashes.functions import definition_of, returned_by
from torch_debugger.records import Place
from torch_debugger.records.crash_modules import OptimizerRefusal, StrayFact
from torch_debugger.source.files import nodes_of, place_at, tree_of
from torch_debugger.source.objects import is_a, is_one_of
from torch_debugger.source.statements import attribute_place
from torch_debugger.source.syntax import called_name

_NAMES = 6


def examine_optimizer(crash: LiveCrash) -> OptimizerRefusal | None:
    user, inner = crash.user_frame, crash.innermost
    if user is None or inner is None:
        return None
    if inner is user:
        return _refused_call(user) if isinstance(crash.error, TypeError) else None
    optimizer = _optimizer(crash)
    if optimizer is None:
        return None
    kind = type(optimizer).__name__
    if (closure := _wrong_closure(crash, user, kind)) is not None:
        return closure
    node = argument_node(user)
    text = ast.unparse(node) if node is not None else ""
    if (group := crash.frame_of("add_param_group")) is not None:
        return _refused_group(crash, user, group, kind, text, optimizer)
    building = crash.frame_of("__init__")
    if building is None or building.user or "optim" not in building.file:
        return None
    parameters = building.locals.get("params")
    if "empty parameter list" in str(crash.error):
        return examine_empty(user, kind, node)
    if kind == "LBFGS" and "parameter groups" in str(crash.error):
        return OptimizerRefusal(kind, "groups", text)
    if not building.file.endswith("optimizer.py"):
        return wrong_setting(building, user, kind)
    if is_a(parameters, nn.Module):
        return OptimizerRefusal(kind, "model", text, type(parameters).__name__)
    if is_a(parameters, MethodType):
        return OptimizerRefusal(kind, "method", text, parameters.__name__)
    return OptimizerRefusal(kind, "tensor", text, kind_name(type(parameters))) if is_tensor(parameters) else None


def _optimizer(crash: LiveCrash) -> torch.optim.Optimizer | None:
    """The optimizer whose method the innermost frames run."""
    for seen in reversed(crash.frames):
        if seen.user:
            return None
        variables = seen.locals
        first = variables.get("self", next(iter(variables.get("args", ())), None))
        if is_a(first, torch.optim.Optimizer):
            return first
    return None


def argument_node(user: LiveFrame) -> ast.expr | None:
    """What the user's line gives the optimizer as its parameters."""
    for call in calls_on_line(user):
        cls = value_of(user, call.func)
        if is_a(cls, type) and issubclass(cls, torch.optim.Optimizer):
            named = [word.value for word in call.keywords if word.arg == "params"]
            return named[0] if named else call.args[0] if call.args else None
    return None


def _refused_group(
    crash: LiveCrash, user: LiveFrame, seen: LiveFrame, kind: str, text: str, optimizer: torch.optim.Optimizer
) -> OptimizerRefusal | None:
    group, groups = seen.locals.get("param_group"), vars(optimizer).get("param_groups", [])
    number = (len(groups),)
    if not is_a(group, dict):
        calls = [call for call in calls_on_line(user) if called_name(call) == "add_param_group" and call.args]
        argument = ast.unparse(calls[0].args[0]) if calls else ""
        return OptimizerRefusal(kind, "no dict", argument, kind_name(type(group)), groups=number)
    if "params" not in group:
        return OptimizerRefusal(kind, "no params", text, names=tuple(map(str, group)), groups=number)
    params = group["params"]
    if is_a(params, set):
        return OptimizerRefusal(kind, "set", text, groups=number)
    items = params if is_a(params, list) else []
    unexpected = next((item for item in items if not is_tensor(item)), None)
    if is_a(unexpected, str):
        return OptimizerRefusal(kind, "names", text, names=tuple(map(str, items[:_NAMES])))
    if unexpected is not None:  # a module, a generator of parameters
        if is_a(unexpected, nn.Module):
            return OptimizerRefusal(kind, "modules", text, type(unexpected).__name__)
        if is_a(unexpected, GeneratorType):
            return OptimizerRefusal(kind, "generators", text, unexpected.__name__)
        return OptimizerRefusal(kind, "other", text, kind_name(type(unexpected)))
    derived = next((item for item in items if not item.is_leaf and not item.retains_grad), None)
    if derived is not None:
        name = next((name for name, value in list(user.locals.items()) if value is derived), "")
        binding = binding_of(user, name) if name else None
        made = derived.grad_fn.name() if derived.grad_fn is not None else ""
        whole = binding is not None and binding.node.end_lineno == binding.node.lineno
        origin = binding.place if binding is not None and whole else Place()
        return OptimizerRefusal(kind, "not a leaf", text, made, names=(name,) if name else (), origin=origin)
    if "more than one parameter group" in str(crash.error):
        return _shared(kind, user, text, items, groups)
    missing = [name for name in vars(optimizer).get("defaults", {}) if name in str(crash.error).split()]
    if "didn't specify" in str(crash.error) and missing:
        return OptimizerRefusal(kind, "required", text, missing[0], groups=number)
    return None


def _shared(
    kind: str, user: LiveFrame, text: str, items: Iterable[torch.Tensor], groups: list[dict[str, Any]]
) -> OptimizerRefusal:
    wanted = {id(item) for item in items}
    known = [{id(item) for item in group.get("params", ())} for group in groups]
    others = [index for index, parameters in enumerate(known) if parameters & wanted]
    twice = {id(item) for index in others for item in groups[index]["params"]} & wanted
    numbers = (*others[:1], len(groups))
    models = [(name, value) for name, value in user.names.items() if is_a(value, nn.Module)]
    for model, module in sorted(models, key=lambda pair: -sum(1 for _ in pair[1].parameters())):
        names = [name for name, parameter in module.named_parameters() if id(parameter) in twice]
        if len(names) == len(twice):
            return OptimizerRefusal(kind, "shared", text, "", model, len(twice), names=tuple(names), groups=numbers)
    return OptimizerRefusal(kind, "shared", text, parameters=len(twice), groups=numbers)


def _refused_call(user: LiveFrame) -> OptimizerRefusal | None:
    """Of a line that Python itself refused: a.parameters() + b.parameters(), an optimizer built from no parameters
    at all, or from two models one after the other."""
    statement = statement_node(user)
    for node in ast.walk(statement) if statement is not None else ():
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            added = _asks_parameters(user, node.left) and _asks_parameters(user, node.right)
            if added:
                return OptimizerRefusal("", "added", ast.unparse(node), origin=place_at(user.file, node.lineno))
    for call in calls_on_line(user):
        cls = value_of(user, call.func)
        if is_a(cls, type) and issubclass(cls, torch.optim.Optimizer):
            named = [str(word.arg) for word in call.keywords]
            if not call.args and "params" not in named:
                return OptimizerRefusal(cls.__name__, "missing", ast.unparse(call))
            if len(call.args) == 2 and "lr" in named and all(_asks_parameters(user, node) for node in call.args):
                return OptimizerRefusal(cls.__name__, "two models", ast.unparse(call))
    return None


def _asks_parameters(user: LiveFrame, node: ast.expr) -> bool:
    is_call = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "parameters"
    return is_call and is_a(value_of(user, node.func.value), nn.Module)  # type: ignore[attr-defined]


def _wrong_closure(crash: LiveCrash, user: LiveFrame, kind: str) -> OptimizerRefusal | None:
    """optimizer.step was given no closure where it needs one, its result, or one that returns nothing."""
    if not isinstance(crash.error, TypeError):
        return None
    calls = [call for call in calls_on_line(user) if getattr(call.func, "attr", "") == "step"]
    if len(calls) != 1:
        return None
    argument = calls[0].args[0] if calls[0].args else next((word.value for word in calls[0].keywords), None)
    text = ast.unparse(argument) if argument is not None else ""
    if argument is None:
        return OptimizerRefusal(kind, "closure missing", "") if "closure" in str(crash.error) else None
    if is_tensor(value_of(user, argument)):
        return OptimizerRefusal(kind, "closure is a tensor", text)
    if isinstance(argument, ast.Call) and definition_of(value_of(user, argument.func)) is not None:
        return OptimizerRefusal(kind, "closure called", text)
    node = definition_of(value_of(user, argument))
    if node is not None and not returned_by(node):
        last = place_at(user.file, node.body[-1].end_lineno or node.body[-1].lineno)
        return OptimizerRefusal(kind, "closure returns nothing", text, node.name, origin=last)
    return None


# Why an optimizer found no parameters: used up, frozen, or kept where the model does not look.
_ITEMS = 64
_FREEZING = (".requires_grad = False", ".requires_grad_(False)")


def examine_empty(user: LiveFrame, kind: str, node: ast.expr | None) -> OptimizerRefusal | None:
    written = node
    if isinstance(node, ast.Name):
        binding = binding_of(user, node.id)
        written = binding.value if binding is not None else None
    attributes = [
        part for part in (ast.walk(written) if written is not None else ())
        if isinstance(part, ast.Attribute) and part.attr in ("parameters", "named_parameters")
    ]  # fmt: skip
    found = next((part for part in attributes if is_a(value_of(user, part.value), nn.Module)), None)
    if written is None or found is None:
        return None
    name, model = ast.unparse(found.value), value_of(user, found.value)
    value = value_of(user, node) if isinstance(node, ast.Name) else None
    # a variable: a generator that something else has run through, or a list that came out empty
    spent = type(value).__name__ in ("generator", "filter", "map")
    trainable = any(parameter.requires_grad for parameter in model.parameters())
    if isinstance(node, ast.Name) and binding is not None and spent and trainable:
        after = binding.node.lineno
        nodes = nodes_of(tree_of(user.file) or ast.Module([], []))
        names = [part for part in nodes if isinstance(part, ast.Name) and part.id == node.id]
        uses = [part.lineno for part in names if after < part.lineno < user.line]
        return OptimizerRefusal(
            kind, "used up", node.id, ast.unparse(written), name, len(list(model.parameters())),
            origin=binding.place, names=(f"{min(uses)}",) if uses else (),
        )  # fmt: skip
    return _of_model(user, kind, ast.unparse(written), name, model)


def _of_model(user: LiveFrame, kind: str, text: str, name: str, model: nn.Module) -> OptimizerRefusal | None:
    parameters = list(model.parameters())
    trainable = sum(parameter.requires_grad for parameter in parameters)
    if parameters and not trainable:
        nodes = nodes_of(tree_of(user.file) or ast.Module([], []))
        statements = [node for node in nodes if isinstance(node, ast.Assign | ast.Expr)]
        lines = [node.lineno for node in statements if ast.unparse(node).endswith(_FREEZING)]
        frozen = place_at(user.file, lines[0]) if len(lines) == 1 else Place()
        parts = tuple(child for child, part in model.named_children() if next(part.parameters(), None) is not None)
        owner = type(model).__name__
        return OptimizerRefusal(kind, "frozen", text, owner, name, len(parameters), 0, parts, origin=frozen)
    if parameters:
        return None
    strays = tuple(_strays(model))
    fault = "strays" if strays else "nothing"
    return OptimizerRefusal(kind, fault, text, type(model).__name__, name, strays=strays)


def _strays(model: nn.Module) -> Iterator[StrayFact]:
    """Layers in plain lists and dicts, and tensors that were to be parameters, of the model and its parts."""
    registries = vars(nn.Module())
    for module in model.modules():
        for name, value in list(vars(module).items()):
            if name in registries:
                continue
            items = list(value.values()) if type(value) is dict else value if is_one_of(value, (list, tuple)) else []
            kinds = tuple(dict.fromkeys(type(item).__name__ for item in items[:_ITEMS] if is_a(item, nn.Module)))
            place = attribute_place(type(module), name) or Place()
            if kinds:
                yield StrayFact(name, type(value).__name__, kinds, place)
            elif is_tensor(value) and value.requires_grad:
                yield StrayFact(name, "tensor", ("Tensor",), place)


# Settings that an optimizer's constructor refused: the name, the value, and what it must be.
_NOT_NEGATIVE = ("lr", "eps", "weight_decay", "momentum", "alpha", "rho", "lr_decay", "initial_accumulator_value")


def wrong_setting(building: LiveFrame, user: LiveFrame, kind: str) -> OptimizerRefusal | None:
    """The first setting of the constructor's frame that no optimizer takes."""
    name, fault = next(_faults(building.locals), ("", ""))
    if not fault:
        return None
    calls = calls_on_line(user)
    written = [ast.unparse(word.value) for call in calls for word in call.keywords if word.arg == name]
    if fault in ("order", "two models"):
        written = [ast.unparse(call) for call in calls if len(call.args) >= 2]
    value = building.locals.get(name)
    plain = is_one_of(value, (int, float, bool, str)) or (type(value) is tuple and len(value) < 5)
    shown = repr(value)[:80] if plain else kind_name(type(value)).rpartition(".")[2]
    return OptimizerRefusal(kind, fault, next(iter(written), ""), shown, names=(name,))


def _faults(settings: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name in _NOT_NEGATIVE:
        value = settings.get(name)
        if is_a(value, str):
            yield name, "text"
        elif is_a(value, (int, float)) and value < 0:
            yield name, "negative"
    if is_a(settings.get("lr"), GeneratorType):
        yield "lr", "order" if is_a(settings.get("params"), float) else "two models"
    betas = settings.get("betas", (0.9, 0.999))
    if not is_a(betas, (tuple, list)) or len(betas) != 2:
        yield "betas", "not two"
    elif any(is_one_of(beta, (int, float)) and not 0.0 <= beta < 1.0 for beta in betas):
        yield "betas", "out of range"
    if settings.get("nesterov") and (not settings.get("momentum") or settings.get("dampening")):
        yield "nesterov", "nesterov"
