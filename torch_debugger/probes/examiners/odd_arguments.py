"""The value that is no tensor and stood where one was wanted: an argument or an operand."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from torch_debugger.anatomy.forward_methods import forward_arguments
from torch_debugger.anatomy.kinds import is_a
from torch_debugger.probes.crash_frames import Seen, is_tensor
from torch_debugger.probes.crash_values import kind_name
from torch_debugger.probes.examiners.reading import UNKNOWN, expressions_in, value_of
from torch_debugger.probes.examiners.scene import Scene
from torch_debugger.probes.examiners.value_makers import maker_of

_CALLERS = ("_call_impl", "_wrapped_call_impl")
_OPTIONAL = ("weight", "bias", "pos_weight", "attn_mask", "key_padding_mask", "out")


@dataclass(frozen=True)
class Odd:
    """A value that is no tensor, where one was wanted."""

    value: Any
    node: ast.expr | None  # the expression of the user's line that stands for it
    receiver: str  # net.fc, cross_entropy, .view
    argument: str
    seen: Seen
    before: nn.Module | None = None  # in an nn.Sequential: the layer before, which made it


def odd_value(scene: Scene) -> Odd | None:
    if not isinstance(scene.error, TypeError | AttributeError):
        return None
    for odd in (*_into_layer(scene), *_into_function(scene), *_in_user_line(scene)):
        if not is_tensor(odd.value) and _is_told(scene.error, odd.value):
            return odd
    return None


def _is_told(error: BaseException, value: Any) -> bool:
    """Whether the error speaks of this kind of value; numpy arrays have attributes that mislead it."""
    kind = kind_name(type(value))
    return kind == "numpy.ndarray" or type(value).__name__ in str(error)


def _into_layer(scene: Scene) -> Iterator[Odd]:
    """The arguments of the innermost torch layer that was called."""
    for index in range(len(scene.frames) - 1, 0, -1):
        seen, module = scene.frames[index], scene.frames[index].module()
        if seen.user:
            return
        args = seen.frame.f_locals.get("args")
        if module is None or seen.function not in _CALLERS or type(args) is not tuple:
            continue
        if not type(module).__module__.startswith("torch.nn") or is_a(module, nn.Sequential):
            return
        caller, module = _caller_of(scene, index, module)
        receiver = scene.paths.get(id(module), "") or type(module).__name__
        names = forward_arguments(module)
        before = _layer_before(caller, module)
        call = _call_of(caller, module) if caller.user else None
        for place, value in enumerate(args):
            node = call.args[place] if call is not None and place < len(call.args) else None
            name = names[place] if place < len(names) else ""
            if name not in _OPTIONAL and (place == 0 or value is not None):
                yield Odd(value, node, receiver, name, caller, before)


def _caller_of(scene: Scene, index: int, module: nn.Module) -> tuple[Seen, nn.Module]:
    """Who called a layer; where it is the first of an nn.Sequential, who called that, and that."""
    outside = [
        seen for seen in scene.frames[:index] if seen.module() is not module and seen.function != "inner"
    ]
    caller, container = outside[-1], outside[-1].module()
    layers = list(vars(container)["_modules"].values()) if is_a(container, nn.Sequential) else []
    if container is not None and not caller.user and layers and layers[0] is module:
        inside = next(place for place, seen in enumerate(scene.frames) if seen.module() is container)
        return _caller_of(scene, inside, container)
    return caller, module


def _layer_before(caller: Seen, module: nn.Module) -> nn.Module | None:
    container = caller.module()
    if not is_a(container, nn.Sequential) or caller.user:
        return None
    layers = list(vars(container)["_modules"].values())
    place = next((index for index, layer in enumerate(layers) if layer is module), 0)
    return layers[place - 1] if place else None


def _call_of(seen: Seen, module: nn.Module) -> ast.Call | None:
    """The call of this module on the user's line."""
    calls = [node for node in expressions_in(seen) if isinstance(node, ast.Call)]
    named = [call for call in calls if value_of(seen, call.func) is module]
    return (named or calls)[0] if len(named or calls) == 1 else None


def _into_function(scene: Scene) -> Iterator[Odd]:
    """The arguments of the function of torch.nn.functional that the user's line called."""
    user = scene.user_frame
    index = next((place for place, seen in enumerate(scene.frames) if seen is user), 0) + 1
    inside = scene.frames[index] if index < len(scene.frames) else None
    if user is None or inside is None or not inside.file.endswith("functional.py"):
        return
    code, held = inside.frame.f_code, inside.frame.f_locals
    calls = [node for node in expressions_in(user) if isinstance(node, ast.Call)]
    called = [
        call for call in calls if getattr(call.func, "attr", getattr(call.func, "id", "")) == inside.function
    ]
    for place, name in enumerate(code.co_varnames[: code.co_argcount][:2]):
        node = called[0].args[place] if len(called) == 1 and place < len(called[0].args) else None
        if name not in _OPTIONAL:
            yield Odd(held.get(name), node, inside.function, name, user)


def _in_user_line(scene: Scene) -> Iterator[Odd]:
    """Operands of the expression of the user's that raised by itself."""
    seen, inner = scene.user_frame, scene.innermost
    asked = getattr(scene.error, "name", "")
    if seen is None or inner is None:
        return
    if isinstance(scene.error, AttributeError) and (inner is seen or inner.function == "__getattr__"):
        for node in expressions_in(seen):
            if isinstance(node, ast.Attribute) and node.attr == asked and hasattr(torch.Tensor, node.attr):
                yield Odd(_value(seen, node.value, scene.error), node.value, f".{node.attr}", "", seen)
    elif inner is seen:
        for node in expressions_in(seen):
            for value, part, receiver in _operands(seen, node):
                yield Odd(_stand_in(scene, seen, part) if value is UNKNOWN else value, part, receiver, "", seen)


def _stand_in(scene: Scene, seen: Seen, node: ast.expr) -> Any:
    """For what a call inside the line returned, which nothing holds any more: as its source says."""
    returns = maker_of(scene, seen, node).returns if isinstance(node, ast.Call) else ""
    return {"several": (), "nothing": None}.get(returns, UNKNOWN)


def _value(seen: Seen, node: ast.expr, error: AttributeError) -> Any:
    value = value_of(seen, node)
    return getattr(error, "obj", UNKNOWN) if value is UNKNOWN else value


def _operands(seen: Seen, node: ast.expr) -> Iterator[tuple[Any, ast.expr, str]]:
    if isinstance(node, ast.Call) and _is_torchs(value_of(seen, node.func)):
        yield from ((value_of(seen, part), part, ast.unparse(node.func)) for part in node.args[:2])
    elif isinstance(node, ast.BinOp):
        sides = [(value_of(seen, part), part) for part in (node.left, node.right)]
        if any(value is not UNKNOWN and is_tensor(value) for value, _ in sides):
            yield from ((value, part, "arithmetic with a tensor") for value, part in sides)
    elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple):
        yield value_of(seen, node.value), node.value, f"[{ast.unparse(node.slice).strip('()')}]"


def _is_torchs(function: Any) -> bool:
    home = getattr(function, "__module__", None) or getattr(function, "__objclass__", None) or ""
    return callable(function) and not is_a(function, type) and "torch" in str(home)
