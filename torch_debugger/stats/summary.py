"""Five numbers of a tensor from the cheap reductions: sum, norm and range.

Mean and deviation come from the sum and the norm in float32; NaN and Inf show in all of
them. The numbers stay on the tensor's device until `stats.transfer` brings them over.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence
from typing import Any

import torch
from torch import isfinite

from torch_debugger.records import Operand
from torch_debugger.stats.dispatch_modes import no_grad, own_part

COLUMNS = ("mean", "std", "min", "max", "zeros")

_KINDS = (torch.float32, torch.float64, torch.bfloat16, torch.float16)  # eight bits have no reductions
_NARROW = (torch.bfloat16, torch.float16)
_AT_ONCE = 2**18  # elements
_NORMS_AT_ONCE = 4096  # tensors: each norm is a tensor of its own at first, of half a kilobyte
SAMPLE = 2**16  # elements; their share of zeros is within 0.4 % of the whole tensor's


def measurable(value: object) -> bool:
    return (
        isinstance(value, torch.Tensor)
        and value.dtype in _KINDS
        and value.layout is torch.strided
        and value.numel() > 0
        and not value.is_meta
        and type(value).__torch_dispatch__ is torch.Tensor.__torch_dispatch__  # else it may hold no numbers: fake
    )


def measure(tensor: torch.Tensor) -> torch.Tensor:
    """[mean, std, min, max, share of zeros] as float32 on the tensor's device."""
    data = _row(tensor.detach())
    count = data.numel()
    length = norm(data)
    # aminmax copies what is not contiguous
    low, high = torch.aminmax(data) if data.is_contiguous() else (data.amin(), data.amax())
    sums = [part.sum(dtype=length.dtype) for part in _parts(data)]
    mean = (sums[0] if len(sums) == 1 else torch.stack(sums).sum()) / count
    variance = (length * length / count - mean * mean).clamp_min(0)
    spread = sampled(data, SAMPLE)  # counting is the dearest of the five, and a share needs no census
    zeros = 1.0 - torch.count_nonzero(spread) / spread.numel()
    return torch.stack([value.float() for value in (mean, variance.sqrt(), low, high, zeros)])


def norm(tensor: torch.Tensor) -> torch.Tensor:
    """The 2-norm, added up in float32 at least: half precision would overflow at 65504."""
    wide = torch.float64 if tensor.dtype in (torch.float64, torch.complex128) else torch.float32
    kind = None if tensor.is_complex() else wide
    lengths = [torch.linalg.vector_norm(part, dtype=kind) for part in _parts(tensor.detach())]
    length: torch.Tensor = lengths[0]
    return length if len(lengths) == 1 else torch.linalg.vector_norm(torch.stack(lengths))


def _row(data: torch.Tensor) -> torch.Tensor:
    """All elements in one row, in the order of memory, where the layout allows it without a copy."""
    if data.is_contiguous() or not torch.ops.aten.is_non_overlapping_and_dense(data):
        return data
    return data.as_strided((data.numel(),), (1,), data.storage_offset())


def _parts(data: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """In pieces where torch widens by a copy, half precision on the CPU: the peak of memory is the user's."""
    if data.dtype not in _NARROW or data.device.type != "cpu" or data.numel() <= _AT_ONCE:
        return (data,)
    return torch.split(_row(data).flatten(), _AT_ONCE)


def sampled(tensor: torch.Tensor, limit: int = 4096) -> torch.Tensor:
    """At most `limit` elements, evenly spread, as a view where the layout allows."""
    data = own_part(tensor.detach())
    count = data.numel()
    if count <= limit:
        return data.reshape(-1)
    stride = _uneven(count // limit, count)
    if torch.ops.aten.is_non_overlapping_and_dense(data):
        return data.as_strided((limit,), (stride,), data.storage_offset())
    return data.flatten()[::stride][:limit]


def _uneven(stride: int, count: int) -> int:
    """A stride that falls into no column: 784 on a [4096, 784] weight would see one pixel only."""
    return next((each for each in range(stride, stride * 9 // 10, -1) if math.gcd(each, count) == 1), stride)


def norms(tensors: list[torch.Tensor]) -> torch.Tensor:
    """The 2-norms of many tensors as one float32 vector on the device of the first."""
    if not tensors:
        return torch.empty(0)
    home = tensors[0].device
    starts = range(0, len(tensors), _NORMS_AT_ONCE)
    parts = [_norms(tensors[start : start + _NORMS_AT_ONCE], home) for start in starts]
    return parts[0] if len(parts) == 1 else torch.cat(parts)


def _norms(tensors: list[torch.Tensor], home: torch.device) -> torch.Tensor:
    kinds = {(tensor.device, tensor.dtype) for tensor in tensors}
    if kinds in ({(tensors[0].device, torch.float32)}, {(tensors[0].device, torch.float64)}):
        found = torch._foreach_norm(tensors)
    else:
        found = tuple(norm(tensor) for tensor in tensors)
    return torch.stack([value.to(home, torch.float32, non_blocking=True) for value in found])


# How much of a float16 tensor has fallen to the low end of its range, where numbers end.
#
# Below 2**-14 a float16 loses a bit of precision with every halving, and below 2**-25 it is zero. Those that have
# become zero cannot be told from others that are zero; but values that crowd on the last two steps above zero tell
# that as many have gone over the edge. The other dtypes reach down to 1e-38 and are not asked.
UNDERFLOW_COLUMNS = ("subnormal", "faint")  # shares of all values; neither counts zeros
LAST_STEPS = 2**-23  # two steps of 2**-24, the distance between the smallest float16 numbers


def can_underflow(tensor: torch.Tensor) -> bool:
    return tensor.dtype is torch.float16


def measure_underflow(tensor: torch.Tensor) -> torch.Tensor:
    """[share below the smallest normal number, share on the last two steps above zero] as float32."""
    sizes = sampled(tensor, SAMPLE).float().abs()
    zeros = torch.count_nonzero(sizes == 0)
    low = [torch.count_nonzero(sizes < 2**-14), torch.count_nonzero(sizes <= LAST_STEPS)]
    return (torch.stack(low) - zeros) / sizes.numel()


# A few elements of a tensor from all over it, the same at every look, without a random number.
#
# Steps of the golden ratio through the elements never line up with rows or columns, as a stride of 8 would with a
# width of 64: it would show the same 8 units of every sample.
_GOLDEN = (math.sqrt(5) - 1) / 2


class Scattered:
    """Keeps the places it has computed: most layers of a model have one of a few sizes."""

    MOST_KEPT = 64

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._places: dict[tuple[torch.device, int], torch.Tensor] = {}

    def copy(self, tensor: torch.Tensor) -> torch.Tensor:
        """At most `limit` elements in a row of their own, on the tensor's device."""
        data = tensor.detach()
        count = data.numel()
        if count <= self.limit:
            return data.reshape(-1).clone()
        if not torch.ops.aten.is_non_overlapping_and_dense(data):
            return data.flatten().index_select(0, self._places_in(data.device, count))
        row = data.as_strided((count,), (1,), data.storage_offset())
        return row.index_select(0, self._places_in(data.device, count))

    def _places_in(self, device: torch.device, count: int) -> torch.Tensor:
        key = (device, count)
        if key not in self._places:
            if len(self._places) >= self.MOST_KEPT:
                self._places.pop(next(iter(self._places)))
            self._places[key] = torch.arange(self.limit, device=device) * step_through(count) % count
        return self._places[key]


def step_through(count: int) -> int:
    """Near the golden part of the count, and without a common factor with it: every place is met once."""
    step = round(count * _GOLDEN)
    return next(each for each in range(step, step + count) if math.gcd(each, count) == 1)


# The numbers of a tensor that went into an op, as a record.
def measure_operand(tensor: torch.Tensor, name: str = "", parameter: str = "") -> Operand:
    with torch._C.DisableTorchFunction(), no_grad():
        data = tensor.detach()
        plain = data.layout is torch.strided and not data.is_complex() and not data.is_quantized
        return Operand(
            name=name,
            dtype=str(data.dtype).removeprefix("torch."),
            shape=tuple(data.shape),
            elements=data.numel(),
            limit=torch.finfo(data.dtype).max if data.is_floating_point() else 0.0,
            parameter=parameter,
            **(_numbers(data) if plain and data.numel() and not data.is_meta else {}),
        )


def _numbers(data: torch.Tensor) -> dict[str, Any]:
    found: dict[str, Any] = {"zeros": int((data == 0).sum())}
    if data.dtype is not torch.bool:
        found["negatives"] = int((data < 0).sum())
    finite = data
    if data.is_floating_point():
        finite = data[isfinite(data)]
        found["nans"], found["infs"] = int(data.isnan().sum()), int(data.isinf().sum())
    if finite.numel():
        found["low"], found["high"] = float(finite.min()), float(finite.max())
    return found


# How rows of tokens end: in a run of one token, as padding does?
def measure_ends(rows: torch.Tensor, weight: Any = None) -> torch.Tensor:
    """[the token that ends most rows, share of rows with two of it or more at the end, share of all tokens in
    such ends, share of the token's places elsewhere, shortest and longest end, the token's weight]"""
    last = rows[:, -1].mode().values
    same = rows == last
    places = torch.arange(1, rows.shape[1] + 1, device=rows.device)
    tails = rows.shape[1] - (~same * places).amax(1)  # up to the last token that is another one
    ended = tails >= 2
    inside = (tails * ended).sum()
    token_weight = torch.ones((), device=rows.device)
    if isinstance(weight, torch.Tensor):
        token_weight = weight.detach().float()[last.clamp(0, len(weight) - 1)]
    found = (
        last,
        ended.float().mean(),
        inside / rows.numel(),
        1 - inside / same.sum(),
        tails.min(),
        tails.max(),
        token_weight,
    )
    return torch.stack([number.float() for number in found])


# Whether tensors on different machines are equal to the last bit, as one small number each.
ELEMENTS = 256  # of one tensor, evenly spread
BITS = 24  # of a checksum: so many go through a float32 unharmed


@no_grad()
def checksums(tensors: Sequence[torch.Tensor], limit: int = ELEMENTS) -> torch.Tensor:
    """One whole number below 2**BITS for each, on their own device: nothing waits for it. Half precision is
    told to the last bit; of float64 what a float32 keeps."""
    rows = torch.zeros(len(tensors), limit, dtype=torch.int64, device=tensors[0].device)
    for row, tensor in zip(rows, tensors, strict=True):
        numbers = sampled(tensor, limit)
        if numbers.is_floating_point():
            numbers = numbers.float().contiguous().view(torch.int32)
        row[: numbers.numel()] = numbers.to(torch.int64)
    # Odd multipliers, so that neither an exchange nor a shift of numbers goes unseen.
    places = torch.arange(1, limit + 1, device=rows.device) * 0x9E3779B1 | 1
    mixed = (rows * places).sum(dim=1)
    return torch.bitwise_and(mixed ^ (mixed >> 29), 2**BITS - 1)


# A small number that stands for a sample: the same sample always has the same one.
DIGESTED_SAMPLES = 32  # of one batch
SAMPLE_ELEMENTS = 256  # of one sample, evenly spread


def sampled_rows(tensor: torch.Tensor) -> torch.Tensor:
    """The first samples, one a row, with at most ELEMENTS of each: [samples, elements], contiguous."""
    first = tensor.detach()[:DIGESTED_SAMPLES]
    rows = first.reshape(first.shape[0], -1)
    stride = max(1, -(-rows.shape[1] // SAMPLE_ELEMENTS))
    # An even stride would see the same column of every line of an image.
    stride += stride > 1 and stride % 2 == 0
    return rows[:, ::stride].contiguous()


def digest_rows(rows: torch.Tensor) -> tuple[int, ...]:
    """Of every row its checksum. Only for a contiguous tensor on the CPU."""
    width = rows.shape[1] * rows.element_size()
    data = rows.view(torch.uint8).numpy().data.cast("B")
    return tuple(zlib.crc32(data[start : start + width]) for start in range(0, width * len(rows), width))
