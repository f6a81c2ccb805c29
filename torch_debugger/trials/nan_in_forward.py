"""A model's forward run once more on what it was given: which of its ops made a NaN or Inf?

Runs where the step left off, on the same inputs, weights and random state, and leaves no trace: buffers,
gradients and random state are put back and prints are swallowed.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from torch_debugger.model.nested_tensors import copied, tensors_in
from torch_debugger.model.reruns import leaving_no_trace
from torch_debugger.records import Origin
from torch_debugger.trials.nan_in_backward import Slopes
from torch_debugger.trials.nan_operations import FINITE, OperationCall, Trail, find_site, state_of


@dataclass(frozen=True)
class Model:
    """A model as a step left it."""

    module: nn.Module
    paths: Mapping[int, str]  # id of a submodule -> its path
    call: tuple[tuple[Any, ...], dict[str, Any]] | None  # what it was last given
    rng_state: torch.Tensor | None = None  # before that
    device_rng: torch.Tensor | None = None  # of the accelerator, before that
    first_rng: torch.Tensor | None = None  # before the first of several calls; unknown: none
    first_device_rng: torch.Tensor | None = None
    output_gradients: tuple[torch.Tensor | None, ...] = ()  # that came back to what it gave; unknown: none

    def restore_randomness(self, *, first: bool = False) -> None:
        state = self.first_rng if first and self.first_rng is not None else self.rng_state
        if state is not None:
            torch.set_rng_state(state)
        on_device = self.first_device_rng if first and self.first_device_rng is not None else self.device_rng
        if on_device is not None:
            torch.cuda.set_rng_state(on_device)


def find_in_model(model: Model, *, slopes: bool, loss: Callable[[Any], Any] | None = None) -> Origin | None:
    """The op that made a NaN or Inf, in the forward or, with `slopes`, in the backward; None if none did.

    With `loss`, what it makes of the output takes the output's place."""
    if model.call is None:
        return None
    module = model.module
    arguments, keywords = copied(model.call)
    named = [(f"input {number + 1}" if number else "input", value) for number, value in enumerate(arguments)]
    inputs = {
        id(tensor): name
        for name, value in [*named, *keywords.items()]
        for tensor in tensors_in(value)
        if state_of(tensor) != FINITE
    }
    hunter = NonFiniteMode(model.paths, parameter_names(module, model.paths), inputs)
    with leaving_no_trace(module), torch.set_grad_enabled(slopes):
        model.restore_randomness()
        with hunter:
            output = module._call_impl(*arguments, **keywords)  # type: ignore[no-untyped-call]
            output = output if loss is None else loss(output)
        found = hunter.origin_of(output)
        if found is not None or not slopes:
            return found
        outputs = [tensor for tensor in tensors_in(output) if tensor.requires_grad]
        leaves = [parameter for parameter in module.parameters() if parameter.requires_grad]
        if outputs and leaves:
            # with the gradients that came to the outputs in the step; where they are not known, with ones
            known = model.output_gradients
            arrived = known if len(known) == len(outputs) else (None,) * len(outputs)
            pairs = zip(outputs, arrived, strict=True)
            gradients = [torch.ones_like(each) if gradient is None else gradient for each, gradient in pairs]
            hunter.backward_apart(outputs, gradients, leaves)
        return hunter.slope()


def parameter_names(module: nn.Module, paths: Mapping[int, str]) -> dict[int, str]:
    """id -> net.fc.weight, of parameters and of buffers"""
    found: dict[int, str] = {}
    for child in module.modules():
        tensors = [*child.named_parameters(recurse=False), *child.named_buffers(recurse=False)]
        found |= {id(tensor): f"{paths.get(id(child), 'model')}.{name}" for name, tensor in tensors}
    return found


_IN_BACKWARD = -1  # the id of no graph task


class NonFiniteMode(TorchFunctionMode):
    """Entered around a piece of training; then asked who made what came out of it."""

    def __init__(
        self, paths: Mapping[int, str], parameters: Mapping[int, str], inputs: Mapping[int, str] | None = None
    ) -> None:
        super().__init__()
        self._paths = paths
        self._trail = Trail(parameters, inputs or {})
        self._slopes = Slopes(self._trail)
        self._in_backward: Origin | None = None  # an op of the user's own backward

    def origin_of(self, value: Any, *, masks: bool = False) -> Origin | None:
        """Who made the NaN or Inf in this, or None; what a mask put there counts only with `masks`."""
        for tensor in tensors_in(value):
            source = self._trail.of(tensor)
            if source is not None and state_of(tensor) != FINITE and (masks or not source.innocent):
                return source.origin
        return None

    def is_innocent(self, tensor: torch.Tensor) -> bool:
        """Whether it holds Inf only where the user has put it."""
        source = self._trail.of(tensor)
        return source is not None and source.innocent

    def slope(self) -> Origin | None:
        """Which op's gradient was the first that was not finite, or None."""
        found, inner = self._slopes.found, self._in_backward
        if found is not None and inner is not None and not found.operands:
            return dataclasses.replace(inner, phase="backward", op=found.op, inner=inner.op or "")
        return found

    def backward(
        self,
        tensors: Any,
        grad_tensors: Any = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        grad_variables: Any = None,
        inputs: Any = None,
        *,
        accumulate_grad: bool = True,
    ) -> None:
        """torch.autograd.backward, which torch would run with this mode switched off: watched also inside."""
        losses = _several(tensors)
        gradients = torch.autograd._make_grads(
            losses, _several(grad_tensors) or (None,) * len(losses), is_grads_batched=False
        )
        keep = create_graph if retain_graph is None else retain_graph
        with self, torch.autograd.set_detect_anomaly(False):  # the script's would end it at the first NaN
            torch.autograd.Variable._execution_engine.run_backward(
                losses,
                gradients,
                keep,
                create_graph,
                _several(inputs),
                allow_unreachable=True,
                accumulate_grad=accumulate_grad,
            )

    def backward_apart(self, tensors: Any, grad_tensors: Any, inputs: Any) -> None:
        """The same towards these inputs, and no `.grad` is touched."""
        self.backward(tensors, grad_tensors, inputs=inputs, accumulate_grad=False)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        keywords = kwargs or {}
        if func is torch.Tensor.backward:
            with self:  # back to whoever stands in for it
                return _call_autograd(*args, **keywords)
        if getattr(func, "__module__", "") == "torch.autograd" and func.__name__ == "backward":
            return self.backward(*args, **keywords)
        call = OperationCall(func, args, keywords)
        result = func(*args, **keywords)
        outputs = call.outputs(result)
        if outputs:
            self._see(call, outputs)
        return result

    def _see(self, call: OperationCall, outputs: list[torch.Tensor]) -> None:
        states = [state_of(tensor) for tensor in outputs]
        for tensor, state in zip(outputs, states, strict=True):
            if state == FINITE:
                self._trail.clear(tensor)
        labelled = torch.is_grad_enabled() and any(tensor.grad_fn is not None for tensor in outputs)
        bad = [(tensor, state) for tensor, state in zip(outputs, states, strict=True) if state != FINITE]
        if bad or labelled:
            call.seen_from(find_site(self._paths, skip=3))
        for tensor, state in bad:
            if call.name == "get" and not call.tainted():
                continue  # an attribute such as p.grad: read, not made
            source = self._trail.follow(call, tensor, state)
            if torch._C._current_graph_task_id() != _IN_BACKWARD and source.origin.phase != "input":
                self._in_backward = self._in_backward or source.origin
        if labelled:
            self._slopes.label(call, outputs)


def _several(value: Any) -> tuple[Any, ...]:
    if value is None:
        return ()
    return (value,) if isinstance(value, torch.Tensor) else tuple(value)


def _call_autograd(
    loss: torch.Tensor,
    gradient: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Any = None,
) -> None:
    """torch.autograd.backward with the arguments of Tensor.backward."""
    torch.autograd.backward(loss, gradient, retain_graph, create_graph, None, inputs)
