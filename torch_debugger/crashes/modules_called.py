"""Modules that were called and have no forward, or one that takes other arguments."""

from __future__ import annotations

import ast
import contextlib
import difflib
import inspect
from collections.abc import Iterator, Mapping
from typing import Any

from torch import nn

from torch_debugger.crashes.expressions import (
    UNKNOWN,
    binding_of,
    calls_on_line,
    computed_or_none,
    value_of,
    words_for,
)
from torch_debugger.crashes.frames import LiveCrash, LiveFrame, is_tensor, statement_place
from torch_debugger.crashes.functions import Scope
from torch_debugger.crashes.loading_dataloader import length_of, loader_place
from torch_debugger.crashes.loading_samples import for_statements, loader_in
from torch_debugger.crashes.modules import ClassSource, required_arguments, source_of
from torch_debugger.records import Place
from torch_debugger.records.crash_modules import (
    ArgumentsFact,
    BatchSource,
    ClassUseFact,
    ForwardFact,
    MethodFact,
    SingleValueFact,
)
from torch_debugger.source.constructors import forward_place
from torch_debugger.source.files import covers, nodes_of, place_at, tree_of
from torch_debugger.source.objects import is_a, is_one_of
from torch_debugger.source.statements import attribute_place

_CALLERS = ("_call_impl", "_wrapped_call_impl", "inner")  # inner: where hooks are on
_OTHER_NAMES = ("call", "__forward__", "_forward", "Forward", "predict")
_CLOSE = 0.75  # of difflib: foward, forwards, farward; not backward
_KEYS = 8


def examine_forward(crash: LiveCrash) -> ForwardFact | None:
    inner = crash.innermost
    if inner is None or inner.function != "_forward_unimplemented" or not inner.file.endswith("module.py"):
        return None
    module = inner.locals.get("self")
    if not issubclass(type(module), nn.Module):
        return None
    cls, source = type(module), source_of(type(module))
    return ForwardFact(
        path=crash.paths.get(id(module), ""),
        cls=cls.__name__,
        place=source.place if source is not None else Place(),
        near=_meant_as_forward(source) if source is not None else None,
        keys=tuple(vars(module).get("_modules", {}))[:_KEYS],
    )


def _meant_as_forward(source: ClassSource) -> MethodFact | None:
    names = {method.name: method for method in source.methods()}
    close = difflib.get_close_matches("forward", names, 1, _CLOSE)
    misspelt = [name for name in (*close, *_OTHER_NAMES) if name in names and name != "backward"]
    if misspelt:
        return source.fact(names[misspelt[0]])
    return source.nested("forward") or source.outside("forward")


def examine_arguments(crash: LiveCrash) -> ArgumentsFact | None:
    """A call that Python could not bind to forward: it failed before a frame of forward existed."""
    inner = crash.innermost
    if not isinstance(crash.error, TypeError) or inner is None or inner.function not in _CALLERS or inner.user:
        return None
    variables = inner.locals
    module, args, kwargs = variables.get("self"), variables.get("args"), variables.get("kwargs")
    if not is_a(module, nn.Module) or type(args) is not tuple or type(kwargs) is not dict:
        return None
    function = getattr(type(module), "forward", None)
    signature = inspect.signature(function) if callable(function) else None
    if signature is None:
        return None
    with contextlib.suppress(TypeError):
        signature.bind(module, *args, **kwargs)
        return None
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    found = [item for item in signature.parameters.values() if item.kind in kinds]
    found = found if _is_without_self(signature) else found[1:]
    # a torch container whose forward called the module hands on one input
    outside = [seen for seen in crash.frames if seen.locals.get("self") is not module]
    container = outside[-1].module() if outside and not outside[-1].user else None
    return ArgumentsFact(
        path=crash.paths.get(id(module), ""),
        cls=type(module).__name__,
        place=forward_place(module),
        takes=tuple(item.name for item in found),
        required=tuple(item.name for item in found if item.default is item.empty),
        given=tuple(words_for(value) for value in args),
        keywords=tuple(kwargs),
        caller=crash.paths.get(id(container), "") if is_a(container, nn.Sequential) else "",
        without_self=_is_without_self(signature),
    )


def _is_without_self(signature: inspect.Signature) -> bool:
    first = next(iter(signature.parameters.values()), None)
    return first is None or (first.kind is first.POSITIONAL_OR_KEYWORD and first.name in ("x", "input", "inputs"))


# Module classes used where an object of them is meant: nn.ReLU(x), Net(x), model = Net.
_WITH_WEIGHTS = ("in_features", "in_channels", "num_embeddings", "num_features", "normalized_shape", "input_size")


def examine_class_use(crash: LiveCrash) -> ClassUseFact | None:
    """The call that raised: it builds a module from tensors, or asks a class what only an object can do."""
    found: ClassUseFact | None = None
    for seen in crash.user_frames:
        for call in calls_on_line(seen):
            made = _built_from_tensors(crash, seen, call)
            # A class of the user's may well be built from tensors; not so where a layer's size is one of them.
            if made is not None and (made.torchs or found is not None or seen is crash.innermost):
                found = made
            found = found or _called_on_class(crash, seen, call)
        if seen.function != "__init__" or seen.module() is None:
            break  # only constructors of the user's may lie between the call and the error
    return found


def _built_from_tensors(crash: LiveCrash, seen: LiveFrame, call: ast.Call) -> ClassUseFact | None:
    cls = value_of(seen, call.func)
    if not (is_a(cls, type) and issubclass(cls, nn.Module)):
        return None
    arguments = _constructor_arguments(crash, seen, call)
    tensors = [words_for(value) for value in arguments if is_tensor(value)]
    tensors = tensors or [f"what `{ast.unparse(node)}` returns" for node in call.args if _makes_tensor(seen, node)]
    built_for_it = bool({"weight", "pos_weight"} & {str(word.arg) for word in call.keywords})
    return class_use(seen, call, cls, tensors) if tensors and not built_for_it else None


def _constructor_arguments(crash: LiveCrash, seen: LiveFrame, call: ast.Call) -> list[Any]:
    """What the constructor was given: as the line names it, else as its frame holds it."""
    written = [value_of(seen, node) for node in (*call.args, *(word.value for word in call.keywords))]
    if any(value is not UNKNOWN and is_tensor(value) for value in written):
        return written
    index = next(place for place, frame in enumerate(crash.frames) if frame is seen)
    # Once torch.compile was used, dynamo stands around every module's constructor.
    within = (frame for frame in crash.frames[index + 1 :] if frame.function != "patched_init")
    inside = next(within, None)
    if inside is None or inside.function != "__init__":
        return written
    code, variables = inside.frame.f_code, inside.locals
    names = code.co_varnames[1 : code.co_argcount]
    return [variables.get(name) for name in names] + [item for item in variables.get("args", ()) if names == ()]


def _makes_tensor(seen: LiveFrame, node: ast.expr) -> bool:
    """A call of a module, of a function of torch's, or of a method of a tensor."""
    function = value_of(seen, node.func) if isinstance(node, ast.Call) else UNKNOWN
    home = getattr(function, "__module__", None) or getattr(type(function), "__module__", "")
    return issubclass(type(function), nn.Module) or (
        callable(function) and not is_a(function, type) and str(home).startswith("torch")
    )


def _called_on_class(crash: LiveCrash, seen: LiveFrame, call: ast.Call) -> ClassUseFact | None:
    """model.parameters() where model is the class itself: no self reaches the method."""
    if not isinstance(call.func, ast.Attribute):
        return None
    cls = value_of(seen, call.func.value)
    inner = crash.innermost
    if not (is_a(cls, type) and issubclass(cls, nn.Module)) or inner is None:
        return None
    if not callable(getattr(cls, call.func.attr, None)):
        return None
    unbound = inner is seen and isinstance(crash.error, TypeError)
    without_self = not inner.user and not issubclass(type(inner.locals.get("self")), nn.Module)
    return class_use(seen, call, cls, [], call.func.value) if unbound or without_self else None


def class_use(
    seen: LiveFrame, call: ast.Call, cls: type, tensors: list[str], named: ast.expr | None = None
) -> ClassUseFact:
    needs = required_arguments(cls)
    spaces = (seen.locals, seen.frame.f_globals)
    objects = dict.fromkeys(name for names in spaces for name, value in list(names.items()) if type(value) is cls)
    return ClassUseFact(
        written=ast.unparse(named or call.func),
        cls=cls.__name__,
        call=ast.unparse(call),
        place=place_at(seen.file, call.lineno),
        tensors=tuple(tensors),
        is_loss=issubclass(cls, nn.modules.loss._Loss),
        weights=any(name in needs for name in _WITH_WEIGHTS),
        torchs=cls.__module__.startswith("torch.nn"),
        needs=tuple(needs),
        objects=tuple(objects),  # names in reach that hold an object of the class
        assigned=_assigned(seen, named or call.func, cls),
    )


def _assigned(seen: LiveFrame, named: ast.expr, cls: type) -> Place:
    """Where another name was given the class: model = Net, self.act = nn.ReLU"""
    if isinstance(named, ast.Name) and named.id != cls.__name__:
        binding = binding_of(seen, named.id)
        return binding.place if binding is not None else Place()
    if isinstance(named, ast.Attribute) and isinstance(named.value, ast.Name):
        owner = value_of(seen, named.value)
        if issubclass(type(owner), nn.Module):
            return attribute_place(type(owner), named.attr) or Place()
    return Place()


# A normalization given one value for each channel: how its batch came to hold a single sample.
_REFUSALS = ("_verify_batch_size", "_verify_spatial_size")
_FUNCTIONS = ("batch_norm", "group_norm", "instance_norm")
_NO_GRADIENTS = ("no_grad", "inference_mode")


def examine_single_value(crash: LiveCrash) -> SingleValueFact | None:
    inner = crash.innermost
    if inner is None or inner.user or inner.function not in _REFUSALS:
        return None
    norm = next((seen for seen in reversed(crash.frames) if seen.function in _FUNCTIONS and not seen.user), None)
    inputs: Any = norm.locals.get("input") if norm is not None else None
    if norm is None or not is_tensor(inputs):
        return None
    users = crash.user_frames
    return SingleValueFact(
        function=norm.function,
        shape=tuple(inputs.shape),
        groups=norm.locals.get("num_groups", 0),
        tracks=norm.locals.get("running_mean") is not None,
        without_gradients=any(_without_gradients(seen) for seen in users),
        trains=any(_trains(seen) for seen in users),
        source=next((source for seen in users for source in _sources(crash, seen) if source.last == 1), None),
    )


def _without_gradients(seen: LiveFrame) -> bool:
    """Whether the line stands in `with no_grad():`, or in a function that is decorated with it."""
    written: list[ast.expr] = []
    for node in nodes_of(tree_of(seen.file) or ast.Module([], [])):
        if isinstance(node, ast.With) and covers(node, seen.line):
            written += [item.context_expr for item in node.items]
        elif isinstance(node, ast.FunctionDef) and covers(node, seen.line) and node.name == seen.function:
            written += node.decorator_list
    return any(name in ast.unparse(part) for part in written for name in _NO_GRADIENTS)


def _trains(seen: LiveFrame) -> bool:
    """Whether the loop around the line, else its function, calls backward."""
    around: ast.AST = next(iter(for_statements(seen)), None) or Scope(seen).function
    called = (node.func for node in ast.walk(around) if isinstance(node, ast.Call))
    return any(isinstance(function, ast.Attribute) and function.attr == "backward" for function in called)


def _sources(crash: LiveCrash, seen: LiveFrame) -> Iterator[BatchSource]:
    """What the loops around a frame's line go through, where one batch of theirs is in the frame now."""
    for loop in for_statements(seen):
        line = place_at(seen.file, loop.lineno)
        for name, loader in loader_in(loop.iter, seen):
            samples, size = length_of(loader.sampler), loader.batch_size
            if samples and size and not loader.drop_last and _holds_one(loop.target, seen):
                made = loader_place(crash, loader)
                whole = statement_place(made.file, made.line) if made.file and made.line else Place()
                yield BatchSource(name, samples, size, line, place=whole)
        if (ranged := _of_range(loop, seen, line)) is not None:
            yield ranged


def _of_range(loop: ast.For, seen: LiveFrame, place: Place) -> BatchSource | None:
    """for start in range(0, len(x), 16), in its last round"""
    arguments = loop.iter.args if isinstance(loop.iter, ast.Call) and ast.unparse(loop.iter.func) == "range" else []
    if len(arguments) != 3 or not isinstance(loop.target, ast.Name):
        return None
    lengths = [  # also len(x) and len(dataset)
        length_of(computed_or_none(node.args[0], seen))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "len" and len(node.args) == 1
        else computed_or_none(node, seen)
        for node in arguments
    ]
    first, end, step = (number if type(number) is int else None for number in lengths)
    if first != 0 or not end or not step or seen.locals.get(loop.target.id) != end - 1:
        return None
    return BatchSource(ast.unparse(loop.iter), end, step, place, is_range=True)


def _holds_one(target: ast.expr, seen: LiveFrame) -> bool:
    """Whether a tensor of the batch in hand has one sample; where none is seen, nothing speaks against it."""
    values: list[Any] = [seen.locals.get(node.id) for node in ast.walk(target) if isinstance(node, ast.Name)]
    for value in list(values):
        if is_a(value, Mapping):
            values += value.values()
        elif is_one_of(value, (tuple, list)):
            values += value
    tensors = [value for value in values if is_tensor(value)]
    return not tensors or any(part.shape[:1] == (1,) for part in tensors)
