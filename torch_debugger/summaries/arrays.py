"""Whatever a script hands over, as a tensor where it lies or as an array on the host."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from torch_debugger.errors import DebuggerError

_IN_NUMPY = {
    torch.float64, torch.float32, torch.float16, torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8,
    torch.uint16, torch.uint32, torch.uint64, torch.bool, torch.complex64, torch.complex128,
}  # fmt: skip


def kind_of(given: Any) -> str:
    return "None" if given is None else f"a {type(given).__name__}"


def as_tensor(values: Any) -> torch.Tensor:
    """Detached, dense, on its own device."""
    if values is None:
        raise DebuggerError("expected a tensor or an array, got None")
    if not isinstance(values, torch.Tensor):
        array = _host_array(values)
        return torch.from_numpy(array if array.flags.writeable else array.copy())
    if values.is_meta:
        raise DebuggerError("expected a tensor with values, got one on the meta device, which has none")
    plain = values.detach()
    if plain.is_quantized:
        plain = plain.dequantize()
    if plain.layout is not torch.strided:
        plain = plain.to_dense()
    return plain.resolve_conj().resolve_neg()


def as_array(values: Any) -> NDArray[np.generic]:
    """On the host; dtypes that numpy does not know (bfloat16, float8, ...) become float32."""
    if not isinstance(values, torch.Tensor) and values is not None:
        return _host_array(values)
    tensor = as_tensor(values)
    known = tensor if tensor.dtype in _IN_NUMPY else tensor.float()
    array: NDArray[np.generic] = known.cpu().numpy()
    return array


def as_real_tensor(values: Any) -> torch.Tensor:
    tensor = as_tensor(values)
    if tensor.is_complex():
        raise DebuggerError(
            f"expected real numbers, got {tensor.dtype}; hand over .abs(), or .real and .imag one by one"
        )
    return tensor


def as_number(value: Any) -> float:
    """Of a plain number, or of an array or tensor with one element."""
    kind = type(value)
    if kind is float or kind is int:
        return float(value)
    if value is None:
        raise DebuggerError("expected a number, got None")
    size = value.numel() if isinstance(value, torch.Tensor) else getattr(value, "size", 1)
    if size != 1 and hasattr(value, "shape"):
        raise DebuggerError(f"expected one number, got {size} in a shape of {list(value.shape)}")
    number = value.item() if hasattr(value, "item") else value
    if isinstance(number, complex):
        raise DebuggerError(f"expected a real number, got {number}")
    if isinstance(number, (list, tuple, dict, set)):
        raise DebuggerError(f"expected one number, got {kind_of(number)} of {len(number)}")
    return float(number)


def _host_array(values: Any) -> NDArray[np.generic]:
    if isinstance(values, (list, tuple)) and values and isinstance(values[0], torch.Tensor):
        return np.stack([as_array(one) for one in values])
    array: NDArray[np.generic] = np.asarray(values)
    if array.dtype.kind not in "fiubc":
        raise DebuggerError(f"expected numbers, got {type(values).__name__} of dtype {array.dtype}")
    native = array.dtype.newbyteorder("=")
    return np.asarray(array, native, order="C")  # ascontiguousarray would add a dimension to single numbers
