"""Optimizers that refused what they were given: which argument, what it is, which parameters."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from types import GeneratorType, MethodType
from typing import Any

import torch
from torch import nn

from torch_debugger.anatomy.kinds import is_a
from torch_debugger.anatomy.sources import place_at
from torch_debugger.probes.crash_frames import Seen, is_tensor
from torch_debugger.probes.crash_values import kind_name
from torch_debugger.probes.examiners.empty_parameters import examine_empty
from torch_debugger.probes.examiners.hyperparameters import wrong_setting
from torch_debugger.probes.examiners.reading import binding_of, calls_in, statement_node, value_of
from torch_debugger.probes.examiners.scene import Scene
from torch_debugger.probes.examiners.value_makers import definition_of, returned_by
from torch_debugger.records import Place
from torch_debugger.records.evidence.building import OptimizerRefusal

_NAMES = 6


def examine_optimizer(scene: Scene) -> OptimizerRefusal | None:
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


def _optimizer(scene: Scene) -> torch.optim.Optimizer | None:
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
    for call in calls_in(user):
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
    scene: Scene, user: Seen, seen: Seen, kind: str, optimizer: torch.optim.Optimizer
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
    calls = [call for call in calls_in(user) if isinstance(call.func, ast.Attribute) and call.args]
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
    origin = (
        binding.place if binding is not None and binding.node.end_lineno == binding.node.lineno else Place()
    )
    return OptimizerRefusal(kind, "not a leaf", text, made, names=(name,) if name else (), origin=origin)


def _shared(
    scene: Scene, kind: str, user: Seen, text: str, items: Iterable[torch.Tensor], held: list[dict[str, Any]]
) -> OptimizerRefusal:
    wanted = {id(item) for item in items}
    others = [
        index for index, group in enumerate(held) if any(id(item) in wanted for item in group.get("params", ()))
    ]
    twice = {id(item) for index in others for item in held[index]["params"]} & wanted
    for model, module in _models(scene, user):
        names = [name for name, parameter in module.named_parameters() if id(parameter) in twice]
        if len(names) == len(twice):
            groups = (*others[:1], len(held))
            return OptimizerRefusal(
                kind, "shared", text, "", model, len(twice), names=tuple(names), groups=groups
            )
    return OptimizerRefusal(kind, "shared", text, parameters=len(twice), groups=(*others[:1], len(held)))


def _models(scene: Scene, user: Seen) -> list[tuple[str, nn.Module]]:
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
    for call in calls_in(user):
        cls = value_of(user, call.func)
        if is_a(cls, type) and issubclass(cls, torch.optim.Optimizer):
            named = [str(word.arg) for word in call.keywords]
            if not call.args and "params" not in named:
                return OptimizerRefusal(cls.__name__, "missing", ast.unparse(call))
            if (
                len(call.args) == 2
                and "lr" in named
                and all(_asks_parameters(user, node) for node in call.args)
            ):
                return OptimizerRefusal(cls.__name__, "two models", ast.unparse(call))
    return None


def _asks_parameters(user: Seen, node: ast.expr) -> bool:
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    return node.func.attr == "parameters" and issubclass(type(value_of(user, node.func.value)), nn.Module)


def _wrong_closure(scene: Scene, user: Seen, kind: str) -> OptimizerRefusal | None:
    """optimizer.step was given no closure where it needs one, its result, or one that returns nothing."""
    if not isinstance(scene.error, TypeError):
        return None
    calls = [call for call in calls_in(user) if getattr(call.func, "attr", "") == "step"]
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
