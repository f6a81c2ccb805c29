"""Tensors with a shape, a dtype and a device, and nothing in them: no memory, whatever their size."""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch
from torch import nn
from torch._ops import HigherOrderOperator

from torch_debugger.model.nested_tensors import exchanged, first_tensor, tensors_in
from torch_debugger.model.op_costs import FREE, Cost, cost_of, operation_name
from torch_debugger.model.reruns import MODULE_ATTRIBUTES
from torch_debugger.source.objects import is_one_of


class Form(NamedTuple):
    """All that an operation needs to know of an operand to tell what it would make of it."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: torch.dtype
    device: torch.device


class ShapeTensor(torch.Tensor):
    """Looks like a tensor of its device, so that torch chooses the kernels it would choose there."""

    form: Form

    @staticmethod
    def __new__(cls, form: Form, requires_grad: bool = False) -> ShapeTensor:
        made = torch.Tensor._make_wrapper_subclass(
            cls,
            form.shape,
            strides=form.strides,
            dtype=form.dtype,
            device=form.device,
            requires_grad=requires_grad,
        )
        torch._C._set_throw_on_mutable_data_ptr(made)  # an extension that wants its memory gets an exception
        made.form = form
        return made

    __torch_function__ = torch._C._disabled_torch_function_impl  # type: ignore[assignment]

    @classmethod
    def __torch_dispatch__(  # type: ignore[override]
        cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        raise NoValuesError(f"{func} of a tensor that has no values")

    def __repr__(self) -> str:  # type: ignore[override]
        return f"ShapeTensor({list(self.form.shape)}, {self.form.dtype}, {self.form.device})"


class NoValuesError(RuntimeError):
    """Something asks for the numbers in a tensor that has none."""


def form_of(tensor: torch.Tensor) -> Form:
    """A tensor on `meta` is taken for one on the CPU: nothing else runs there."""
    if isinstance(tensor, ShapeTensor):
        return tensor.form
    if tensor.layout is not torch.strided or tensor.is_nested or tensor.is_quantized or has_own_ways(type(tensor)):
        raise NoValuesError("a sparse, nested or quantized tensor is more than its shape")
    device = torch.device("cpu") if tensor.device.type == "meta" else tensor.device
    return Form(tuple(tensor.shape), tensor.stride(), tensor.dtype, device)


def has_own_ways(kind: type[torch.Tensor]) -> bool:
    """A class of tensors that decides itself what operations do with them."""
    return kind.__torch_dispatch__ is not torch.Tensor.__torch_dispatch__


def shape_copy(tensor: torch.Tensor) -> ShapeTensor:
    result = ShapeTensor(form_of(tensor), tensor.requires_grad)
    if isinstance(tensor, torch.nn.Parameter):
        result._is_param = True  # what isinstance(twin, nn.Parameter) asks for
    return result


# Operations on tensors without values: the form of what they would make, and what they would cost.
#
# Torch's own `meta` kernels tell the form; each combination of operands is asked once in a process. Whole numbers and
# what is computed from them alone keep their values: masks, indices, lengths, loop counts.
_MOST_REAL = 1 << 23  # elements: what is larger gets no memory, even if its values could be known
_MOST_KNOWN = 20_000
_CHANGE_FORM = ("t", "transpose", "squeeze", "unsqueeze", "as_strided")  # in place: t_, transpose_
_CHANGE_MEMORY = ("resize", "resize_as", "set")
_BY_VALUES = {torch.Tag.dynamic_output_shape, torch.Tag.data_dependent_output}  # item, nonzero, unique
_BY_INDEX = ("index", "index_put", "_unsafe_index")


class Outcome(NamedTuple):
    forms: Any  # as the operation returns it, forms in place of tensors
    cost: Cost


_known: dict[Any, Outcome] = {}


def run_on_shapes(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Cost]:
    """What the operation would make, and its cost. Raises NoValuesError, or what torch's meta kernel raises."""
    if isinstance(func, HigherOrderOperator):
        raise NoValuesError(f"{operation_name(func)} calls functions that were given to it")
    if not (_any_without_values(args) or (kwargs and _any_without_values(kwargs.values()))):
        return _run_with_values(func, args, kwargs)
    name = operation_name(func)
    if _is_about_values(func):
        raise NoValuesError("forward asks for the value of a tensor, with .item(), float() or `if`")
    if name == "_pack_padded_sequence":
        return _packed(func, *args)
    if func._schema.is_mutable and name in _CHANGE_FORM:
        # They look at no memory: the same object from now on has another shape.
        tensor: ShapeTensor = args[0]
        with torch._C._DisableTorchDispatch():
            func(*args)
        tensor.form = tensor.form._replace(shape=tuple(tensor.shape), strides=tensor.stride())
        return tensor, FREE
    if name in _BY_INDEX:
        args = (args[0], _places(args[1]), *args[2:])
    outcome = _outcome(func, args, kwargs)
    return _made(func, args, kwargs, outcome.forms), outcome.cost


def _run_with_values(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Cost]:
    """Small things are computed; but a mask of a million by a million is a shape like any other."""
    if not func._schema.is_mutable:
        try:
            outcome = _outcome(func, args, kwargs)
        except (RuntimeError, NotImplementedError, ValueError):  # its form depends on values, which are there
            outcome = None
        if outcome is not None:
            sizes: list[int] = []
            exchanged(outcome.forms, lambda form: sizes.append(math.prod(form.shape)), Form)
            if max(sizes, default=0) > _MOST_REAL:
                return _made(func, args, kwargs, outcome.forms), outcome.cost
    made = func(*args, **kwargs)
    return made, cost_of(func, args, kwargs, made)


def _any_without_values(values: Any) -> bool:
    for value in values:
        kind = type(value)
        if kind is ShapeTensor:
            return True
        if kind is list or kind is tuple:
            if _any_without_values(value):
                return True
        elif isinstance(value, torch.Tensor) and value.is_meta:
            return True
    return False


def _outcome(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Outcome:
    key = (func, _key(args), _key(kwargs) if kwargs else None, torch.get_default_dtype())
    outcome = _known.get(key)
    if outcome is None:
        outcome = _meta_outcome(func, args, kwargs)
        if len(_known) < _MOST_KNOWN:
            _known[key] = outcome
    return outcome


def _key(value: Any) -> Any:
    """Equal for calls that make the same forms at the same cost; 2, 2.0 and True are not the same."""
    kind = type(value)
    if kind is ShapeTensor:
        return value.form
    if kind is int or value is None:
        return value
    if kind is list or kind is tuple:
        return tuple([_key(item) for item in value])
    if kind is dict:
        return tuple([(name, _key(item)) for name, item in value.items()])
    if isinstance(value, torch.Tensor):
        return form_of(value)
    return kind if kind is torch.Generator else (kind, value)


def _meta_outcome(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Outcome:
    if func._schema.is_mutable and operation_name(func) in _CHANGE_MEMORY:
        raise NoValuesError(f"{func} gives a tensor other memory")
    bare, named = exchanged(args, _on_meta), exchanged(kwargs, _on_meta)
    if "device" in named:
        named["device"] = torch.device("meta")
    try:
        made = func(*bare, **named)
    except RuntimeError as error:
        if func.namespace == "aten" and not isinstance(error, NotImplementedError):
            raise  # what the operation itself says of its operands
        if _BY_VALUES & set(func.tags):
            raise NoValuesError(f"what {func} gives depends on values") from error
        bare, named = exchanged(args, _zeros), exchanged(kwargs, _zeros)
        made = func(*bare, **named)
    # That of the operands; a number that stands for itself may lie elsewhere.
    operands = sorted(tensors_in((args, kwargs)), key=lambda tensor: not tensor.ndim)
    device = kwargs.get("device") or (form_of(operands[0]).device if operands else torch.device("cpu"))
    forms = exchanged(made, lambda tensor: form_of(tensor)._replace(device=device))
    return Outcome(forms, cost_of(func, bare, named, made))


def _on_meta(tensor: torch.Tensor) -> torch.Tensor:
    form = form_of(tensor)
    return torch.empty_strided(form.shape, form.strides, dtype=form.dtype, device="meta")


def _zeros(tensor: torch.Tensor) -> torch.Tensor:
    """An operation that only its own kernel knows is tried on a small stand-in."""
    if tensor.numel() > _MOST_REAL:
        raise NoValuesError("an operation without a meta kernel, on a large tensor")
    form = form_of(tensor)
    return torch.empty_strided(form.shape, form.strides, dtype=form.dtype, device=form.device).zero_()


def _made(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], forms: Any) -> Any:
    written = _written(func)
    if not written:
        return ShapeTensor(forms) if type(forms) is Form else exchanged(forms, ShapeTensor, Form)
    changed = [args[place] if place < len(args) else kwargs.get(name) for place, name in written]
    return changed[0] if len(changed) == 1 else type(forms)(changed)


@functools.cache
def _written(func: Any) -> tuple[tuple[int, str], ...]:
    """The arguments that an operation writes into and returns, by place and name: self of add_."""
    schema = func._schema
    if not any(each.alias_info is not None and each.alias_info.is_write for each in schema.returns):
        return ()
    return tuple(
        (place, each.name)
        for place, each in enumerate(schema.arguments)
        if each.alias_info is not None and each.alias_info.is_write
    )


def _places(indices: Any) -> list[Any]:
    """A mask whose values are known stands for the places where it is true."""
    found: list[Any] = []
    for index in indices:
        is_mask = isinstance(index, torch.Tensor) and index.dtype in (torch.bool, torch.uint8)
        if not is_mask:
            found.append(index)
        elif type(index) is ShapeTensor or index.is_meta:
            raise NoValuesError("how much is chosen by a mask depends on its values")
        else:
            found += index.nonzero(as_tuple=True)
    return found


@functools.cache
def _is_about_values(func: Any) -> bool:
    """Their meta kernels may answer, but not truly."""
    return not _BY_VALUES.isdisjoint(func.tags) and operation_name(func) not in _BY_INDEX


def _packed(func: Any, inputs: torch.Tensor, lengths: torch.Tensor, batch_first: bool) -> tuple[Any, Cost]:
    """How many steps there are in all is a matter of the lengths, which are known."""
    form = form_of(inputs)
    steps, sizes = func(torch.zeros(*form.shape[:2], 1), lengths, batch_first)
    shape = (len(steps), *form.shape[2:])
    data = torch.empty(shape, dtype=form.dtype, device="meta")
    made = ShapeTensor(form_of(data)._replace(device=form.device)), sizes
    return made, cost_of(func, (_on_meta(inputs), lengths, batch_first), {}, (data, sizes))


# Stand-ins for a model's parameters and buffers, for one run: gradients and writes end with them.
CopyTensor = Callable[[torch.Tensor], torch.Tensor]


def without_values(tensor: torch.Tensor) -> torch.Tensor:
    """Whole numbers stay: a forward may count with them."""
    whole = not (tensor.is_floating_point() or tensor.is_complex())
    return tensor.detach().clone() if whole and not tensor.is_meta else shape_copy(tensor)


def with_values(tensor: torch.Tensor) -> torch.Tensor:
    """The same memory, but with gradients of its own."""
    result = tensor.clone() if tensor.is_inference() else tensor.detach()
    if isinstance(tensor, nn.Parameter):
        result._is_param = True
    return result.requires_grad_(tensor.requires_grad)


@contextlib.contextmanager
def tensors_replaced(model: nn.Module, copy_tensor: CopyTensor) -> Iterator[None]:
    """Inside of `as_if_never`, which puts buffers and attributes back. A tied parameter has one twin."""
    kept = [(module, dict(module._parameters)) for module in model.modules()]
    copies: dict[int, torch.Tensor] = {}
    try:
        for module, _ in kept:
            for tensors in (module._parameters, module._buffers):
                for name, tensor in tensors.items():
                    if tensor is not None:
                        tensors[name] = copies.setdefault(id(tensor), copy_tensor(tensor))  # type: ignore[assignment]
        for module, _ in kept:  # a recurrent layer keeps its weights in a list as well
            for name, value in list(vars(module).items()):
                has_tensors = is_one_of(value, (list, tuple, dict)) and first_tensor(value) is not None
                if name not in MODULE_ATTRIBUTES and has_tensors:
                    vars(module)[name] = exchanged(value, lambda tensor: copies.get(id(tensor), tensor))
        yield
    finally:
        for module, parameters in kept:
            module._parameters.update(parameters)
