"""Which module each frame of a traceback belongs to, and the torch layer that was running."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from torch import nn

from torch_debugger.anatomy.naming import name_root
from torch_debugger.anatomy.places import constructor_places
from torch_debugger.anatomy.sources import place_at
from torch_debugger.probes.crash_frames import Seen, describe, is_tensor
from torch_debugger.probes.crash_source import constructions_of
from torch_debugger.records import LayerFact, LocalTensor, Place

_SETTINGS = (
    "in_features", "out_features", "in1_features", "in2_features", "in_channels", "out_channels", "groups",
    "kernel_size", "stride", "padding", "dilation", "num_features", "normalized_shape", "num_groups",
    "num_channels", "num_embeddings", "embedding_dim", "input_size", "hidden_size", "num_layers",
    "bidirectional", "batch_first", "embed_dim", "num_heads", "kdim", "vdim", "reduction", "ignore_index",
    "label_smoothing", "proj_size", "dim", "unflattened_size", "ceil_mode", "output_size",
)  # fmt: skip
_CALLERS = ("_call_impl", "_wrapped_call_impl")
_MODULE_LIMIT, _STRAY_LIMIT = 50_000, 1000


def module_paths(frames: Sequence[Seen], roots: Mapping[int, str]) -> dict[int, str]:
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
        if type(value) in (list, tuple):
            items = list(enumerate(value[:_STRAY_LIMIT]))
        elif type(value) is dict and not name.startswith("_"):
            items = list(value.items())[:_STRAY_LIMIT]
        for key, item in items:
            if issubclass(type(item), nn.Module) and type(key) in (int, str):
                _name_below(item, f"{paths[id(owner)]}.{name}[{key!r}]", paths)


def find_layer(frames: Sequence[Seen], paths: Mapping[int, str]) -> LayerFact | None:
    """The innermost module of the traceback, if it is one of torch's."""
    layer = next((module for seen in reversed(frames) if (module := seen.module()) is not None), None)
    if layer is None or not type(layer).__module__.startswith("torch.nn"):
        return None
    entered = next(index for index, seen in enumerate(frames) if seen.module() is layer)
    path, places = paths.get(id(layer)), _constructors(frames, paths, layer)
    return LayerFact(
        path=path,
        kind=type(layer).__name__,
        settings=_settings(layer),
        place=places.get(path or "", Place(module=path)),
        call=_call_place(frames[:entered], path),
        inputs=_inputs(frames[entered:], layer),
        parameters=_parameters(layer),
        constructions=tuple(constructions_of(path or "", type(layer).__name__, places)),
    )


def _settings(layer: nn.Module) -> dict[str, int | float | str]:
    held = vars(layer)
    kept: dict[str, int | float | str] = {}
    for name in _SETTINGS:
        value = held.get(name)
        if isinstance(value, tuple):
            kept[name] = str(tuple(value))
        elif isinstance(value, int | float | str):
            kept[name] = value
    return kept


def _constructors(frames: Sequence[Seen], paths: Mapping[int, str], layer: nn.Module) -> dict[str, Place]:
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


def _call_place(outside: Sequence[Seen], path: str | None) -> Place:
    for seen in reversed(outside):
        if seen.user:
            return place_at(seen.file, seen.line, path)
    return Place(module=path)


def _inputs(frames: Sequence[Seen], layer: nn.Module) -> tuple[LocalTensor, ...]:
    """What the layer was called with: from the caller's frame, where nothing was rebound yet."""
    given: dict[str, Any] = {}
    names: list[str] = []
    for seen in frames:
        if seen.module() is not layer:
            continue
        code, held = seen.frame.f_code, seen.frame.f_locals
        if seen.function in _CALLERS and not given and type(held.get("args")) is tuple:
            given = {str(place): value for place, value in enumerate(held["args"])} | dict(held["kwargs"])
        elif seen.function == "forward":
            names = list(code.co_varnames[1 : code.co_argcount])
            given = given or {name: held.get(name) for name in names}
            break
    renamed = {names[int(key)] if key.isdigit() and int(key) < len(names) else key: given[key] for key in given}
    if not is_tensor(next(iter(renamed.values()), None)):
        return ()  # a packed sequence, a list: what follows must not be taken for the input
    facts = [describe(name, value) for name, value in _tensors(renamed) if is_tensor(value)]
    return tuple(fact for fact in facts if fact is not None)


def _tensors(given: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """What was given, with the parts of tuples after the first argument: the (h, c) of an LSTM."""
    for place, (name, value) in enumerate(given.items()):
        yield name, value
        if place and type(value) in (tuple, list):
            yield from ((f"{name}[{index}]", part) for index, part in enumerate(value[:2]))


def _parameters(layer: nn.Module) -> tuple[LocalTensor, ...]:
    held = vars(layer).get("_parameters", {})
    facts = [describe(name, value) for name, value in held.items() if is_tensor(value)]
    return tuple(fact for fact in facts if fact is not None)
