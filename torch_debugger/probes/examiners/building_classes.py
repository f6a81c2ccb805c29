"""Module classes used where an object of them is meant: nn.ReLU(x), Net(x), model = Net."""

from __future__ import annotations

import ast
import inspect
from typing import Any

from torch import nn

from torch_debugger.anatomy.kinds import is_a
from torch_debugger.anatomy.sources import place_at
from torch_debugger.anatomy.statements import attribute_place
from torch_debugger.probes.crash_frames import Seen, is_tensor
from torch_debugger.probes.examiners.reading import UNKNOWN, binding_of, calls_in, value_of, words_for
from torch_debugger.probes.examiners.scene import Scene
from torch_debugger.records import Place
from torch_debugger.records.evidence.building import ClassUseFact

_WITH_WEIGHTS = (
    "in_features",
    "in_channels",
    "num_embeddings",
    "num_features",
    "normalized_shape",
    "input_size",
)


def examine_class_use(scene: Scene) -> ClassUseFact | None:
    """The call that raised: it builds a module from tensors, or asks a class what only an object can do."""
    found: ClassUseFact | None = None
    for seen in reversed([seen for seen in scene.frames if seen.user]):
        for call in calls_in(seen):
            made = _built_from_tensors(scene, seen, call)
            # A class of the user's may well be built from tensors; not so where a layer's size is one of them.
            if made is not None and (made.torchs or found is not None or seen is scene.innermost):
                found = made
            found = found or _asked_the_class(scene, seen, call)
        if not _is_init(seen):
            break  # only constructors of the user's may lie between the call and the error
    return found


def _is_init(seen: Seen) -> bool:
    return seen.function == "__init__" and seen.module() is not None


def _built_from_tensors(scene: Scene, seen: Seen, call: ast.Call) -> ClassUseFact | None:
    cls = value_of(seen, call.func)
    if not _is_module_class(cls):
        return None
    given = _given(scene, seen, call)
    tensors = [words_for(value) for value in given if is_tensor(value)]
    tensors = tensors or [
        f"what `{ast.unparse(node)}` returns" for node in call.args if _makes_tensor(seen, node)
    ]
    built_for_it = bool({"weight", "pos_weight"} & {str(word.arg) for word in call.keywords})
    return class_use(seen, call, cls, tensors) if tensors and not built_for_it else None


def _given(scene: Scene, seen: Seen, call: ast.Call) -> list[Any]:
    """What the constructor was given: as the line names it, else as its frame holds it."""
    written = [value_of(seen, node) for node in (*call.args, *(word.value for word in call.keywords))]
    if any(value is not UNKNOWN and is_tensor(value) for value in written):
        return written
    index = next(place for place, frame in enumerate(scene.frames) if frame is seen)
    # Once torch.compile was used, dynamo stands around every module's constructor.
    within = (frame for frame in scene.frames[index + 1 :] if frame.function != "patched_init")
    inside = next(within, None)
    if inside is None or inside.function != "__init__":
        return written
    code, held = inside.frame.f_code, inside.frame.f_locals
    names = code.co_varnames[1 : code.co_argcount]
    return [held.get(name) for name in names] + [item for item in held.get("args", ()) if names == ()]


def _makes_tensor(seen: Seen, node: ast.expr) -> bool:
    """A call of a module, of a function of torch's, or of a method of a tensor."""
    function = value_of(seen, node.func) if isinstance(node, ast.Call) else UNKNOWN
    home = getattr(function, "__module__", None) or getattr(type(function), "__module__", "")
    return issubclass(type(function), nn.Module) or (
        callable(function) and not is_a(function, type) and str(home).startswith("torch")
    )


def _asked_the_class(scene: Scene, seen: Seen, call: ast.Call) -> ClassUseFact | None:
    """model.parameters() where model is the class itself: no self reaches the method."""
    if not isinstance(call.func, ast.Attribute):
        return None
    cls = value_of(seen, call.func.value)
    inner = scene.innermost
    if not _is_module_class(cls) or inner is None or not callable(getattr(cls, call.func.attr, None)):
        return None
    unbound = inner is seen and isinstance(scene.error, TypeError)
    without_self = not inner.user and not issubclass(type(inner.frame.f_locals.get("self")), nn.Module)
    return class_use(seen, call, cls, [], call.func.value) if unbound or without_self else None


def _is_module_class(cls: Any) -> bool:
    return is_a(cls, type) and issubclass(cls, nn.Module)


def class_use(
    seen: Seen, call: ast.Call, cls: type, tensors: list[str], named: ast.expr | None = None
) -> ClassUseFact:
    needs = _needs(cls)
    return ClassUseFact(
        written=ast.unparse(named or call.func),
        cls=cls.__name__,
        call=ast.unparse(call),
        place=place_at(seen.file, call.lineno),
        tensors=tuple(tensors),
        is_loss=issubclass(cls, nn.modules.loss._Loss),
        weights=any(name in needs for name in _WITH_WEIGHTS),
        torchs=cls.__module__.startswith("torch.nn"),
        needs=needs,
        objects=_objects(seen, cls),
        assigned=_assigned(seen, named or call.func, cls),
    )


def _needs(cls: type) -> tuple[str, ...]:
    try:
        parameters = list(inspect.signature(cls).parameters.values())
    except (TypeError, ValueError):
        return ()
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return tuple(item.name for item in parameters if item.default is item.empty and item.kind not in kinds)


def _objects(seen: Seen, cls: type) -> tuple[str, ...]:
    """Names in reach that hold an object of the class."""
    scopes = (seen.frame.f_locals, seen.frame.f_globals)
    return tuple(
        dict.fromkeys(name for names in scopes for name, value in list(names.items()) if type(value) is cls)
    )


def _assigned(seen: Seen, named: ast.expr, cls: type) -> Place:
    """Where another name was given the class: model = Net, self.act = nn.ReLU"""
    if isinstance(named, ast.Name) and named.id != cls.__name__:
        binding = binding_of(seen, named.id)
        return binding.place if binding is not None else Place()
    if isinstance(named, ast.Attribute) and isinstance(named.value, ast.Name):
        owner = value_of(seen, named.value)
        if issubclass(type(owner), nn.Module):
            return attribute_place(type(owner), named.attr) or Place()
    return Place()
