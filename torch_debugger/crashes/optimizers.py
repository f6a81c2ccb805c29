"""Optimizers that refused what they were given: which argument, what it is, which parameters."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from types import GeneratorType, MethodType
from typing import Any

import torch
from torch import nn

from torch_debugger.crashes.expressions import UNKNOWN, binding_of, calls_on_line, statement_node, value_of
from torch_debugger.crashes.frames import LiveCrash, Seen, is_tensor, kind_name
from torch_debugger.crashes.functions import definition_of, returned_by
from torch_debugger.records import Place
from torch_debugger.records.crash_modules import OptimizerRefusal, StrayFact
from torch_debugger.source.files import place_at, tree_of
from torch_debugger.source.objects import is_a, is_one_of
from torch_debugger.source.statements import attribute_place

_NAMES = 6


def examine_optimizer(scene: LiveCrash) -> OptimizerRefusal | None:
    user, inner = scene.user_frame, scene.innermost
    if user is None or inner is None:
        return None
    if inner is user:
        return (_added_generators(user) or _unbound(user)) if isinstance(scene.error, TypeError) else None
    optimizer = _optimizer(scene)
    if optimizer is None:
        return None
    kind = type(optimizer).__name__
    if (closure := _wrong_closure(scene, user, kind)) is not None:
        return closure
    if (group := scene.frame_of("add_param_group")) is not None:
        return _refused_group(scene, user, group, kind, optimizer)
    building = scene.frame_of("__init__")
    if building is None or not _is_optim(building):
        return None
    given = building.frame.f_locals.get("params")
    node = argument_node(user)
    text = ast.unparse(node) if node is not None else ""
    if "empty parameter list" in str(scene.error):
        return examine_empty(scene, user, kind, node)
    if kind == "LBFGS" and "parameter groups" in str(scene.error):
        return OptimizerRefusal(kind, "groups", text)
    if building.file.endswith("optimizer.py"):
        return _refused_params(kind, text, given)
    return wrong_setting(building, user, kind)


def _optimizer(scene: LiveCrash) -> torch.optim.Optimizer | None:
    """The optimizer whose method the innermost frames run."""
    for seen in reversed(scene.frames):
        if seen.user:
            return None
        held = seen.frame.f_locals
        first = held.get("self", next(iter(held.get("args", ())), None))
        if is_a(first, torch.optim.Optimizer):
            return first
    return None


def _is_optim(seen: Seen) -> bool:
    return not seen.user and "optim" in seen.file


def argument_node(user: Seen) -> ast.expr | None:
    """What the user's line gives the optimizer as its parameters."""
    for call in calls_on_line(user):
        cls = value_of(user, call.func)
        if is_a(cls, type) and issubclass(cls, torch.optim.Optimizer):
            named = [word.value for word in call.keywords if word.arg == "params"]
            return named[0] if named else call.args[0] if call.args else None
    return None


def _refused_params(kind: str, text: str, given: Any) -> OptimizerRefusal | None:
    if issubclass(type(given), nn.Module):
        return OptimizerRefusal(kind, "model", text, type(given).__name__)
    if is_a(given, MethodType):
        return OptimizerRefusal(kind, "method", text, given.__name__)
    if is_tensor(given):
        return OptimizerRefusal(kind, "tensor", text, kind_name(type(given)))
    return None


def _refused_group(
    scene: LiveCrash, user: Seen, seen: Seen, kind: str, optimizer: torch.optim.Optimizer
) -> OptimizerRefusal | None:
    group = seen.frame.f_locals.get("param_group")
    held = vars(optimizer).get("param_groups", [])
    node = argument_node(user)
    text = ast.unparse(node) if node is not None else ""
    number = (len(held),)
    if not is_a(group, dict):
        return OptimizerRefusal(kind, "no dict", _first_argument(user), kind_name(type(group)), groups=number)
    if "params" not in group:
        return OptimizerRefusal(kind, "no params", text, names=tuple(map(str, group)), groups=number)
    params = group["params"]
    if is_a(params, set):
        return OptimizerRefusal(kind, "set", text, groups=number)
    items = params if is_a(params, list) else []
    odd = next((item for item in items if not is_tensor(item)), None)
    if odd is not None:
        return _odd_item(kind, text, odd, items)
    bent = next((item for item in items if not item.is_leaf and not item.retains_grad), None)
    if bent is not None:
        return _not_a_leaf(kind, user, bent, text)
    if "more than one parameter group" in str(scene.error):
        return _shared(scene, kind, user, text, items, held)
    missing = [name for name in vars(optimizer).get("defaults", {}) if name in str(scene.error).split()]
    if "didn't specify" in str(scene.error) and missing:
        return OptimizerRefusal(kind, "required", text, missing[0], groups=number)
    return None


def _first_argument(user: Seen) -> str:
    calls = [call for call in calls_on_line(user) if isinstance(call.func, ast.Attribute) and call.args]
    named = [call for call in calls if call.func.attr == "add_param_group"]  # type: ignore[attr-defined]
    return ast.unparse(named[0].args[0]) if named else ""


def _odd_item(kind: str, text: str, odd: Any, items: list[Any]) -> OptimizerRefusal:
    """What stands among the parameters and is none: a name, a module, a generator of parameters."""
    if is_a(odd, str):
        return OptimizerRefusal(kind, "names", text, names=tuple(map(str, items[:_NAMES])))
    if issubclass(type(odd), nn.Module):
        return OptimizerRefusal(kind, "modules", text, type(odd).__name__)
    if is_a(odd, GeneratorType):
        return OptimizerRefusal(kind, "generators", text, odd.__name__)
    return OptimizerRefusal(kind, "other", text, kind_name(type(odd)))


def _not_a_leaf(kind: str, user: Seen, bent: torch.Tensor, text: str) -> OptimizerRefusal:
    name = next((name for name, value in list(user.frame.f_locals.items()) if value is bent), "")
    binding = binding_of(user, name) if name else None
    made = bent.grad_fn.name() if bent.grad_fn is not None else ""
    origin = binding.place if binding is not None and binding.node.end_lineno == binding.node.lineno else Place()
    return OptimizerRefusal(kind, "not a leaf", text, made, names=(name,) if name else (), origin=origin)


def _shared(
    scene: LiveCrash, kind: str, user: Seen, text: str, items: Iterable[torch.Tensor], held: list[dict[str, Any]]
) -> OptimizerRefusal:
    wanted = {id(item) for item in items}
    others = [index for index, group in enumerate(held) if any(id(item) in wanted for item in group.get("params", ()))]
    twice = {id(item) for index in others for item in held[index]["params"]} & wanted
    for model, module in _models(scene, user):
        names = [name for name, parameter in module.named_parameters() if id(parameter) in twice]
        if len(names) == len(twice):
            groups = (*others[:1], len(held))
            return OptimizerRefusal(kind, "shared", text, "", model, len(twice), names=tuple(names), groups=groups)
    return OptimizerRefusal(kind, "shared", text, parameters=len(twice), groups=(*others[:1], len(held)))


def _models(scene: LiveCrash, user: Seen) -> list[tuple[str, nn.Module]]:
    names = {**user.frame.f_globals, **user.frame.f_locals}
    found = [(name, value) for name, value in names.items() if issubclass(type(value), nn.Module)]
    return sorted(found, key=lambda pair: -sum(1 for _ in pair[1].parameters()))


def _added_generators(user: Seen) -> OptimizerRefusal | None:
    """a.parameters() + b.parameters(): generators cannot be added."""
    statement = statement_node(user)
    for node in ast.walk(statement) if statement is not None else ():
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            sides = [side for side in (node.left, node.right) if _asks_parameters(user, side)]
            if len(sides) == 2:
                return OptimizerRefusal("", "added", ast.unparse(node), origin=place_at(user.file, node.lineno))
    return None


def _unbound(user: Seen) -> OptimizerRefusal | None:
    """An optimizer built from no parameters at all, or from two models one after the other."""
    for call in calls_on_line(user):
        cls = value_of(user, call.func)
        if is_a(cls, type) and issubclass(cls, torch.optim.Optimizer):
            named = [str(word.arg) for word in call.keywords]
            if not call.args and "params" not in named:
                return OptimizerRefusal(cls.__name__, "missing", ast.unparse(call))
            if len(call.args) == 2 and "lr" in named and all(_asks_parameters(user, node) for node in call.args):
                return OptimizerRefusal(cls.__name__, "two models", ast.unparse(call))
    return None


def _asks_parameters(user: Seen, node: ast.expr) -> bool:
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    return node.func.attr == "parameters" and issubclass(type(value_of(user, node.func.value)), nn.Module)


def _wrong_closure(scene: LiveCrash, user: Seen, kind: str) -> OptimizerRefusal | None:
    """optimizer.step was given no closure where it needs one, its result, or one that returns nothing."""
    if not isinstance(scene.error, TypeError):
        return None
    calls = [call for call in calls_on_line(user) if getattr(call.func, "attr", "") == "step"]
    if len(calls) != 1:
        return None
    given = calls[0].args[0] if calls[0].args else next((word.value for word in calls[0].keywords), None)
    text = ast.unparse(given) if given is not None else ""
    if given is None:
        return OptimizerRefusal(kind, "closure missing", "") if "closure" in str(scene.error) else None
    if is_tensor(value_of(user, given)):
        return OptimizerRefusal(kind, "closure is a tensor", text)
    if isinstance(given, ast.Call) and definition_of(value_of(user, given.func)) is not None:
        return OptimizerRefusal(kind, "closure called", text)
    node = definition_of(value_of(user, given))
    if node is not None and not returned_by(node):
        last = place_at(user.file, node.body[-1].end_lineno or node.body[-1].lineno)
        return OptimizerRefusal(kind, "closure returns nothing", text, node.name, origin=last)
    return None


# Why an optimizer found no parameters: used up, frozen, or kept where the model does not look.
_ITEMS = 64
_FREEZING = (".requires_grad = False", ".requires_grad_(False)")


def examine_empty(scene: LiveCrash, user: Seen, kind: str, node: ast.expr | None) -> OptimizerRefusal | None:
    if node is None:
        return None
    text = ast.unparse(node)
    if isinstance(node, ast.Name):
        return _named(user, kind, node)
    found = _model_in(user, node)
    if found is None:
        return None
    return _of_model(user, kind, text, *found)


def _named(user: Seen, kind: str, node: ast.Name) -> OptimizerRefusal | None:
    """A variable: a generator that something else has run through, or a list that came out empty."""
    value, binding = value_of(user, node), binding_of(user, node.id)
    if binding is None:
        return None
    found = _model_in(user, binding.value)
    if found is None or found[1] is None:
        return None
    name, model = found
    parameters = list(model.parameters())
    if type(value).__name__ in ("generator", "filter", "map") and any(item.requires_grad for item in parameters):
        used = _use_between(user, node.id, binding.node.lineno)
        return OptimizerRefusal(
            kind, "used up", node.id, ast.unparse(binding.value), name, len(parameters),
            origin=binding.place, names=(f"{used.line}",) if used is not None else (),
        )  # fmt: skip
    return _of_model(user, kind, ast.unparse(binding.value), name, model)


def _use_between(user: Seen, name: str, after: int) -> Place | None:
    tree = tree_of(user.file)
    uses = [
        node.lineno
        for node in (ast.walk(tree) if tree else ())
        if isinstance(node, ast.Name) and node.id == name and after < node.lineno < user.line
    ]
    return place_at(user.file, min(uses)) if uses else None


def _of_model(user: Seen, kind: str, text: str, name: str, model: nn.Module) -> OptimizerRefusal | None:
    parameters = list(model.parameters())
    trainable = sum(parameter.requires_grad for parameter in parameters)
    if parameters and not trainable:
        frozen = _freezing_line(user)
        parts = tuple(child for child, part in model.named_children() if next(part.parameters(), None) is not None)
        owner = type(model).__name__
        return OptimizerRefusal(kind, "frozen", text, owner, name, len(parameters), 0, parts, origin=frozen)
    if parameters:
        return None
    strays = tuple(_strays(model))
    fault = "strays" if strays else "nothing"
    return OptimizerRefusal(kind, fault, text, type(model).__name__, name, strays=strays)


def _model_in(user: Seen, node: ast.expr) -> tuple[str, nn.Module] | None:
    """The module whose parameters an expression asks for."""
    for part in ast.walk(node):
        if isinstance(part, ast.Attribute) and part.attr in ("parameters", "named_parameters"):
            held = value_of(user, part.value)
            if held is not UNKNOWN and issubclass(type(held), nn.Module):
                return ast.unparse(part.value), held
    return None


def _freezing_line(user: Seen) -> Place:
    """The only line of the file that turns requires_grad off."""
    tree = tree_of(user.file)
    lines = [
        node.lineno
        for node in (ast.walk(tree) if tree else ())
        if isinstance(node, ast.Assign | ast.Expr) and ast.unparse(node).endswith(_FREEZING)
    ]
    return place_at(user.file, lines[0]) if len(lines) == 1 else Place()


def _strays(model: nn.Module) -> Iterator[StrayFact]:
    """Layers in plain lists and dicts, and tensors that were to be parameters, of the model and its parts."""
    for module in model.modules():
        for name, value in list(vars(module).items()):
            if name in _registries():
                continue
            kinds = tuple(dict.fromkeys(type(item).__name__ for item in _modules_in(value)))
            place = attribute_place(type(module), name) or Place()
            if kinds:
                yield StrayFact(name, type(value).__name__, kinds, place)
            elif is_tensor(value) and value.requires_grad:
                yield StrayFact(name, "tensor", ("Tensor",), place)


def _registries() -> frozenset[str]:
    return frozenset(vars(nn.Module()))


def _modules_in(value: Any) -> list[nn.Module]:
    items = list(value.values()) if type(value) is dict else value if is_one_of(value, (list, tuple)) else []
    return [item for item in items[:_ITEMS] if issubclass(type(item), nn.Module)]


# Settings that an optimizer's constructor refused: the name, the value, and what it must be.
_NOT_NEGATIVE = (
    "lr",
    "eps",
    "weight_decay",
    "momentum",
    "alpha",
    "rho",
    "lr_decay",
    "initial_accumulator_value",
)


def wrong_setting(building: Seen, user: Seen, kind: str) -> OptimizerRefusal | None:
    """The first setting of the constructor's frame that no optimizer takes."""
    held = building.frame.f_locals
    for name, fault in _faults(held):
        written = next((word.value for call in calls_on_line(user) for word in call.keywords if word.arg == name), None)
        text = ast.unparse(written) if written is not None else ""
        if fault in ("order", "two models"):
            text = next((ast.unparse(call) for call in calls_on_line(user) if len(call.args) >= 2), "")
        return OptimizerRefusal(kind, fault, text, _shown(held.get(name)), names=(name,))
    return None


def _faults(held: Mapping[str, Any]) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for name in _NOT_NEGATIVE:
        value = held.get(name)
        if is_a(value, str):
            found.append((name, "text"))
        elif is_a(value, (int, float)) and value < 0:
            found.append((name, "negative"))
    if is_a(held.get("lr"), GeneratorType):
        found.append(("lr", "order" if is_a(held.get("params"), float) else "two models"))
    betas = held.get("betas", (0.9, 0.999))
    if not is_a(betas, (tuple, list)) or len(betas) != 2:
        found.append(("betas", "not two"))
    elif any(is_one_of(beta, (int, float)) and not 0.0 <= beta < 1.0 for beta in betas):
        found.append(("betas", "out of range"))
    if held.get("nesterov") and (not held.get("momentum") or held.get("dampening")):
        found.append(("nesterov", "nesterov"))
    return found


def _shown(value: Any) -> str:
    if is_one_of(value, (int, float, bool, str)) or (type(value) is tuple and len(value) < 5):
        return repr(value)[:80]
    return kind_name(type(value)).rpartition(".")[2]
