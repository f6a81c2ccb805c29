"""A training step that can be made again, with other tensors in the place of its own."""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.optim import Optimizer

from torch_debugger.model.cuda_memory import CUBLAS_BYTES, Workspaces, as_on_cuda
from torch_debugger.model.nested_tensors import exchanged, tensors_in
from torch_debugger.model.step_memory import MemoryPeak, StorageTape, find_peak
from torch_debugger.records.performance import BUFFERS, GRADIENTS, INPUTS, PARAMETERS, STATE
from torch_debugger.trials.step_lines import replaced

Exchange = Callable[[Any], Any]  # tensors anywhere in a value for others
Backward = Callable[[torch.Tensor], None]


@dataclass(frozen=True)
class RunnableStep:
    """`run(exchange, backward)` makes the forward, and calls `backward` with its loss while the user's
    variables are alive; what it returns are those that outlive the step."""

    models: Mapping[str, nn.Module]
    run: Callable[[Exchange, Backward], Any]
    optimizer: Optimizer | None
    batch: int  # how many samples it has; 0: that cannot be told
    no_batch: str = ""  # why
    accumulate: int = 1  # backwards before the optimizer steps
    clears_late: bool = False  # gradients are cleared after the forward only
    keeps_gradients: bool = False  # zero_grad(set_to_none=False)
    training: bool = True
    dtype: torch.dtype | None = None  # of autocast around it; None: as the step itself has it

    def paths(self) -> dict[int, str]:
        """id of a module -> net.encoder.0, as the user would write it."""
        found: dict[int, str] = {}
        for name, model in self.models.items():
            for path, module in model.named_modules():
                own = f"{name}.{path}" if path else name
                found.setdefault(id(module), own)
        return found

    @contextlib.contextmanager
    def precision(self) -> Iterator[None]:
        if self.dtype is None:
            yield
        else:
            with torch.autocast("cpu", self.dtype, enabled=self.dtype is not torch.float32):
                yield


# A step made twice under the tape, as on a GPU: on tensors without data, or on real ones if it needs data.
_TURNS = 2  # from the second one on, the optimizer has its state


def perform(step: RunnableStep, batch: int, *, real: bool = False, cublas_bytes: int = CUBLAS_BYTES) -> MemoryPeak:
    """Changes the models and the optimizer: for a process that ends afterwards."""
    tape = StorageTape(step.paths(), workspaces=Workspaces(cublas_bytes))
    for group in step.optimizer.param_groups if step.optimizer is not None else ():
        # as torch chooses it on CUDA, where nobody has chosen
        if group.get("foreach", False) is None and not group.get("fused") and not group.get("differentiable"):
            group["foreach"] = True
    with torch.inference_mode(False), as_on_cuda(), autocast_as_on_cuda(step.dtype):
        if real:
            for model in step.models.values():
                for parameter in model.parameters():
                    tape.hold(parameter, PARAMETERS)
                for buffer in model.buffers():
                    tape.hold(buffer, BUFFERS)
            _hold_state(step, tape)
            _make_steps(step, tape, _Real(tape, step.batch, batch))
        else:
            doubles = Doubles(tape, step.batch, batch)
            tape.exchange = doubles.of
            with FakeTensorMode(allow_non_fake_inputs=True):
                for model in step.models.values():
                    doubles.dress(model)
                if step.optimizer is not None:
                    doubles.dress_optimizer(step.optimizer)
                _make_steps(step, tape, doubles)
    return find_peak(list(tape.events))


class _Real:
    """The step's own tensors; for another batch, its samples over and over."""

    def __init__(self, tape: StorageTape, batch: int, new_batch: int) -> None:
        self._tape, self._batch, self._new_batch = tape, batch, new_batch
        self._known: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}

    def __call__(self, value: Any) -> Any:
        return exchanged(value, self._of)

    def _of(self, tensor: torch.Tensor) -> torch.Tensor:
        if tensor.dim() == 0:
            return tensor
        if id(tensor) not in self._known:
            again = self._batch if tensor.shape[0] != self._batch else self._new_batch
            same = tensor.detach().clone() if again == self._batch else tensor[torch.arange(again) % self._batch]
            self._known[id(tensor)] = (tensor, same.requires_grad_(tensor.requires_grad and tensor.is_leaf))
            self._tape.hold(same, INPUTS)
        return self._known[id(tensor)][1]


def _hold_state(step: RunnableStep, tape: StorageTape) -> None:
    for tensor in tensors_in(dict(step.optimizer.state) if step.optimizer is not None else {}):
        if tensor.dim():
            tape.hold(tensor, STATE)


def _make_steps(step: RunnableStep, tape: StorageTape, exchange: Exchange) -> None:
    alive: list[Any] = []  # of the step before: variables live on until they are assigned again
    for parameter in _trained(step):
        parameter.grad = None
        listen: Any = parameter.register_post_accumulate_grad_hook
        listen(lambda tensor: tape.hold(tensor.grad, GRADIENTS))
    hooks = [each.register_forward_hook(lambda *_: alive.clear()) for each in step.models.values()]
    with tape, tape.listening(), torch.set_grad_enabled(step.training):
        for turn in range(_TURNS * step.accumulate):
            alive.append(_one_turn(step, tape, exchange, turn % step.accumulate))
    for hook in hooks:
        hook.remove()


def _one_turn(step: RunnableStep, tape: StorageTape, exchange: Exchange, number: int) -> Any:
    def finish(loss: torch.Tensor) -> None:
        if not step.training:
            return
        # As after autocast's `with`: its copies of the weights are gone, but for those that the graph holds.
        torch.clear_autocast_cache()
        with torch.autocast("cpu", enabled=False):
            if number == 0 and step.clears_late:
                _clear(step)
            with tape.running("backward"):
                loss.backward()  # type: ignore[no-untyped-call]
            if step.optimizer is not None and number == step.accumulate - 1:
                with tape.running("optimizer step"):
                    step.optimizer.step()
                _hold_state(step, tape)

    if number == 0 and not step.clears_late:
        _clear(step)
    with step.precision():
        return step.run(exchange, finish)


def _clear(step: RunnableStep) -> None:
    for parameter in _trained(step):
        if step.keeps_gradients and parameter.grad is not None:
            parameter.grad.zero_()
        else:
            parameter.grad = None


def _trained(step: RunnableStep) -> list[nn.Parameter]:
    found = {id(each): each for model in step.models.values() for each in model.parameters()}
    if step.optimizer is not None:
        found |= {id(each): each for group in step.optimizer.param_groups for each in group["params"]}
    return [each for each in found.values() if each.requires_grad and each.is_leaf]


# Tensors without data in the place of a step's own: its parameters, its optimizer's state, its batch.
class Doubles:
    """Made inside a fake mode, each once. What is not of the model has the batch's size changed."""

    def __init__(self, tape: StorageTape, batch: int, new_batch: int) -> None:
        self._tape = tape
        self._batch = batch
        self._new_batch = new_batch
        self._known: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}  # with the original, whose id must last
        self._fixed: set[int] = set()  # tensors of the modules

    def __call__(self, value: Any) -> Any:
        return exchanged(value, self.of)

    def of(self, tensor: torch.Tensor) -> torch.Tensor:
        if isinstance(tensor, FakeTensor) or tensor.dim() == 0:  # a number may stay what it is
            return tensor
        resized = self._new_batch != self._batch and tensor.shape[0] == self._batch and id(tensor) not in self._fixed
        double: torch.Tensor = self._double(tensor, INPUTS, (self._new_batch, *tensor.shape[1:]) if resized else ())
        return double

    def dress(self, model: nn.Module) -> None:
        """For good: this happens in a process of its own."""
        for module in model.modules():
            for name, parameter in module._parameters.items():
                if parameter is not None:
                    module._parameters[name] = self._double(parameter, PARAMETERS)
            for name, buffer in module._buffers.items():
                if buffer is not None:
                    module._buffers[name] = self._double(buffer, BUFFERS)
            if isinstance(module, nn.RNNBase):
                module._flat_weights = [getattr(module, name) for name in module._flat_weights_names]
            for name, value in vars(module).items():
                if name not in _REGISTERED:
                    self._fixed.update(id(tensor) for tensor in tensors_in(value))

    def dress_optimizer(self, optimizer: Optimizer) -> None:
        state: Any = optimizer.state
        optimizer.state = defaultdict(dict)
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                if parameter in state:
                    double = self._double(parameter, PARAMETERS)
                    optimizer.state[double] = exchanged(state[parameter], self._state)
            group["params"] = [self._double(parameter, PARAMETERS) for parameter in group["params"]]

    def _state(self, tensor: torch.Tensor) -> torch.Tensor:
        return tensor if tensor.dim() == 0 else self._double(tensor, STATE)

    def _double(self, tensor: torch.Tensor, category: str, size: tuple[int, ...] = ()) -> Any:
        if isinstance(tensor, FakeTensor):
            return tensor
        if id(tensor) not in self._known:
            double = _empty(tensor, size)
            if category == PARAMETERS:
                double = nn.Parameter(double, requires_grad=tensor.requires_grad)
            self._known[id(tensor)] = (tensor, double)
            self._tape.hold(double, category)
        return self._known[id(tensor)][1]


_REGISTERED = ("_parameters", "_buffers", "_modules")


def _empty(tensor: torch.Tensor, size: tuple[int, ...] = ()) -> torch.Tensor:
    """In the same memory format but without gaps: a slice of a data set is no larger than itself."""
    strides: tuple[int, ...] = tensor.stride()
    order = sorted(range(tensor.dim()), key=lambda dim: (-strides[dim], dim))
    whole = torch.empty_permuted(size or tuple(tensor.shape), order, dtype=tensor.dtype, device="cpu")
    return whole.requires_grad_(tensor.requires_grad and tensor.is_leaf)


# Autocast of a script that is meant for CUDA, heeded on a machine without it.
_autocast: Any = torch.autocast


def autocast_as_on_cuda(chosen: torch.dtype | None) -> AbstractContextManager[None]:
    """`chosen` takes the place of what the script says; float32 switches autocast off.

    On a machine without CUDA torch switches off what was made for it, so that of contexts made before this
    one the intention is lost: they count as switched on.
    """
    begin, enter = _autocast.__init__, _autocast.__enter__

    def make(
        self: Any,
        device_type: str,
        dtype: torch.dtype | None = None,
        enabled: bool = True,
        cache_enabled: bool | None = None,
    ) -> None:
        if device_type == "cuda":
            device_type, dtype = "cpu", dtype or torch.get_autocast_dtype("cuda")
        begin(self, device_type, chosen or dtype, enabled and chosen is not torch.float32, cache_enabled)

    def enter_on_cpu(self: Any) -> Any:
        if self.device == "cuda":
            make(self, "cuda", self.fast_dtype, cache_enabled=self._cache_enabled)
        return enter(self)

    return replaced([(_autocast, "__init__", make), (_autocast, "__enter__", enter_on_cpu)])
