"""Which module each frame of a traceback belongs to, and the torch layer that was running."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from torch import nn
from torch.nn.utils.rnn import PackedSequence

from torch_debugger.crashes.frames import LiveFrame, constructions_of, describe, is_tensor
from torch_debugger.records import LayerFact, LocalTensor, Place
from torch_debugger.source.constructors import constructor_places
from torch_debugger.source.files import place_at
from torch_debugger.source.objects import is_a, is_one_of
from torch_debugger.source.variables import name_root

_SETTINGS = (
    "in_features", "out_features", "in1_features", "in2_features", "in_channels", "out_channels", "groups",
    "kernel_size", "stride", "padding", "dilation", "num_features", "normalized_shape", "num_groups",
    "num_channels", "num_embeddings", "embedding_dim", "input_size", "hidden_size", "num_layers",
    "bidirectional", "batch_first", "embed_dim", "num_heads", "kdim", "vdim", "reduction", "ignore_index",
    "label_smoothing", "proj_size", "dim", "unflattened_size", "ceil_mode", "output_size",
)  # fmt: skip
PACKED = "packed"  # the name of an input that was a packed sequence
_CALLERS = ("_call_impl", "_wrapped_call_impl")
_MODULE_LIMIT, _STRAY_LIMIT = 50_000, 1000


def module_paths(frames: Sequence[LiveFrame], roots: Mapping[int, str]) -> dict[int, str]:
    """id(module) -> path, for every module under a root that the traceback went through."""
    paths: dict[int, str] = {}
    owner: nn.Module | None = None
    for index, seen in enumerate(frames):
        module = seen.module()
        if module is None:
            continue
        if id(module) not in paths:
            outside = frames[index - 1].frame if index else seen.frame
            _name_strays(owner, paths)
            name = roots.get(id(module)) or paths.get(id(module)) or name_root(module, outside)
            _name_below(module, name, paths)
        owner = module
    return paths


def _name_below(root: nn.Module, root_name: str, paths: dict[int, str]) -> None:
    waiting = [(root_name, root)]
    for path, module in waiting:
        if id(module) not in paths and len(paths) < _MODULE_LIMIT:
            paths[id(module)] = path
            children = vars(module).get("_modules", {})
            waiting += [(f"{path}.{name}", child) for name, child in children.items() if child is not None]


def _name_strays(owner: nn.Module | None, paths: dict[int, str]) -> None:
    """Name the modules that an owner keeps in a plain list or dict: net.layers[0]"""
    for name, value in list(vars(owner).items()) if owner is not None else ():
        items: list[tuple[Any, Any]] = []
        if is_one_of(value, (list, tuple)):
            items = list(enumerate(value[:_STRAY_LIMIT]))
        elif type(value) is dict and not name.startswith("_"):
            items = list(value.items())[:_STRAY_LIMIT]
        for key, item in items:
            if issubclass(type(item), nn.Module) and is_one_of(key, (int, str)):
                _name_below(item, f"{paths[id(owner)]}.{name}[{key!r}]", paths)


def find_layer(frames: Sequence[LiveFrame], paths: Mapping[int, str]) -> LayerFact | None:
    """The innermost module of the traceback, if the code that ran is that of one of torch's."""
    ran = next((seen for seen in reversed(frames) if seen.module() is not None), None)
    layer = ran.module() if ran is not None else None
    if ran is None or layer is None or ran.user or not _torch_class(layer):
        return None
    entered = next(index for index, seen in enumerate(frames) if seen.module() is layer)
    path = paths.get(id(layer))
    outside = [seen for seen in frames[:entered] if seen.user]
    call = place_at(outside[-1].file, outside[-1].line, path) if outside else Place(module=path)
    return describe_layer(
        layer,
        path,
        _constructors(frames, paths, layer),
        call,
        _inputs(frames[entered:], layer),
    )


def describe_layer(
    layer: nn.Module,
    path: str | None,
    places: Mapping[str, Place],
    call: Place,
    inputs: tuple[LocalTensor, ...] = (),
) -> LayerFact:
    """A layer of torch's, or of a class that the user derived from one."""
    kind, own = _torch_class(layer), type(layer).__name__
    inits = ((cls, vars(cls).get("__init__")) for cls in type(layer).__mro__)
    owner, init = next((cls, init) for cls, init in inits if init is not None)
    code = getattr(init, "__code__", None)
    is_users = code is not None and not owner.__module__.startswith("torch.nn")
    tensors = [(name, each) for name, each in vars(layer).get("_parameters", {}).items() if is_tensor(each)]
    facts = [describe(name, each) for name, each in tensors]
    return LayerFact(
        path=path,
        kind=kind,
        settings=_settings(layer),
        place=places.get(path or "", Place(module=path)),
        call=call,
        inputs=inputs,
        parameters=tuple(fact for fact in facts if fact is not None),
        constructions=tuple(constructions_of(path or "", own, places)),
        # of a tensor that is no leaf torch would warn when asked
        ran_before=any(each.is_leaf and each.grad is not None for _, each in tensors),
        user_class=own if own != kind else "",
        user_arguments=tuple(code.co_varnames[1 : code.co_argcount]) if code is not None and is_users else (),
    )


def _torch_class(layer: nn.Module) -> str:
    """Linear, for a class of the user's that derives from it too; empty for what is a plain nn.Module."""
    kinds = [cls for cls in type(layer).__mro__ if cls.__module__.startswith("torch.nn")]
    return kinds[0].__name__ if kinds and kinds[0] is not nn.Module else ""


def _settings(layer: nn.Module) -> dict[str, int | float | str]:
    attributes = vars(layer)
    kept: dict[str, int | float | str] = {}
    for name in _SETTINGS:
        value = attributes.get(name)
        if is_a(value, tuple):
            kept[name] = str(tuple(value))
        elif value is not None and is_one_of(value, (bool, int, float, str)):
            kept[name] = value
    return kept


def _constructors(frames: Sequence[LiveFrame], paths: Mapping[int, str], layer: nn.Module) -> dict[str, Place]:
    """The lines that construct the layer and the modules around it."""
    path = paths.get(id(layer))
    files = list(dict.fromkeys(seen.file for seen in reversed(frames) if seen.user))
    for seen in frames:
        module = seen.module()
        if module is not None and path is not None:
            name = paths[id(module)]
            if path == name or path.startswith(f"{name}."):
                return constructor_places(module, name, files)
    return {}


def arguments_of(frames: Sequence[LiveFrame], layer: nn.Module) -> dict[str, Any]:
    """What a layer was called with, under the names of its forward: as its caller gave it, where nothing was
    rebound yet."""
    arguments: dict[str, Any] = {}
    names: list[str] = []
    for seen in frames:
        if seen.module() is not layer:
            continue
        if seen.function in _CALLERS and not arguments and type(seen.locals.get("args")) is tuple:
            arguments = {str(place): value for place, value in enumerate(seen.locals["args"])}
            arguments |= dict(seen.locals["kwargs"])
        elif seen.function == "forward":
            code = seen.frame.f_code
            names = list(code.co_varnames[1 : code.co_argcount])
            arguments = arguments or {name: seen.locals.get(name) for name in names}
            break
    return {names[int(key)] if key.isdigit() and int(key) < len(names) else key: arguments[key] for key in arguments}


def _inputs(frames: Sequence[LiveFrame], layer: nn.Module) -> tuple[LocalTensor, ...]:
    arguments = list(arguments_of(frames, layer).items())
    first: Any = arguments[0][1] if arguments else None
    facts: list[LocalTensor | None] = []
    if is_a(first, PackedSequence):  # under the shape it would have if it were padded
        data = describe(PACKED, first.data)
        assert data is not None
        sizes = len(first.batch_sizes), int(first.batch_sizes[0])  # steps, samples
        leading = sizes[::-1] if getattr(layer, "batch_first", False) else sizes
        facts.append(dataclasses.replace(data, shape=(*leading, *data.shape[1:])))
    elif is_tensor(first):
        facts.append(describe(arguments[0][0], first))
    else:
        return ()  # of a list, what follows must not be taken for the input
    for name, value in arguments[1:]:
        # the (h, c) of an LSTM
        parts = (
            [(f"{name}[{index}]", part) for index, part in enumerate(value[:2])]
            if is_one_of(value, (tuple, list))
            else []
        )
        facts += [describe(part, item) for part, item in [(name, value), *parts] if is_tensor(item)]
    return tuple(fact for fact in facts if fact is not None)
