"""What would fit: the model's training step measured at two batch sizes, with autocast, and by blocks."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from torch import nn
from torch.utils._pytree import tree_leaves

from torch_debugger.anatomy.step_memory import StepMemory, TooLongError, measure_step
from torch_debugger.clocks import time
from torch_debugger.probes.crash_frames import is_tensor
from torch_debugger.probes.examiners.scene import Scene
from torch_debugger.records.evidence.memory import Forecast, ModuleBytes

_TIME_LIMIT_S = 15.0
_MODULES = 4
# Measured on an H200: fake steps come to 0.98 of the true peak, and pieces too small to use take up to 4 %.
_MARGIN = 0.93

Call = tuple[str, nn.Module, tuple[Any, ...], Mapping[str, Any]]


def forecast(
    scene: Scene, models: Mapping[str, nn.Module], room_bytes: int, fixed_bytes: int
) -> Forecast | None:
    """What a step of the largest model needs, and the largest batch for the room beside what is fixed."""
    call = _call(scene, models)
    batch = _batch(call) if call is not None else 0
    if call is None or batch < 1:
        return None
    sys.stderr.write("torch-debugger: out of memory; working out what would fit, at most 15 s ...\n")
    deadline = time.monotonic() + _TIME_LIMIT_S
    whole = _measured(call, deadline)
    if whole is None:
        return None
    smaller = max(1, batch // 2)
    half = _measured(call, deadline, keep=_shortened(batch, smaller)) if batch > 1 else None
    mixed = _measured(call, deadline, autocast=True)
    slope = (whole.peak_bytes - half.peak_bytes) // (batch - smaller) if half is not None else 0
    return Forecast(
        model=call[0],
        batch=batch,
        peak_bytes=whole.peak_bytes,
        saved_bytes=whole.saved_bytes,
        sample_bytes=slope,
        largest_batch=_largest(
            whole.peak_bytes - slope * batch, slope + _sample(call, batch), room_bytes, fixed_bytes
        )
        if slope > 0
        else 0,
        modules=tuple(_by_module(call, whole)),
        autocast_bytes=mixed.peak_bytes if mixed is not None else 0,
        **_checkpointed(call, whole),
    )


def _call(scene: Scene, models: Mapping[str, nn.Module]) -> Call | None:
    """The outermost module call of the traceback, else what a model was last called with."""
    for seen in scene.frames:
        module, held = seen.module(), seen.frame.f_locals
        if module is not None and seen.function in ("_call_impl", "_wrapped_call_impl"):
            args, kwargs = held.get("args"), held.get("kwargs")
            if type(args) is tuple and type(kwargs) is dict:
                return scene.paths.get(id(module), "model"), module, args, kwargs
    known = [(name, model) for name, model in models.items() if name in scene.running.calls]
    if not known:
        return None
    name, model = max(known, key=lambda pair: sum(parameter.numel() for parameter in pair[1].parameters()))
    return name, model, *scene.running.calls[name]


def _batch(call: Call) -> int:
    given = [item for item in tree_leaves(call[2:]) if is_tensor(item) and item.dim() > 0]
    return int(given[0].shape[0]) if given else 0


def _sample(call: Call, batch: int) -> int:
    """The bytes of one sample of the batch itself."""
    given = [item for item in tree_leaves(call[2:]) if is_tensor(item) and item.dim() > 0]
    return sum(item.numel() * item.element_size() // batch for item in given if item.shape[0] == batch)


def _shortened(batch: int, size: int) -> Callable[[torch.Tensor], torch.Tensor]:
    return lambda tensor: tensor[:size].clone() if tensor.dim() and tensor.shape[0] == batch else tensor


def _measured(call: Call, deadline: float, **how: Any) -> StepMemory | None:
    with contextlib.suppress(Exception, TooLongError):  # a forward that needs values cannot be measured
        return measure_step(call[1], call[2], call[3], deadline=deadline, **how)
    return None


def _largest(constant: int, sample: int, room: int, fixed: int) -> int:
    """How many samples fit: `constant` is what a step of no sample at all would need."""
    return max(0, int((room * _MARGIN - fixed - constant) // sample))


def _by_module(call: Call, measured: StepMemory) -> Iterator[ModuleBytes]:
    """The modules that save most: the children of the model, each with all that is in it."""
    name, model = call[0], call[1]
    children = [(f"{name}.{path}", child) for path, child in model.named_children()]
    if len(children) == 1:
        children = [(f"{children[0][0]}.{path}", child) for path, child in children[0][1].named_children()]
    sizes = [(_saved_in(child, measured), path, child) for path, child in children]
    for size, path, child in sorted(sizes, key=lambda item: -item[0])[:_MODULES]:
        if size:
            yield ModuleBytes(path, type(child).__name__, size)


def _saved_in(module: nn.Module, measured: StepMemory) -> int:
    """By the module; a ModuleList is never called itself, so by its children."""
    own = measured.by_module.get(id(module), 0)
    return own or sum(_saved_in(child, measured) for child in module.children())


def _checkpointed(call: Call, measured: StepMemory) -> dict[str, Any]:
    """The blocks of one kind that save most; checkpointed, each keeps its input and one at a time the rest."""
    best, path = 0, ""
    for name, module in call[1].named_modules():
        blocks = [child for child in module.children() if next(child.children(), None) is not None]
        if len(blocks) < 2 or len({type(block) for block in blocks}) != 1:
            continue
        sizes = [_saved_in(block, measured) - measured.inputs.get(id(block), 0) for block in blocks]
        saving = sum(sizes) - max(sizes)
        if saving > best:
            best, path = saving, f"{call[0]}.{name}" if name else call[0]
    return {"repeated": path, "checkpointed_bytes": best}
