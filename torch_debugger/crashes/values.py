"""A failed assert, or a raise below an `if`: its condition worked out again, part by part."""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from torch_debugger.crashes.expressions import (
    UNKNOWN,
    UnknownValueError,
    computed_or_none,
    computed_value,
    condition_at,
    entries_of,
    expressions_in,
    is_plain_tensor,
    named_in,
    value_of,
    words_for,
)
from torch_debugger.crashes.frames import LiveCrash, LiveFrame, is_tensor, kind_name
from torch_debugger.crashes.functions import MakingCall, definition_of, maker_before, maker_of, returned_by
from torch_debugger.crashes.modules_called import class_use
from torch_debugger.model.hooks import forward_arguments
from torch_debugger.records import Place
from torch_debugger.records.crash import AssertionEvidence
from torch_debugger.records.crash_modules import ClassUseFact, ValueFact
from torch_debugger.source.files import place_at
from torch_debugger.source.objects import is_a, is_one_of
from torch_debugger.source.syntax import called_name
from torch_debugger.stats.summary import measure_operand

_COMPARED: dict[type[ast.cmpop], tuple[str, Callable[[Any, Any], Any]]] = {
    ast.Eq: ("==", operator.eq), ast.NotEq: ("!=", operator.ne), ast.Lt: ("<", operator.lt),
    ast.LtE: ("<=", operator.le), ast.Gt: (">", operator.gt), ast.GtE: (">=", operator.ge),
    ast.Is: ("is", operator.is_), ast.IsNot: ("is not", operator.is_not),
    ast.In: ("in", lambda item, held: item in held), ast.NotIn: ("not in", lambda item, held: item not in held),
}  # fmt: skip
_LONGEST = 60


def examine_assertion(crash: LiveCrash) -> AssertionEvidence | None:
    """None where nothing of the condition is known: half of one would be a guess."""
    seen = crash.innermost
    if seen is None or not seen.user or not isinstance(crash.error, Exception):
        return None
    condition = condition_at(seen)
    if condition is None or (condition.asserted and not isinstance(crash.error, AssertionError)):
        return None
    parts = _parts(condition.test, condition.asserted)
    return next(filter(None, (_part(crash, seen, part, condition.asserted) for part in parts)), None)


def _parts(test: ast.expr, asserted: bool) -> Iterator[ast.expr]:
    """An assert of several holds all, a raise of several takes any: each may be the one."""
    joined = ast.And if asserted else ast.Or
    if isinstance(test, ast.BoolOp) and isinstance(test.op, joined):
        for value in test.values:
            yield from _parts(value, asserted)
    else:
        yield test


def _part(crash: LiveCrash, seen: LiveFrame, test: ast.expr, asserted: bool) -> AssertionEvidence | None:
    """The part, where it is known to be false (of a raise: true)."""
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        return _compared(crash, seen, test, asserted)
    negated = isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)
    value: Any = computed_or_none(test.operand if isinstance(test, ast.UnaryOp) and negated else test, seen)
    if is_tensor(value) and is_plain_tensor(value) and value.numel() == 1:
        value = bool(value)
    if not is_one_of(value, (bool, int, float, list, tuple, dict)) or (bool(value) != negated) is asserted:
        return None
    return _about(crash, seen, test, AssertionEvidence(ast.unparse(test), asserted))


def _compared(crash: LiveCrash, seen: LiveFrame, test: ast.Compare, asserted: bool) -> AssertionEvidence | None:
    sign, compare = _COMPARED[type(test.ops[0])]
    right_node = test.comparators[0]
    try:
        values = [computed_value(node, seen.frame) for node in (test.left, right_node)]
        # x.shape == (4, 10) and x.shape == [4, 10] are compared as they stand; lists here stand for literals
        left, right = (tuple(value) if is_one_of(value, (list, torch.Size)) else value for value in values)
        holds = compare(left, right)
        holds = bool(holds) if not is_tensor(holds) or holds.numel() == 1 else None
    except (UnknownValueError, TypeError, ValueError, RuntimeError):
        return None
    if holds is None or holds is asserted:
        return None
    swapped = _is_written(test.left) and not _is_written(right_node)  # assert 4 == x.dim()
    about = right_node if swapped else test.left
    sizes, wanted = (right, left) if swapped else (left, right)
    both = type(sizes) is tuple and type(wanted) is tuple and all(type(size) is int for size in (*sizes, *wanted))
    first = 0
    if both and isinstance(about, ast.Subscript) and isinstance(about.slice, ast.Slice) and about.slice.lower:
        with contextlib.suppress(UnknownValueError, TypeError):  # 1 of x.shape[1:]
            start, whole = (computed_value(node, seen.frame) for node in (about.slice.lower, about.value))
            first = int(start) if start >= 0 else max(len(whole) + start, 0)
    found = AssertionEvidence(
        ast.unparse(test),
        asserted,
        ast.unparse(test.left),
        _text(left),
        sign,
        ast.unparse(right_node),
        _text(right),
        tuple(sizes) if both else (),
        tuple(wanted) if both else (),
        first,
    )
    return _about(crash, seen, about, found)


def _about(crash: LiveCrash, seen: LiveFrame, node: ast.expr, found: AssertionEvidence) -> AssertionEvidence:
    """With the tensor that the expression is of, its numbers, and the line that made it."""
    for part in ast.walk(node):
        value: Any = computed_or_none(part, seen) if isinstance(part, (ast.Name, ast.Attribute)) else None
        if not isinstance(part, ast.expr) or not is_tensor(value):
            continue
        name = part.value if isinstance(part, ast.Attribute) and part.attr in ("shape", "data") else part
        numbers = measure_operand(value, ast.unparse(name)) if is_plain_tensor(value) else None
        made = maker_of(crash, seen, name).place if isinstance(name, ast.Name) else Place()
        tensor, shape = ast.unparse(name), tuple(value.shape)
        return dataclasses.replace(found, tensor=tensor, shape=shape, numbers=numbers, made=made)
    return found


def _is_written(node: ast.expr) -> bool:
    """A literal: what was asked for, and not what came."""
    return all(
        isinstance(part, (ast.Constant, ast.Tuple, ast.List, ast.Load, ast.UnaryOp, ast.USub))
        for part in ast.walk(node)
    )


def _text(value: Any) -> str:
    if is_tensor(value):
        return (
            _text(value.item()) if is_plain_tensor(value) and value.numel() == 1 else f"a tensor of {list(value.shape)}"
        )
    if type(value) is float:
        return f"{value:.6g}"
    if is_one_of(value, (int, bool, str, type(None), torch.dtype, torch.device)):
        return str(value)[:_LONGEST]
    if type(value) is tuple and len(value) <= 10 and all(type(size) is int for size in value):
        return str(list(value))
    return type(value).__name__


# Something that is no tensor and was used like one: what it is, who got it, and which call made it.
def examine_value(crash: LiveCrash) -> ValueFact | None:
    unexpected = unexpected_value(crash)
    if unexpected is None or issubclass(type(unexpected.value), nn.Module) or is_a(unexpected.value, type):
        return None
    maker = _maker(crash, unexpected)
    if unexpected.value is UNKNOWN:
        return None
    kind = kind_name(type(unexpected.value))
    is_data = is_one_of(unexpected.value, (int, float)) or kind == "numpy.ndarray"
    known = maker.returns or entries_of(unexpected.value) or is_data
    if not known or (unexpected.value is None and not maker.returns):
        return None
    return ValueFact(
        written=ast.unparse(unexpected.node) if unexpected.node is not None else "",
        kind=kind if kind == "numpy.ndarray" else kind.rpartition(".")[2],
        holds=entries_of(unexpected.value)
        or (() if type(unexpected.value) is tuple else (words_for(unexpected.value),)),
        receiver=unexpected.receiver,
        argument=unexpected.argument,
        origin=maker.place,
        maker=maker.text,
        maker_path=maker.path,
        maker_kind=maker.kind,
        maker_returns=maker.returns,
        returns=maker.returning,
    )


def examine_built_value(crash: LiveCrash) -> ClassUseFact | None:
    """A module that was used like a tensor, because a call that was to run it built it: x = nn.ReLU(x)"""
    unexpected = unexpected_value(crash)
    if unexpected is None or not issubclass(type(unexpected.value), nn.Module):
        return None
    maker = _maker(crash, unexpected)
    if maker.function is not None:
        return _returned_unrun(unexpected, maker)
    if maker.call is None or maker.seen is None or type(unexpected.value).__name__ != maker.kind:
        return None
    arguments = [value_of(maker.seen, node) for node in maker.call.args]
    # The first argument of nn.ReLU(x) is a tensor; after x = nn.ReLU(x) its name stands for the module.
    if not arguments or not (arguments[0] is UNKNOWN or arguments[0] is unexpected.value or is_tensor(arguments[0])):
        return None
    tensors = [words_for(value) for value in arguments if value is not UNKNOWN and is_tensor(value)]
    texts = tensors or [f"`{ast.unparse(node)}`" for node in maker.call.args[:1]]
    return class_use(maker.seen, maker.call, type(unexpected.value), texts)


def _returned_unrun(unexpected: UnexpectedValue, maker: MakingCall) -> ClassUseFact | None:
    """A forward of the user's that returns the module it builds: return nn.ReLU(self.fc(x))"""
    node = definition_of(maker.function)
    for value in returned_by(node) if node is not None else ():
        names = maker.function.__globals__
        if isinstance(value, ast.Call) and value.args and named_in(names, value.func) is type(unexpected.value):
            place = place_at(maker.function.__code__.co_filename, value.lineno)
            fact = class_use(
                unexpected.seen, value, type(unexpected.value), [f"`{ast.unparse(part)}`" for part in value.args[:1]]
            )
            return dataclasses.replace(fact, place=place, assigned=Place())
    return None


def _maker(crash: LiveCrash, unexpected: UnexpectedValue) -> MakingCall:
    if unexpected.before is not None:
        return maker_before(crash, unexpected.before)
    return maker_of(crash, unexpected.seen, unexpected.node) if unexpected.node is not None else MakingCall()


# The value that is no tensor and stood where one was wanted: an argument or an operand.
_CALLERS = ("_call_impl", "_wrapped_call_impl")
_OPTIONAL = ("weight", "bias", "pos_weight", "attn_mask", "key_padding_mask", "out")


@dataclass(frozen=True)
class UnexpectedValue:
    """A value that is no tensor, where one was wanted."""

    value: Any
    node: ast.expr | None  # the expression of the user's line that stands for it
    receiver: str  # net.fc, cross_entropy, .view
    argument: str
    seen: LiveFrame
    before: nn.Module | None = None  # in an nn.Sequential: the layer before, which made it


def unexpected_value(crash: LiveCrash) -> UnexpectedValue | None:
    if not isinstance(crash.error, TypeError | AttributeError):
        return None
    for found in (*_into_layer(crash), *_into_function(crash), *_in_user_line(crash)):
        # whether the error speaks of this kind of value; numpy arrays have attributes that mislead it
        is_array = kind_name(type(found.value)) == "numpy.ndarray"
        if not is_tensor(found.value) and (is_array or type(found.value).__name__ in str(crash.error)):
            return found
    return None


def _into_layer(crash: LiveCrash) -> Iterator[UnexpectedValue]:
    """The arguments of the innermost torch layer that was called."""
    for index in range(len(crash.frames) - 1, 0, -1):
        seen, module = crash.frames[index], crash.frames[index].module()
        if seen.user:
            return
        args = seen.locals.get("args")
        if module is None or seen.function not in _CALLERS or type(args) is not tuple:
            continue
        if not type(module).__module__.startswith("torch.nn") or is_a(module, nn.Sequential):
            return
        caller, module = _caller_of(crash, index, module)
        receiver = crash.paths.get(id(module), "") or type(module).__name__
        names = forward_arguments(module)
        before = _layer_before(caller, module)
        call = _call_of(caller, module) if caller.user else None
        for place, value in enumerate(args):
            node = call.args[place] if call is not None and place < len(call.args) else None
            name = names[place] if place < len(names) else ""
            if name not in _OPTIONAL and (place == 0 or value is not None):
                yield UnexpectedValue(value, node, receiver, name, caller, before)


def _caller_of(crash: LiveCrash, index: int, module: nn.Module) -> tuple[LiveFrame, nn.Module]:
    """Who called a layer; where it is the first of an nn.Sequential, who called that, and that."""
    outside = [seen for seen in crash.frames[:index] if seen.module() is not module and seen.function != "inner"]
    caller, container = outside[-1], outside[-1].module()
    layers = list(vars(container)["_modules"].values()) if is_a(container, nn.Sequential) else []
    if container is not None and not caller.user and layers and layers[0] is module:
        inside = next(place for place, seen in enumerate(crash.frames) if seen.module() is container)
        return _caller_of(crash, inside, container)
    return caller, module


def _layer_before(caller: LiveFrame, module: nn.Module) -> nn.Module | None:
    container = caller.module()
    if not is_a(container, nn.Sequential) or caller.user:
        return None
    layers = list(vars(container)["_modules"].values())
    place = next((index for index, layer in enumerate(layers) if layer is module), 0)
    return layers[place - 1] if place else None


def _call_of(seen: LiveFrame, module: nn.Module) -> ast.Call | None:
    """The call of this module on the user's line."""
    calls = [node for node in expressions_in(seen) if isinstance(node, ast.Call)]
    named = [call for call in calls if value_of(seen, call.func) is module]
    return (named or calls)[0] if len(named or calls) == 1 else None


def _into_function(crash: LiveCrash) -> Iterator[UnexpectedValue]:
    """The arguments of the function of torch.nn.functional that the user's line called."""
    user = crash.user_frame
    index = next((place for place, seen in enumerate(crash.frames) if seen is user), 0) + 1
    inside = crash.frames[index] if index < len(crash.frames) else None
    if user is None or inside is None or not inside.file.endswith("functional.py"):
        return
    code, variables = inside.frame.f_code, inside.locals
    calls = [node for node in expressions_in(user) if isinstance(node, ast.Call)]
    called = [call for call in calls if called_name(call) == inside.function]
    for place, name in enumerate(code.co_varnames[: code.co_argcount][:2]):
        node = called[0].args[place] if len(called) == 1 and place < len(called[0].args) else None
        if name not in _OPTIONAL:
            yield UnexpectedValue(variables.get(name), node, inside.function, name, user)


def _in_user_line(crash: LiveCrash) -> Iterator[UnexpectedValue]:
    """Operands of the expression of the user's that raised by itself."""
    seen, inner = crash.user_frame, crash.innermost
    attribute = getattr(crash.error, "name", "")
    if seen is None or inner is None:
        return
    if isinstance(crash.error, AttributeError) and (inner is seen or inner.function == "__getattr__"):
        for node in expressions_in(seen):
            if isinstance(node, ast.Attribute) and node.attr == attribute and hasattr(torch.Tensor, node.attr):
                value = value_of(seen, node.value)
                value = getattr(crash.error, "obj", UNKNOWN) if value is UNKNOWN else value
                yield UnexpectedValue(value, node.value, f".{node.attr}", "", seen)
    elif inner is seen:
        for node in expressions_in(seen):
            for value, part, receiver in _operands(seen, node):
                if value is UNKNOWN and isinstance(part, ast.Call):
                    # what a call inside the line returned nothing holds any more: as its source says
                    returns = maker_of(crash, seen, part).returns
                    value = {"several": (), "nothing": None}.get(returns, UNKNOWN)
                yield UnexpectedValue(value, part, receiver, "", seen)


def _operands(seen: LiveFrame, node: ast.expr) -> Iterator[tuple[Any, ast.expr, str]]:
    function = value_of(seen, node.func) if isinstance(node, ast.Call) else UNKNOWN
    home = getattr(function, "__module__", None) or getattr(function, "__objclass__", None) or ""
    in_torch = callable(function) and not is_a(function, type) and "torch" in str(home)
    if isinstance(node, ast.Call) and in_torch:
        yield from ((value_of(seen, part), part, ast.unparse(node.func)) for part in node.args[:2])
    elif isinstance(node, ast.BinOp):
        sides = [(value_of(seen, part), part) for part in (node.left, node.right)]
        if any(value is not UNKNOWN and is_tensor(value) for value, _ in sides):
            yield from ((value, part, "arithmetic with a tensor") for value, part in sides)
    elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple):
        yield value_of(seen, node.value), node.value, f"[{ast.unparse(node.slice).strip('()')}]"
