"""Modules that were called and have no forward, or one that takes other arguments."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Mapping
from typing import Any

from torch import nn

from torch_debugger.anatomy.kinds import is_a
from torch_debugger.anatomy.places import forward_place
from torch_debugger.probes.examiners.class_sources import ClassSource, source_of
from torch_debugger.probes.examiners.reading import words_for
from torch_debugger.probes.examiners.scene import Scene
from torch_debugger.records import Place
from torch_debugger.records.evidence.building import ArgumentsFact, ForwardFact, MethodFact

_CALLERS = ("_call_impl", "_wrapped_call_impl", "inner")  # inner: where hooks are on
_OTHER_NAMES = ("call", "__forward__", "_forward", "Forward", "predict")
_CLOSE = 0.75  # of difflib: foward, forwards, farward; not backward
_KEYS = 8


def examine_forward(scene: Scene) -> ForwardFact | None:
    inner = scene.innermost
    if inner is None or inner.function != "_forward_unimplemented" or not inner.file.endswith("module.py"):
        return None
    module = inner.frame.f_locals.get("self")
    if not issubclass(type(module), nn.Module):
        return None
    cls, source = type(module), source_of(type(module))
    return ForwardFact(
        path=scene.paths.get(id(module), ""),
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


def examine_arguments(scene: Scene) -> ArgumentsFact | None:
    """A call that Python could not bind to forward: it failed before a frame of forward existed."""
    inner = scene.innermost
    if not isinstance(scene.error, TypeError) or inner is None or inner.function not in _CALLERS or inner.user:
        return None
    held = inner.frame.f_locals
    module, args, kwargs = held.get("self"), held.get("args"), held.get("kwargs")
    if not is_a(module, nn.Module) or type(args) is not tuple or type(kwargs) is not dict:
        return None
    function = getattr(type(module), "forward", None)
    signature = inspect.signature(function) if callable(function) else None
    if signature is None or _binds(signature, module, args, kwargs):
        return None
    takes, required = _positional(signature)
    return ArgumentsFact(
        path=scene.paths.get(id(module), ""),
        cls=type(module).__name__,
        place=forward_place(module),
        takes=takes,
        required=required,
        given=tuple(words_for(value) for value in args),
        keywords=tuple(kwargs),
        caller=_container(scene, module),
        without_self=_is_without_self(signature),
    )


def _binds(signature: inspect.Signature, module: nn.Module, args: Any, kwargs: Mapping[str, Any]) -> bool:
    try:
        signature.bind(module, *args, **kwargs)
    except TypeError:
        return False
    return True


def _positional(signature: inspect.Signature) -> tuple[tuple[str, ...], tuple[str, ...]]:
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    found = [item for item in signature.parameters.values() if item.kind in kinds]
    found = found if _is_without_self(signature) else found[1:]
    return tuple(item.name for item in found), tuple(
        item.name for item in found if item.default is inspect.Parameter.empty
    )


def _is_without_self(signature: inspect.Signature) -> bool:
    first = next(iter(signature.parameters.values()), None)
    return first is None or (
        first.kind is first.POSITIONAL_OR_KEYWORD and first.name in ("x", "input", "inputs")
    )


def _container(scene: Scene, module: nn.Module) -> str:
    """The torch container whose forward called the module: it hands on one input."""
    outside = [seen for seen in scene.frames if seen.frame.f_locals.get("self") is not module]
    if outside and not outside[-1].user and is_a(outside[-1].module(), nn.Sequential):
        return scene.paths.get(id(outside[-1].module()), "")
    return ""
