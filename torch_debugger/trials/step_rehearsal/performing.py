"""A step made twice under the tape, as on a GPU: on tensors without data, or on real ones if it needs data."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.optim import Optimizer

from torch_debugger.anatomy.cuda_kernels import as_on_cuda
from torch_debugger.anatomy.memory_peak import MemoryPeak, find_peak
from torch_debugger.anatomy.nested import exchanged, tensors_in
from torch_debugger.anatomy.storage_tape import StorageTape
from torch_debugger.anatomy.workspaces import CUBLAS_BYTES, Workspaces
from torch_debugger.records.memory import BUFFERS, GRADIENTS, INPUTS, PARAMETERS, STATE
from torch_debugger.trials.step_rehearsal.autocasts import autocast_as_on_cuda
from torch_debugger.trials.step_rehearsal.doubles import Doubles
from torch_debugger.trials.step_rehearsal.step import Exchange, Step

_TURNS = 2  # from the second one on, the optimizer has its state


def perform(step: Step, batch: int, *, real: bool = False, cublas_bytes: int = CUBLAS_BYTES) -> MemoryPeak:
    """Changes the models and the optimizer: for a process that ends afterwards."""
    tape = StorageTape(step.paths(), workspaces=Workspaces(cublas_bytes))
    if step.optimizer is not None:
        _choose_foreach(step.optimizer)
    with torch.inference_mode(False), as_on_cuda(), autocast_as_on_cuda(step.dtype):
        if real:
            _hold_real(step, tape)
            _make_steps(step, tape, _Real(tape, step.batch, batch))
        else:
            _on_doubles(step, tape, batch)
    return find_peak(list(tape.events))


def _on_doubles(step: Step, tape: StorageTape, batch: int) -> None:
    doubles = Doubles(step.batch, batch)
    doubles.tape, tape.exchange = tape, doubles.of
    with FakeTensorMode(allow_non_fake_inputs=True):
        for model in step.models.values():
            doubles.dress(model)
        if step.optimizer is not None:
            doubles.dress_optimizer(step.optimizer)
        _make_steps(step, tape, doubles)


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
            same = (
                tensor.detach().clone() if again == self._batch else tensor[torch.arange(again) % self._batch]
            )
            self._known[id(tensor)] = (tensor, same.requires_grad_(tensor.requires_grad and tensor.is_leaf))
            self._tape.hold(same, INPUTS)
        return self._known[id(tensor)][1]


def _hold_real(step: Step, tape: StorageTape) -> None:
    for model in step.models.values():
        for parameter in model.parameters():
            tape.hold(parameter, PARAMETERS)
        for buffer in model.buffers():
            tape.hold(buffer, BUFFERS)
    for tensor in tensors_in(dict(step.optimizer.state) if step.optimizer is not None else {}):
        if tensor.dim():
            tape.hold(tensor, STATE)


def _make_steps(step: Step, tape: StorageTape, exchange: Exchange) -> None:
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


def _one_turn(step: Step, tape: StorageTape, exchange: Exchange, number: int) -> Any:
    def finish(loss: torch.Tensor) -> None:
        if step.training:
            with _autocast_over():
                _backward(step, tape, loss, number)

    if number == 0 and not step.clears_late:
        _clear(step)
    with step.precision():
        return step.run(exchange, finish)


def _backward(step: Step, tape: StorageTape, loss: torch.Tensor, number: int) -> None:
    if number == 0 and step.clears_late:
        _clear(step)
    with tape.running("backward"):
        loss.backward()  # type: ignore[no-untyped-call]
    if step.optimizer is not None and number == step.accumulate - 1:
        with tape.running("optimizer step"):
            step.optimizer.step()
        for tensor in tensors_in(dict(step.optimizer.state)):
            if tensor.dim():
                tape.hold(tensor, STATE)


def _clear(step: Step) -> None:
    for parameter in _trained(step):
        if step.keeps_gradients and parameter.grad is not None:
            parameter.grad.zero_()
        else:
            parameter.grad = None


@contextlib.contextmanager
def _autocast_over() -> Iterator[None]:
    """As after the `with` of it: its copies of the weights are gone, but for those that the graph holds."""
    torch.clear_autocast_cache()
    with torch.autocast("cpu", enabled=False):
        yield


def _trained(step: Step) -> list[nn.Parameter]:
    found = {id(each): each for model in step.models.values() for each in model.parameters()}
    if step.optimizer is not None:
        found |= {id(each): each for group in step.optimizer.param_groups for each in group["params"]}
    return [each for each in found.values() if each.requires_grad and each.is_leaf]


def _choose_foreach(optimizer: Optimizer) -> None:
    """As torch chooses it on CUDA, where nobody has chosen."""
    for group in optimizer.param_groups:
        if group.get("foreach", False) is None and not group.get("fused") and not group.get("differentiable"):
            group["foreach"] = True
