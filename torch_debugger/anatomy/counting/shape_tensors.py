"""Tensors with a shape, a dtype and a device, and nothing in them: no memory, whatever their size."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch


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
    if (
        tensor.layout is not torch.strided
        or tensor.is_nested
        or tensor.is_quantized
        or has_own_ways(type(tensor))
    ):
        raise NoValuesError("a sparse, nested or quantized tensor is more than its shape")
    device = torch.device("cpu") if tensor.device.type == "meta" else tensor.device
    return Form(tuple(tensor.shape), tensor.stride(), tensor.dtype, device)


def has_own_ways(kind: type[torch.Tensor]) -> bool:
    """A class of tensors that decides itself what operations do with them."""
    return kind.__torch_dispatch__ is not torch.Tensor.__torch_dispatch__


def change_form(func: Any, args: tuple[Any, ...]) -> ShapeTensor:
    """transpose_ and its like, which look at no memory: the same object from now on has another shape."""
    tensor: ShapeTensor = args[0]
    with torch._C._DisableTorchDispatch():
        func(*args)
    tensor.form = tensor.form._replace(shape=tuple(tensor.shape), strides=tensor.stride())
    return tensor


def shape_twin(tensor: torch.Tensor) -> ShapeTensor:
    twin = ShapeTensor(form_of(tensor), tensor.requires_grad)
    if isinstance(tensor, torch.nn.Parameter):
        twin._is_param = True  # what isinstance(twin, nn.Parameter) asks for
    return twin
