"""How much memory a training step of a model takes, measured on tensors that have shapes and no memory."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

from torch_debugger.anatomy.rerun import leaving_no_trace
from torch_debugger.clocks import time

_ROUNDED = 512  # the caching allocator hands out memory in these steps


class TooLongError(BaseException):
    """Ends a measurement; no `except Exception` of the user's forward may keep it going."""


@dataclass
class StepMemory:
    """Bytes beyond the parameters, the optimizer's state and the batch itself."""

    peak_bytes: int = 0
    saved_bytes: int = 0
    by_module: dict[int, int] = field(default_factory=dict)  # id(module) -> saved by it, children included
    inputs: dict[int, int] = field(default_factory=dict)  # id(module) -> bytes it was given


def measure_step(
    module: nn.Module,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    *,
    keep: Callable[[torch.Tensor], torch.Tensor] = lambda tensor: tensor,
    autocast: bool = False,
    deadline: float = float("inf"),
) -> StepMemory:
    """Forward and backward of the model alone, on fake copies; `keep` may shorten each tensor of the batch.

    Raises what the model raises, and TooLongError after the deadline (of time.monotonic).
    """
    measured = StepMemory()
    fakes = FakeTensorMode(allow_non_fake_inputs=True)
    with fakes, leaving_no_trace(module):
        held = {name: _fake(fakes, tensor) for name, tensor in _tensors_of(module)}
        given = tree_map(
            lambda item: keep(_fake(fakes, item)) if _is_real(item) else item, (args, dict(kwargs))
        )
        live = _LiveBytes()
        device = next((tensor.device.type for tensor in held.values()), "cpu")
        precision = torch.autocast(device, torch.bfloat16) if autocast else contextlib.nullcontext()
        known = [*held.values(), *(item for item in tree_leaves(given) if isinstance(item, torch.Tensor))]
        with live, _saved_by_module(measured, {id(_storage(tensor)) for tensor in known}, deadline):
            with precision, torch.enable_grad():
                made = torch.func.functional_call(module, held, *given)
            _backward(made)
    measured.peak_bytes = live.peak
    return measured


def _tensors_of(module: nn.Module) -> list[tuple[str, torch.Tensor]]:
    return [*module.named_parameters(), *module.named_buffers()]


def _is_real(item: Any) -> bool:
    return isinstance(item, torch.Tensor) and not isinstance(item, FakeTensor)


def _fake(mode: Any, tensor: torch.Tensor) -> torch.Tensor:
    fake: torch.Tensor = mode.from_tensor(tensor.detach(), static_shapes=True)
    return fake.requires_grad_(tensor.requires_grad and tensor.is_floating_point())


def _storage(tensor: torch.Tensor) -> Any:
    return tensor.untyped_storage()


def _backward(made: Any) -> None:
    """From the sum of what came out: the loss itself is not known here."""
    outputs = [item for item in tree_leaves(made) if isinstance(item, torch.Tensor) and item.requires_grad]
    if outputs:
        torch.autograd.backward([output.float().sum() for output in outputs])


class _LiveBytes(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Counts the storages that operations make, for as long as they live."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.now = self.peak = 0
        self._seen: dict[int, weakref.ref[Any]] = {}

    def __torch_dispatch__(
        self, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        made = function(*args, **(kwargs or {}))
        given = {id(_storage(item)) for item in tree_leaves((args, kwargs)) if isinstance(item, torch.Tensor)}
        for item in tree_leaves(made):
            if isinstance(item, torch.Tensor) and id(_storage(item)) not in given:
                self._count(_storage(item))
        return made

    def _count(self, storage: Any) -> None:
        key = id(storage)
        if key in self._seen:
            return
        size = -(-storage.nbytes() // _ROUNDED) * _ROUNDED

        def gone(_: Any) -> None:
            self.now -= size
            self._seen.pop(key, None)

        self._seen[key] = weakref.ref(storage, gone)
        self.now += size
        self.peak = max(self.peak, self.now)


@contextlib.contextmanager
def _saved_by_module(measured: StepMemory, held: set[int], deadline: float) -> Iterator[None]:
    """What autograd keeps for backward, each storage once, told to the modules under way."""
    stack: list[int] = []
    known: dict[int, Any] = dict.fromkeys(held)

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        storage = _storage(tensor)
        key = id(storage)
        if key not in known:
            known[key] = weakref.ref(storage, lambda _: known.pop(key, None))
            size = storage.nbytes()
            measured.saved_bytes += size
            for owner in set(stack):
                measured.by_module[owner] = measured.by_module.get(owner, 0) + size
        return tensor

    def enter(module: nn.Module, given: Any) -> None:
        if time.monotonic() > deadline:  # here and not between two operations: C++ would abort
            raise TooLongError
        stack.append(id(module))
        measured.inputs[id(module)] = sum(part.nbytes for part in given if isinstance(part, torch.Tensor))

    def leave(module: nn.Module, given: Any, made: Any) -> None:
        if stack and stack[-1] == id(module):
            stack.pop()

    hooks = register_module_forward_pre_hook(enter), register_module_forward_hook(leave)
    try:
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            yield
    finally:
        for hook in hooks:
            hook.remove()
