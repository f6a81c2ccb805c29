"""State dicts against the module or optimizer whose load_state_dict refused them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from types import FrameType
from typing import Any

import torch
from torch import nn

from torch_debugger.anatomy.kinds import is_a
from torch_debugger.anatomy.naming import name_of, name_root
from torch_debugger.anatomy.places import constructor_places, place_at
from torch_debugger.probes.crash_frames import is_tensor
from torch_debugger.probes.crash_layer import describe_layer
from torch_debugger.probes.crash_values import kind_name
from torch_debugger.probes.examiners.scene import Scene
from torch_debugger.records import LayerFact
from torch_debugger.records.evidence.checkpoints import InnerState, ModelLoad, OptimizerLoad, StateEntry

_ENTRIES, _KEYS, _LAYERS = 3000, 40, 8
_WRAPPERS = ("module", "_orig_mod")  # where DataParallel and DDP, and torch.compile, keep the model


def examine_model_load(scene: Scene) -> ModelLoad | None:
    seen = scene.frame_of("load_state_dict", "module.py")
    held = seen.frame.f_locals if seen is not None else {}
    module, given = held.get("self"), held.get("state_dict")
    if seen is None or scene.innermost is not seen or not is_a(module, nn.Module):
        return None  # an error of somebody's hook or own _load_from_state_dict
    caller = _caller(scene)
    name = name_root(module, caller)
    load = ModelLoad(name, type(module).__name__, kind_name(type(given)), bool(held.get("strict", True)))
    if not is_a(given, Mapping):
        return load
    wanted = dict(_wanted(module))
    return ModelLoad(
        *(load.name, load.kind, load.given, load.strict),
        wrapped=_wrapped(module),
        wanted=tuple(StateEntry(key, shape) for key, shape in itertools.islice(wanted.items(), _ENTRIES)),
        saved=_entries(given),
        others=tuple(str(key) for key, value in given.items() if not is_tensor(value))[:_KEYS],
        inside=tuple(_inside(given)),
        of_optimizer=_of_optimizer(given),
        layers=_differing_layers(scene, module, name, wanted, given),
    )


def _caller(scene: Scene) -> FrameType | None:
    return scene.user_frame.frame if scene.user_frame is not None else None


def _wanted(module: nn.Module) -> Iterator[tuple[str, tuple[int, ...]]]:
    """What its state_dict() would hold, read without calling it: hooks of the user's may hang there."""
    for path, part in module.named_modules(remove_duplicate=False):
        left_out = getattr(part, "_non_persistent_buffers_set", ())
        buffers = {name: value for name, value in part._buffers.items() if name not in left_out}
        for name, value in (*part._parameters.items(), *buffers.items()):
            if is_tensor(value):
                yield f"{path}.{name}".lstrip("."), tuple(value.shape)


def _wrapped(module: nn.Module) -> str:
    children = [name for name, _ in module.named_children()]
    return children[0] if len(children) == 1 and children[0] in _WRAPPERS else ""


def _entries(given: Mapping[Any, Any]) -> tuple[StateEntry, ...]:
    tensors = ((str(key), value) for key, value in given.items() if is_tensor(value))
    return tuple(StateEntry(key, tuple(value.shape)) for key, value in itertools.islice(tensors, _ENTRIES))


def _inside(given: Mapping[Any, Any]) -> Iterator[InnerState]:
    for key, value in itertools.islice(given.items(), _KEYS):
        if type(key) is not str or not is_a(value, Mapping):
            continue
        entries, of_optimizer = _entries(value), _of_optimizer(value)
        if entries or of_optimizer:
            yield InnerState(key, entries, of_optimizer)


def _of_optimizer(given: Mapping[Any, Any]) -> bool:
    return set(given) == {"state", "param_groups"}


def _differing_layers(
    scene: Scene, module: nn.Module, name: str, wanted: Mapping[str, tuple[int, ...]], given: Mapping[Any, Any]
) -> tuple[LayerFact, ...]:
    """The layers whose tensors have another shape in the file, with the lines that build them."""
    odd = [
        key for key, shape in wanted.items() if is_tensor(given.get(key)) and tuple(given[key].shape) != shape
    ]
    paths = list(dict.fromkeys(key.rpartition(".")[0] for key in odd))[:_LAYERS]
    seen = scene.user_frame
    if not paths or seen is None:
        return ()
    files = list(dict.fromkeys(item.file for item in reversed(scene.frames) if item.user))
    places, call = constructor_places(module, name, files), place_at(seen.file, seen.line)
    return tuple(
        describe_layer(module.get_submodule(path), f"{name}.{path}".rstrip("."), places, call) for path in paths
    )


def examine_optimizer_load(scene: Scene) -> OptimizerLoad | None:
    seen = scene.frame_of("load_state_dict", "optimizer.py")
    held = seen.frame.f_locals if seen is not None else {}
    optimizer, given = held.get("self"), held.get("state_dict")
    if seen is None or scene.innermost is not seen or not is_a(optimizer, torch.optim.Optimizer):
        return None
    name = name_of(optimizer, _caller(scene)) or "optimizer"
    groups = tuple(len(group["params"]) for group in optimizer.param_groups)
    if not is_a(given, Mapping):
        return OptimizerLoad(name, type(optimizer).__name__, kind_name(type(given)), groups=groups)
    inner = [(key, value) for key, value in given.items() if type(key) is str and is_a(value, Mapping)]
    return OptimizerLoad(
        *(name, type(optimizer).__name__, kind_name(type(given))),
        keys=tuple(str(key) for key in itertools.islice(given, _KEYS)),
        inside=tuple(key for key, value in inner if _of_optimizer(value)),
        of_model=bool(given) and all(is_tensor(value) for value in given.values()),
        groups=groups,
        saved_groups=_saved_groups(given),
    )


def _saved_groups(given: Mapping[Any, Any]) -> tuple[int, ...]:
    groups = given.get("param_groups")
    return tuple(len(group.get("params", ())) for group in groups) if is_a(groups, list) else ()
