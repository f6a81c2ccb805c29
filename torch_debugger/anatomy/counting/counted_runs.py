"""One forward, and a backward if asked for, under the counter; the model and its gradients stay as they are."""

from __future__ import annotations

import contextlib
import traceback
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import torch
from torch import nn

from torch_debugger.anatomy.counting.module_scopes import ModuleScopes
from torch_debugger.anatomy.counting.op_counter import OpCounter
from torch_debugger.anatomy.counting.opaque_functions import opaque_functions_told
from torch_debugger.anatomy.counting.shape_tensors import NoValuesError, form_of, shape_twin
from torch_debugger.anatomy.counting.twins import twinned, with_values, without_values
from torch_debugger.anatomy.global_hooks import without_global_hooks
from torch_debugger.anatomy.graph_calls import Call
from torch_debugger.anatomy.kept_objects import attributes_of_modules, objects_kept
from torch_debugger.anatomy.kinds import own_attributes
from torch_debugger.anatomy.nested import exchanged, tensors_in
from torch_debugger.anatomy.sources import is_user_file
from torch_debugger.anatomy.unfused_encoders import unfused_encoders
from torch_debugger.anatomy.unseen_runs import as_if_never
from torch_debugger.errors import UsageError

_LONGEST_REASON = 200


class CountedRun(NamedTuple):
    counter: OpCounter
    scopes: ModuleScopes
    note: str  # why values were needed; empty where shapes were enough


class _Way(NamedTuple):
    on_shapes: bool
    gradients: bool


def counted_run(model: nn.Module, call: Call, backward: bool) -> CountedRun:
    """On shapes alone; where forward asks for values, on the real model. Raises what forward raises."""
    has_values = not any(tensor.is_meta for tensor in (*model.parameters(), *model.buffers()))
    reasons: dict[_Way, Exception] = {}
    for way in _ways(backward, has_values):
        try:
            ran = _run(model, call, way, backward)
        except UsageError:
            raise
        except Exception as error:  # whatever a meta kernel or a forward says that expects values or gradients
            reasons[way] = error
        else:
            return ran if way.on_shapes else ran._replace(note=_note(next(iter(reasons.values()))))
    raise next(error for way, error in reasons.items() if way.on_shapes is not has_values)


def _ways(backward: bool, has_values: bool) -> list[_Way]:
    """Without gradients it is quicker; but a forward may differentiate something itself."""
    gradients = (True,) if backward else (False, True)
    shapes = (True, False) if has_values else (True,)
    return [_Way(on_shapes, each) for on_shapes in shapes for each in gradients]


def _run(model: nn.Module, call: Call, way: _Way, backward: bool) -> CountedRun:
    scopes = ModuleScopes(model)
    counter = OpCounter(scopes, way.on_shapes)
    with (
        torch.inference_mode(False),
        as_if_never(model),
        without_global_hooks(),
        unfused_encoders(),
        torch.set_grad_enabled(way.gradients),
        objects_kept([*attributes_of_modules(model), call.arguments, call.keywords]),
        twinned(model, without_values if way.on_shapes else with_values),
        scopes.following(),
        contextlib.nullcontext() if way.on_shapes else opaque_functions_told(counter),
    ):
        given = exchanged(tuple(call), without_values if way.on_shapes else _own_values)
        with counter:
            made = model(*given[0], **given[1])
            scopes.close()
            if backward:
                counter.in_backward = True
                _backward(made, way.on_shapes)
    return CountedRun(counter, scopes, "")


def _backward(made: Any, on_shapes: bool) -> None:
    """From every output that has a gradient: the loss itself is not known here."""
    outputs = [tensor for tensor in tensors_in(_opened(made)) if tensor.requires_grad]
    if not outputs:
        raise UsageError(
            "backward=True needs an output that a gradient can flow from, but none of the model's outputs "
            "requires one. Are all of its parameters frozen, or does forward run under no_grad?"
        )
    with torch._C._DisableTorchDispatch():
        grads = [shape_twin(_like(output)) if on_shapes else torch.ones_like(output) for output in outputs]
    with _gradients_kept(outputs):
        torch.autograd.backward(outputs, grads)


def _like(output: torch.Tensor) -> torch.Tensor:
    form = form_of(output)
    return torch.empty(form.shape, dtype=form.dtype, device="meta")


def _opened(value: Any) -> Any:
    return value if next(tensors_in(value), None) is not None else own_attributes(value)


@contextlib.contextmanager
def _gradients_kept(outputs: Iterable[torch.Tensor]) -> Iterator[None]:
    """Of tensors that no module owns: a parameter that forward finds among its globals."""
    kept = [(leaf, leaf.grad) for leaf in _leaves(outputs)]
    try:
        yield
    finally:
        for leaf, grad in kept:
            leaf.grad = grad


def _leaves(outputs: Iterable[torch.Tensor]) -> Iterator[torch.Tensor]:
    waiting = [output.grad_fn for output in outputs if output.grad_fn is not None]
    seen = set(waiting)
    while waiting:
        node = waiting.pop()
        if (leaf := getattr(node, "variable", None)) is not None:
            yield leaf
        for following, _ in node.next_functions:
            if following is not None and following not in seen:
                seen.add(following)
                waiting.append(following)


def _own_values(tensor: torch.Tensor) -> torch.Tensor:
    """A copy; of an input of which only the size is known ones, and as a token the first."""
    if not tensor.is_meta:
        return tensor.detach().clone().requires_grad_(tensor.requires_grad)
    make = torch.ones if tensor.is_floating_point() or tensor.is_complex() else torch.zeros
    return make(tensor.shape, dtype=tensor.dtype, requires_grad=tensor.requires_grad)


def _note(error: Exception) -> str:
    first = (str(error).strip().splitlines() or [""])[0][:_LONGEST_REASON]
    reason = first if isinstance(error, NoValuesError) else f"{type(error).__name__}: {first}"
    return f"counted on a real run, because shapes were not enough: {reason}{_line_of(error)}"


def _line_of(error: Exception) -> str:
    """The innermost line of the user's that led to it."""
    lines = [
        f" ({frame.f_code.co_filename}:{number})"
        for frame, number in traceback.walk_tb(error.__traceback__)
        if is_user_file(frame.f_code.co_filename)
    ]
    return lines[-1] if lines else ""
