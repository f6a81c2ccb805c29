"""Where the bytes of a device went, and what would fit."""

from __future__ import annotations

import contextlib
import itertools
import math
import re
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.utils._pytree import tree_leaves

from torch_debugger.crashes.expressions import running_expression
from torch_debugger.crashes.frames import LiveCrash, LiveFrame, is_tensor
from torch_debugger.model.step_memory import StepMemory, TooLongError, measure_step
from torch_debugger.model.tensor_memory import nodes_from, saved_by
from torch_debugger.records import Place
from torch_debugger.records.crash import Forecast, KeptTensors, MemoryEvidence, ModuleBytes
from torch_debugger.source.assignments import addition_to
from torch_debugger.source.objects import is_a, is_one_of
from torch_debugger.stats.resources import host_memory
from torch_debugger.system.clocks import time

_DEVICE_FORM = re.compile(r"Tried to allocate ([\d.]+) ([KMG]i?B).*?GPU (\d+)", re.DOTALL)
_ALLOWED = re.compile(r"([\d.]+) ([KMG]iB) allowed")  # by set_per_process_memory_fraction
_UNITS = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "KB": 2**10, "MB": 2**20, "GB": 2**30}


def examine_memory(crash: LiveCrash) -> MemoryEvidence | None:
    """An allocation that failed: on a CUDA device, or in the memory of the host."""
    text = str(crash.error)
    if isinstance(crash.error, torch.OutOfMemoryError):
        return _of_device(crash, text)
    requested_bytes = bytes_requested_of_host(crash.error, text)
    if requested_bytes is None:
        return None
    total_bytes, free_bytes = host_memory()
    sizes, call = requested_sizes(crash, text, requested_bytes)
    return MemoryEvidence(
        device="cpu",
        asked_bytes=requested_bytes,
        total_bytes=total_bytes,
        free_bytes=free_bytes,
        sizes=sizes,
        sized_by=call,
    )


def _of_device(crash: LiveCrash, text: str) -> MemoryEvidence | None:
    """The context is alive after a refused allocation: the allocator's counts cost no sync and no memory."""
    found = _DEVICE_FORM.search(text)
    if found is None or not torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        return None
    device = torch.device("cuda", int(found[3]))
    counted = count_by_kind(crash, device)
    reserved = torch.cuda.memory_reserved(device)
    free, total = torch.cuda.mem_get_info(device)
    if allowed := _ALLOWED.search(text):  # the program has limited itself
        most = int(float(allowed[1]) * _UNITS[allowed[2]])
        free, total = min(free, max(0, most - reserved)), min(total, most)
    # Gradients of the step before are mostly still there during forward.
    fixed = counted.parameters + counted.trained + counted.optimizer + counted.optimizer_to_come
    return MemoryEvidence(
        device=str(device),
        asked_bytes=int(float(found[1]) * _UNITS[found[2]]),
        total_bytes=total,
        free_bytes=free,
        allocated_bytes=torch.cuda.memory_allocated(device),
        reserved_bytes=reserved,
        parameter_bytes=counted.parameters,
        gradient_bytes=counted.gradients,
        optimizer_bytes=counted.optimizer,
        kept=kept_tensors(crash, device),
        forecast=forecast(crash, models_of(crash), free + reserved, fixed),
        look=crash.running.memory.get(str(device)),
    )


# Who holds the memory of a device: models, gradients, optimizers, and variables of the user's.
_NAMES, _ITEMS, _KEPT = 2000, 100_000, 5
_WALK_S, _NODES = 1.5, 300_000
_SMALLEST = 2**20  # bytes; less explains no failure
# State that an optimizer makes at its first step, in copies of the parameters.
_STATE_COPIES = {"Adam": 2, "AdamW": 2, "NAdam": 2, "RAdam": 2, "Adamax": 2, "RMSprop": 1, "Adagrad": 1}


@dataclass(frozen=True)
class TensorBytes:
    parameters: int
    trained: int  # of which get a gradient
    gradients: int
    optimizer: int
    optimizer_to_come: int  # at the first step


def models_of(crash: LiveCrash) -> dict[str, nn.Module]:
    """The models that were watched; else the outermost modules of the traceback and of the user's variables."""
    if crash.running.models:
        return dict(crash.running.models)
    found: dict[str, nn.Module] = {}
    for seen in crash.frames:
        module = seen.module()
        if module is not None and id(module) in crash.paths:
            found.setdefault(crash.paths[id(module)].partition(".")[0], module)
            break
    for _, name, value in _variables(crash):
        if issubclass(type(value), nn.Module) and name != "self" and value not in found.values():
            found.setdefault(name, value)
    return found


def count_by_kind(crash: LiveCrash, device: torch.device) -> TensorBytes:
    models, optimizers = models_of(crash), list(crash.running.optimizers.values())
    if not optimizers:
        optimizers = [value for _, _, value in _variables(crash) if is_a(value, torch.optim.Optimizer)]
    parameters = [parameter for model in models.values() for parameter in model.parameters()]
    buffers = [buffer for model in models.values() for buffer in model.buffers()]
    grads = [parameter.grad for parameter in parameters if parameter.grad is not None]
    state = [
        item
        for optimizer in optimizers
        for entries in optimizer.state.values()
        for item in entries.values()
        if is_tensor(item)
    ]
    return TensorBytes(
        parameters=unique_bytes([*parameters, *buffers], device),
        trained=unique_bytes((item for item in parameters if item.requires_grad), device),
        gradients=unique_bytes(grads, device),
        optimizer=unique_bytes(state, device),
        optimizer_to_come=sum(_to_come(optimizer, device) for optimizer in optimizers if not optimizer.state),
    )


def unique_bytes(tensors: Iterable[torch.Tensor], device: torch.device) -> int:
    """The bytes of their storages, each counted once."""
    return sum(_storages(tensors, device).values())


def _storages(tensors: Iterable[torch.Tensor], device: torch.device) -> dict[int, int]:
    storages = [tensor.untyped_storage() for tensor in tensors if tensor.device == device]
    return {storage.data_ptr(): storage.nbytes() for storage in storages}


def _to_come(optimizer: torch.optim.Optimizer, device: torch.device) -> int:
    groups = optimizer.param_groups
    size = unique_bytes((parameter for group in groups for parameter in group["params"]), device)
    momentum = any(group.get("momentum") for group in groups)
    return size * _STATE_COPIES.get(type(optimizer).__name__, int(momentum))


def _variables(crash: LiveCrash) -> Iterator[tuple[LiveFrame, str, Any]]:
    """The user's variables, and the attributes of their objects; each object once."""
    known: set[int] = set()
    for seen in crash.user_frames:
        for name, value in itertools.islice(list(seen.locals.items()), _NAMES):
            if id(value) in known or name.startswith("__"):
                continue
            known.add(id(value))
            yield seen, name, value
            if name == "self" and type(vars(value) if hasattr(value, "__dict__") else None) is dict:
                yield from ((seen, f"self.{key}", item) for key, item in list(vars(value).items())[:_NAMES])


def kept_tensors(crash: LiveCrash, device: torch.device) -> tuple[KeptTensors, ...]:
    """Variables that hold much of the device, their graphs included; the largest first."""
    models = models_of(crash)
    known = _storages((tensor for model in models.values() for tensor in model.parameters()), device)
    deadline, found = time.monotonic() + _WALK_S, []
    for seen, name, value in _variables(crash):
        tensors = [tensor for tensor in _inside(value) if tensor.device == device]
        own = {key: size for key, size in _storages(tensors, device).items() if key not in known}
        tracked = sum(tensor.grad_fn is not None for tensor in tensors)
        place, added = addition_to(seen.file, name) if tensors else (Place(), "")
        # several tensors with a graph, or one that is added to again and again; the last loss is no hoard
        keeps_graphs = tracked > 1 or (tracked == 1 and bool(place.file))
        graph = _graph(tensors, device, {**known, **own}, deadline) if keeps_graphs else 0
        size = sum(own.values())
        if size + graph >= _SMALLEST:
            shape = tuple(max(tensors, key=lambda tensor: tensor.numel()).shape)
            found.append(KeptTensors(name, len(tensors), size, graph, place, added, shape))
    found.sort(key=lambda kept: -(kept.size_bytes + kept.graph_bytes))
    return tuple(found[:_KEPT])


def _inside(value: Any) -> list[torch.Tensor]:
    """A tensor, or those in a container and in the containers inside that."""
    if is_tensor(value):
        return [value]
    if not is_one_of(value, (list, tuple, dict, deque, set)):
        return []
    items = list(itertools.islice(value.values() if type(value) is dict else value, _ITEMS))
    return [
        part
        for item in items
        for part in ([item] if is_tensor(item) else item if is_one_of(item, (list, tuple)) else ())
        if is_tensor(part)
    ]


def _graph(tensors: list[torch.Tensor], device: torch.device, known: dict[int, int], deadline: float) -> int:
    """The bytes that the tensors' autograd graphs still hold for a backward pass."""
    sizes: dict[int, int] = {}
    for node in nodes_from((tensor.grad_fn for tensor in tensors), set(), _NODES):
        sizes |= _storages(saved_by(node), device)
        if time.monotonic() > deadline:
            break
    return sum(size for key, size in sizes.items() if key not in known)


# What would fit: the model's training step measured at two batch sizes, with autocast, and by blocks.
_TIME_LIMIT_S = 15.0
_MODULES = 4
# Measured on an H200: fake steps come to 0.98 of the true peak, and pieces too small to use take up to 4 %.
_MARGIN = 0.93

Call = tuple[str, nn.Module, tuple[Any, ...], Mapping[str, Any]]


def forecast(crash: LiveCrash, models: Mapping[str, nn.Module], room_bytes: int, fixed_bytes: int) -> Forecast | None:
    """What a step of the largest model needs, and the largest batch for the room beside what is fixed."""
    call = _call(crash, models)
    inputs = [item for item in tree_leaves(call[2:] if call else ()) if is_tensor(item) and item.dim() > 0]
    batch = int(inputs[0].shape[0]) if inputs else 0
    if call is None or batch < 1:
        return None
    sys.stderr.write("torch-debugger: out of memory; working out what would fit, at most 15 s ...\n")
    deadline = time.monotonic() + _TIME_LIMIT_S
    whole = _measured(call, deadline)
    if whole is None:
        return None
    smaller = max(1, batch // 2)

    def shortened(tensor: torch.Tensor) -> torch.Tensor:
        return tensor[:smaller].clone() if tensor.dim() and tensor.shape[0] == batch else tensor

    half = _measured(call, deadline, keep=shortened) if batch > 1 else None
    mixed = _measured(call, deadline, autocast=True)
    slope = (whole.peak_bytes - half.peak_bytes) // (batch - smaller) if half is not None else 0
    largest = 0
    if slope > 0:  # `constant` is what a step of no sample at all would need
        sample = sum(item.numel() * item.element_size() // batch for item in inputs if item.shape[0] == batch)
        constant = whole.peak_bytes - slope * batch
        largest = max(0, int((room_bytes * _MARGIN - fixed_bytes - constant) // (slope + sample)))
    return Forecast(
        model=call[0],
        batch=batch,
        peak_bytes=whole.peak_bytes,
        saved_bytes=whole.saved_bytes,
        sample_bytes=slope,
        largest_batch=largest,
        modules=tuple(_by_module(call, whole)),
        autocast_bytes=mixed.peak_bytes if mixed is not None else 0,
        **_checkpointed(call, whole),
    )


def _call(crash: LiveCrash, models: Mapping[str, nn.Module]) -> Call | None:
    """The outermost module call of the traceback, else what a model was last called with."""
    for seen in crash.frames:
        module, variables = seen.module(), seen.locals
        if module is not None and seen.function in ("_call_impl", "_wrapped_call_impl"):
            args, kwargs = variables.get("args"), variables.get("kwargs")
            if type(args) is tuple and type(kwargs) is dict:
                return crash.paths.get(id(module), "model"), module, args, kwargs
    known = [(name, model) for name, model in models.items() if name in crash.running.calls]
    if not known:
        return None
    name, model = max(known, key=lambda pair: sum(parameter.numel() for parameter in pair[1].parameters()))
    return name, model, *crash.running.calls[name]


def _measured(call: Call, deadline: float, **how: Any) -> StepMemory | None:
    with contextlib.suppress(Exception, TooLongError):  # a forward that needs values cannot be measured
        return measure_step(call[1], call[2], call[3], deadline=deadline, **how)
    return None


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


# An allocation that the host refused: how many bytes, and the sizes that were asked for.
_TORCH_FORM = re.compile(
    r"DefaultCPUAllocator: (?:can't allocate|not enough) memory: you tried to allocate (\d+) bytes"
)
_NUMPY_FORM = re.compile(r"Unable to allocate [\d.]+ \w+ for an array with shape \(([\d, ]+)\) and data type (\S+)")
_OVERFLOW_FORM = re.compile(r"Storage size calculation overflowed with sizes=\[([\d, ]+)\]")
_WIDTHS = {"float64": 8, "int64": 8, "uint64": 8, "complex128": 16, "float32": 4, "int32": 4, "uint32": 4,
           "float16": 2, "int16": 2, "complex64": 8}  # fmt: skip


def bytes_requested_of_host(error: BaseException, text: str) -> int | None:
    """The bytes that were asked for; None for any other exception."""
    if isinstance(error, RuntimeError) and (match := _TORCH_FORM.search(text)):
        return int(match[1])
    if isinstance(error, MemoryError) and (match := _NUMPY_FORM.search(text)):
        return math.prod(_numbers(match[1])) * _WIDTHS.get(match[2], 1)
    if isinstance(error, RuntimeError) and (match := _OVERFLOW_FORM.search(text)):
        return math.prod(_numbers(match[1])) * 4
    return None


def requested_sizes(crash: LiveCrash, text: str, total: int) -> tuple[tuple[int, ...], str]:
    """The sizes of the tensor that was to be made, from the message or from a layer's constructor."""
    match = _NUMPY_FORM.search(text) or _OVERFLOW_FORM.search(text)
    seen = crash.user_frame
    call = running_expression(seen) if seen is not None else ""
    if match is not None:
        return _numbers(match[1]), call
    for frame in crash.frames:
        if frame.function == "__init__" and frame.frame.f_code.co_filename.find("torch") >= 0:
            variables = frame.locals
            # of a Linear, of an Embedding
            for names in (("out_features", "in_features"), ("num_embeddings", "embedding_dim")):
                sizes = tuple(variables[name] for name in names if type(variables.get(name)) is int)
                if len(sizes) == 2 and math.prod(sizes) in (total, total // 2, total // 4, total // 8):
                    return sizes, call
            break
    return (), call


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(",") if part.strip())
