"""A mode that sees every torch function of a piece of code, forward and backward."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from torch_debugger.anatomy.nested import tensors_in
from torch_debugger.records import Origin
from torch_debugger.trials.hunt.calls import Call
from torch_debugger.trials.hunt.sites import find_site
from torch_debugger.trials.hunt.slopes import Slopes
from torch_debugger.trials.hunt.states import FINITE, state_of
from torch_debugger.trials.hunt.trail import Trail

_IN_BACKWARD = -1  # the id of no graph task


class Hunter(TorchFunctionMode):
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
    ) -> None:
        """torch.autograd.backward, which torch would run with this mode switched off: watched also inside."""
        losses = _several(tensors)
        gradients = torch.autograd._make_grads(
            losses, _several(grad_tensors) or (None,) * len(losses), is_grads_batched=False
        )
        keep = create_graph if retain_graph is None else retain_graph
        self._run_backward(losses, gradients, keep, create_graph, _several(inputs), accumulate_grad=True)

    def backward_apart(self, tensors: Any, grad_tensors: Any, inputs: Any) -> None:
        """The same towards these inputs, and no `.grad` is touched."""
        losses = _several(tensors)
        gradients = torch.autograd._make_grads(
            losses, _several(grad_tensors) or (None,) * len(losses), is_grads_batched=False
        )
        self._run_backward(losses, gradients, False, False, _several(inputs), accumulate_grad=False)

    def _run_backward(self, *arguments: Any, accumulate_grad: bool) -> None:
        with self, torch.autograd.set_detect_anomaly(False):  # the script's would end it at the first NaN
            torch.autograd.Variable._execution_engine.run_backward(
                *arguments, allow_unreachable=True, accumulate_grad=accumulate_grad
            )

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        keywords = kwargs or {}
        if func is torch.Tensor.backward:
            with self:  # back to whoever stands in for it
                return torch.autograd.backward(*_as_function(*args, **keywords))
        if getattr(func, "__module__", "") == "torch.autograd" and func.__name__ == "backward":
            return self.backward(*args, **keywords)
        call = Call(func, args, keywords)
        result = func(*args, **keywords)
        outputs = call.outputs(result)
        if outputs:
            self._see(call, outputs)
        return result

    def _see(self, call: Call, outputs: list[torch.Tensor]) -> None:
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


def _as_function(
    loss: torch.Tensor,
    gradient: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Any = None,
) -> tuple[Any, ...]:
    """The arguments of Tensor.backward as those of torch.autograd.backward."""
    return loss, gradient, retain_graph, create_graph, None, inputs
