"""`flops(model, inputs)`: how much arithmetic a model does, from shapes alone."""

from __future__ import annotations

import contextlib
import sys
import traceback
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import torch
from torch import nn

from torch_debugger.model.flop_counts import (
    FlopCount,
    by_module,
    by_op,
    counts_of,
    main_dtype,
    named_machine,
    uncounted,
)
from torch_debugger.model.hooks import unfused_encoders, without_global_hooks
from torch_debugger.model.inputs import Call, calls_to_try
from torch_debugger.model.layers import inner_model
from torch_debugger.model.nested_tensors import exchanged, opened, tensors_in
from torch_debugger.model.op_costs import Cost
from torch_debugger.model.op_counter import BACKWARD, FORWARD, RECOMPUTED, ModuleScopes, OpCounter
from torch_debugger.model.reruns import MODULE_ATTRIBUTES, as_if_never
from torch_debugger.model.shape_tensors import (
    NoValuesError,
    form_of,
    shape_copy,
    tensors_replaced,
    with_values,
    without_values,
)
from torch_debugger.model.summary_runs import is_lazy, sized_copy
from torch_debugger.model.tensor_memory import nodes_from
from torch_debugger.source.files import is_user_file
from torch_debugger.source.objects import is_a, is_one_of, own_attributes
from torch_debugger.system.errors import UsageError


def flops(
    model: nn.Module,
    *inputs: Any,
    input_size: Any = None,
    backward: bool = False,
    device: str | None = None,
    peak_flops: float | None = None,
    bandwidth: float | None = None,
    **kwargs: Any,
) -> FlopCount:
    """Counts the multiply-accumulates of one forward, and with `backward=True` those of its backward.

        count = flops(model, images)                  # a list of images, a tuple of arguments, keywords
        count = flops(model, (1, 3, 224, 224))        # from a size; or input_size=, as torchinfo takes it
        count.macs, count.flops                       # 1 MAC = 2 FLOPs
        count.by_module["encoder.0"].macs             # with all that lies below it; .own without
        count.by_op["convolution"].calls
        count.uncounted                               # operations that are in no figure, and where they are
        print(flops(model, images, backward=True, device="H200"))

    `macs` and `flops` hold matrix products, convolutions, attention and recurrent layers, as papers count
    them: padding and masked scores included, biases not; a complex multiply-accumulate is four real ones.
    Everything else that computes is in `elementwise`, one FLOP for each element that an operation makes, or
    that a reduction or normalisation reads. `bytes` is what all operations read and write if nothing is fused.

    The backward is what autograd runs: no gradient for an input that does not require one, none for frozen
    layers, and what a checkpoint computes again (also told as `recomputed`). Fused attention computes its
    scores again in backward: five products to the two of its forward.

    No values are computed and no memory is taken: model and inputs may be on `meta`. Where forward needs
    values, the model runs really, and `note` says so; of a lazy model a copy is counted. Its mode, gradients,
    buffers and the random numbers stay as they are. `device` ("H200", "A100", "RTX 4090") or `peak_flops` and
    `bandwidth` add to each module whether arithmetic or memory is its limit.
    """
    inner = inner_model(model)
    named_machine(device, peak_flops, bandwidth, None)  # a wrong name is told before the run
    calls = calls_to_try(inner, inputs, kwargs, input_size)
    sized = sized_copy(inner, calls) if is_lazy(inner) else inner
    ran = _first_that_works(sized, calls, backward)
    counter = ran.counter
    machine = named_machine(device, peak_flops, bandwidth, main_dtype(counter))
    return FlopCount(
        model=type(inner).__name__,
        forward=counts_of(counter, (FORWARD,)),
        backward=counts_of(counter, (BACKWARD, RECOMPUTED)) if backward else None,
        recomputed=counts_of(counter, (RECOMPUTED,)),
        by_module=by_module(counter, ran.scopes, machine),
        by_op=by_op(counter),
        uncounted=uncounted(counter),
        machine=machine,
        note=ran.note,
    )


def _first_that_works(model: nn.Module, calls: list[Call], backward: bool) -> CountedRun:
    """A size may stand for images or for tokens: what forward takes is found by trying."""
    first, *others = calls
    try:
        return counted_run(model, first, backward)
    except UsageError:
        raise
    except Exception:  # the user's own, which is raised again unless another call works
        for call in others:
            with contextlib.suppress(Exception):
                return counted_run(model, call, backward)
        raise


# One forward, and a backward if asked for, under the counter; the model and its gradients stay as they are.
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
    # Without gradients it is quicker; but a forward may differentiate something itself.
    gradients, shapes = (True,) if backward else (False, True), (True, False) if has_values else (True,)
    for way in [_Way(on_shapes, each) for on_shapes in shapes for each in gradients]:
        try:
            ran = _run(model, call, way, backward)
        except UsageError:
            raise
        except Exception as error:  # whatever a meta kernel or a forward says that expects values or gradients
            reasons[way] = error
        else:
            return ran if way.on_shapes else ran._replace(note=_note(next(iter(reasons.values()))))
    raise next(error for way, error in reasons.items() if way.on_shapes is not has_values)


def _run(model: nn.Module, call: Call, way: _Way, backward: bool) -> CountedRun:
    scopes = ModuleScopes(model)
    # Those attributes that the user's classes add to what every module has.
    attributes = [
        value for module in model.modules() for name, value in vars(module).items() if name not in MODULE_ATTRIBUTES
    ]
    counter = OpCounter(scopes, way.on_shapes)
    with (
        torch.inference_mode(False),
        as_if_never(model),
        without_global_hooks(),
        unfused_encoders(),
        torch.set_grad_enabled(way.gradients),
        objects_kept([*attributes, call.arguments, call.keywords]),
        tensors_replaced(model, without_values if way.on_shapes else with_values),
        scopes.following(),
        contextlib.nullcontext() if way.on_shapes else _counting_opaque_functions(counter),
    ):
        inputs = exchanged(tuple(call), without_values if way.on_shapes else _own_values)
        with counter:
            made = model(*inputs[0], **inputs[1])
            scopes.close()
            if backward:
                counter.in_backward = True
                _backward(made, way.on_shapes)
    return CountedRun(counter, scopes, "")


def _backward(made: Any, on_shapes: bool) -> None:
    """From every output that has a gradient: the loss itself is not known here."""
    outputs = [tensor for tensor in tensors_in(opened(made)) if tensor.requires_grad]
    if not outputs:
        raise UsageError(
            "backward=True needs an output that a gradient can flow from, but none of the model's outputs "
            "requires one. Are all of its parameters frozen, or does forward run under no_grad?"
        )
    grads: list[torch.Tensor] = []
    with torch._C._DisableTorchDispatch():
        for output in outputs:
            if on_shapes:
                form = form_of(output)
                grads.append(shape_copy(torch.empty(form.shape, dtype=form.dtype, device="meta")))
            else:
                grads.append(torch.ones_like(output))
    # Kept: gradients of tensors that no module owns, such as a parameter that forward finds among its globals.
    nodes = nodes_from([output.grad_fn for output in outputs], set(), limit=sys.maxsize)
    leaves = [node.variable for node in nodes if getattr(node, "variable", None) is not None]
    kept = [(leaf, leaf.grad) for leaf in leaves]
    try:
        torch.autograd.backward(outputs, grads)
    finally:
        for leaf, grad in kept:
            leaf.grad = grad


def _own_values(tensor: torch.Tensor) -> torch.Tensor:
    """A copy; of an input of which only the size is known ones, and as a token the first."""
    if not tensor.is_meta:
        return tensor.detach().clone().requires_grad_(tensor.requires_grad)
    make = torch.ones if tensor.is_floating_point() or tensor.is_complex() else torch.zeros
    return make(tensor.shape, dtype=tensor.dtype, requires_grad=tensor.requires_grad)


def _note(error: Exception) -> str:
    first = (str(error).strip().splitlines() or [""])[0][:_LONGEST_REASON]
    reason = first if isinstance(error, NoValuesError) else f"{type(error).__name__}: {first}"
    lines = [
        f" ({frame.f_code.co_filename}:{number})"
        for frame, number in traceback.walk_tb(error.__traceback__)
        if is_user_file(frame.f_code.co_filename)
    ]
    innermost = lines[-1] if lines else ""  # line of the user's that led to it
    return f"counted on a real run, because shapes were not enough: {reason}{innermost}"


# Autograd Functions that compute outside of torch, where nothing can be seen: numpy, kernels of their own.
@contextlib.contextmanager
def _counting_opaque_functions(counter: OpCounter) -> Iterator[None]:
    """One that runs without a single operation of torch counts as one that could not be counted.

    A function that was bound before (`swish = Swish.apply`) is not seen.
    """
    plain = vars(torch.autograd.Function)["apply"]

    def apply(cls: type[torch.autograd.Function], *args: Any, **kwargs: Any) -> Any:
        before = counter.added
        made = plain.__get__(None, cls)(*args, **kwargs)
        if counter.added == before:
            memory = {tensor.untyped_storage().data_ptr() for tensor in tensors_in((args, kwargs))}
            # One that hands on what it was given only changes the gradient.
            if any(tensor.untyped_storage().data_ptr() not in memory for tensor in tensors_in(made)):
                size = sum(tensor.nbytes for tensor in tensors_in((args, kwargs, made)))
                counter.add(f"{cls.__name__} (autograd.Function)", Cost(0, 0, size, False, None))
        return made

    torch.autograd.Function.apply = classmethod(apply)  # type: ignore[method-assign, assignment]
    try:
        yield
    finally:
        torch.autograd.Function.apply = plain  # type: ignore[method-assign]


# Plain objects that a forward writes into: a cache of keys and values, a recorder. Put back after a run.
_DEEPEST, _MOST = 4, 5000
_PLAIN = (str, bytes, int, float, complex, bool, type(None), torch.dtype, torch.device, torch.Tensor, nn.Module)


@contextlib.contextmanager
def objects_kept(roots: Iterable[Any]) -> Iterator[None]:
    """Their attributes, and what lists and dictionaries in them hold; not what modules and tensors are."""
    kept = [(container, container.copy()) for container in _holders(roots)]
    try:
        yield
    finally:
        for container, before in kept:
            if not _changed(container, before):
                continue
            container.clear()
            (container.extend if isinstance(container, list) else container.update)(before)


def _holders(roots: Iterable[Any]) -> Iterator[Any]:
    waiting = [(root, 0) for root in roots]
    seen: set[int] = set()
    while waiting and len(seen) < _MOST:
        value, depth = waiting.pop()
        if is_a(value, _PLAIN) or id(value) in seen or depth > _DEEPEST:
            continue
        seen.add(id(value))
        container = value if is_one_of(value, (list, dict)) else own_attributes(value)
        yield container
        inside = value if is_one_of(value, (list, tuple)) else container.values()
        waiting += [(each, depth + 1) for each in inside]


def _changed(current: Any, before: Any) -> bool:
    if is_a(current, dict):
        return current.keys() != before.keys() or any(current[key] is not before[key] for key in before)
    return len(current) != len(before) or any(now is not then for now, then in zip(current, before, strict=True))
