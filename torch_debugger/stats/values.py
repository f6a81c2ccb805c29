"""The numbers a tensor holds, as a plain row, whatever kind of tensor it is."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from torch_debugger.stats.dispatch_modes import item_of, no_grad
from torch_debugger.stats.summary import sampled

Values = tuple[torch.Tensor | None, tuple[str, ...]]  # None: it holds none; and what to know about them


def values_of(tensor: torch.Tensor) -> Values:
    """The elements in one row, and remarks such as "3 of 100 stored" for a sparse tensor."""
    if nn.parameter.is_lazy(tensor):
        return None, ("not initialized",)
    if tensor.is_meta:
        return None, ("no values",)
    if any(kind.__name__ == "FakeTensor" for kind in type(tensor).__mro__):
        return None, ("fake, no values",)
    if torch._C._functorch.is_functorch_wrapped_tensor(tensor):
        return None, ("inside a transform, no values yet",)
    try:
        with no_grad(), torch._C.DisableTorchFunction():
            return _read(tensor.detach(), ())
    except Exception as error:  # kinds of tensors are without number, and each may refuse in its own way
        return None, (f"values cannot be read: {type(error).__name__}",)


def _read(tensor: torch.Tensor, remarks: tuple[str, ...]) -> Values:
    inner, remark = _unwrapped(tensor)
    if inner is not tensor:
        return _read(inner, (*remarks, remark) if remark else remarks)
    if tensor.device.type == "mps":
        return _read(tensor.cpu(), remarks)  # has no float64
    row = _row(tensor)
    row[:1].to(torch.float64)  # raises for kinds that are bits and not numbers
    return row, remarks


def _unwrapped(tensor: Any) -> tuple[Any, str]:
    """One coat taken off: placement over ranks, nesting, sparsity, quantization, imaginary parts."""
    if hasattr(tensor, "to_local"):  # never the whole: that would wait for the other ranks
        return tensor.to_local(), "this rank's part"
    if tensor.is_nested and tensor.layout is torch.jagged:
        return tensor.values(), f"{tensor.size(0)} nested"
    if tensor.is_nested:
        parts = [part.reshape(-1) for part in tensor.unbind()]
        return torch.cat(parts) if parts else torch.empty(0), f"{tensor.size(0)} nested"
    if tensor.layout is not torch.strided and tensor.is_mkldnn:
        return tensor.to_dense(), "mkldnn"
    if tensor.layout is not torch.strided:
        whole = tensor.coalesce() if tensor.layout is torch.sparse_coo else tensor
        return whole.values(), f"sparse, {whole.values().numel():,} of {whole.numel():,} stored"
    if tensor.is_quantized:
        return tensor.dequantize(), "quantized"
    if tensor.is_complex():
        whole = tensor.to(torch.complex64) if tensor.dtype is torch.complex32 else tensor
        return whole.abs(), "absolute values"
    return tensor, ""


def _row(tensor: torch.Tensor) -> torch.Tensor:
    """In the order of memory where that saves a copy."""
    if tensor.is_contiguous() or not torch.ops.aten.is_non_overlapping_and_dense(tensor):
        return tensor.reshape(-1)
    return tensor.as_strided((tensor.numel(),), (1,), tensor.storage_offset())


# All a line can say of a tensor: counted to the last element, in float64, on the tensor's own device.
#
# Dearer than `stats.summary`, which watches a training: this is for a look by hand. Numbers that are not finite are
# counted and then left out of the range, the mean and the deviation.
BINS = 10
_AT_ONCE, _AT_ONCE_ON_DEVICE = 2**18, 2**24  # elements widened to float64 at a time; a CPU's cache is small
_SKETCHED = 2**13  # elements that the histogram is drawn from
_NUMBERS = ("nans", "infs", "zeros", "min", "max", "mean", "std")


@dataclass(frozen=True, repr=False)
class TensorStats:
    """Numbers of one tensor; its str() is one line."""

    shape: tuple[int | str, ...]
    dtype: str
    device: str
    count: int = 0  # elements that were counted
    nans: int = 0
    infs: int = 0
    zeros: int = 0
    min: float | None = None  # of the finite elements, as all that follow; None where there are none
    max: float | None = None
    mean: float | None = None
    std: float | None = None  # of the population: divided by the count
    histogram: tuple[int, ...] = ()  # how many lie in each tenth of the range; of a sample where there are many
    remarks: tuple[str, ...] = ()

    @property
    def finite(self) -> bool:
        return not self.nans and not self.infs

    @property
    def norm(self) -> float:
        """The 2-norm of the finite elements."""
        if self.mean is None or self.std is None:
            return 0.0
        return math.sqrt((self.count - self.nans - self.infs) * (self.mean**2 + self.std**2))

    def __str__(self) -> str:
        return line_of(vars(self))

    __repr__ = __str__


@dataclass(frozen=True)
class Counted:
    """A tensor that was counted; its numbers are still on the device."""

    known: TensorStats
    numbers: torch.Tensor | None


def take_stats(tensor: torch.Tensor) -> TensorStats:
    return read_counted([count(tensor)])[0]


def count(tensor: torch.Tensor) -> Counted:
    """Everything that needs the elements, without waiting for the device."""
    values, remarks = values_of(tensor)
    known = TensorStats(
        shape=shape_of(tensor),
        dtype=str(tensor.dtype).removeprefix("torch."),
        device=str(tensor.device),
        count=0 if values is None else values.numel(),
        remarks=(*(("requires grad",) if tensor.requires_grad else ()), *remarks),
    )
    if values is None or not values.numel():
        return Counted(known, None)
    with no_grad(), torch._C.DisableTorchFunction():
        return Counted(known, _numbers(values))


def read_counted(items: Iterable[Counted]) -> list[TensorStats]:
    """The numbers of many tensors; one transfer for each device that holds some."""
    found = list(items)
    waiting = {index: item.numbers for index, item in enumerate(found) if item.numbers is not None}
    read: dict[int, list[float]] = {}
    for device in {numbers.device for numbers in waiting.values()}:
        here = [index for index, numbers in waiting.items() if numbers.device == device]
        read |= dict(zip(here, torch.stack([waiting[index] for index in here]).tolist(), strict=True))
    return [_finished(item.known, read.get(index)) for index, item in enumerate(found)]


def shape_of(tensor: torch.Tensor) -> tuple[int | str, ...]:
    """Sizes as numbers where they are some; a nested tensor's ragged size has a name only."""
    if nn.parameter.is_lazy(tensor):
        return ("?",)
    if tensor.is_nested and tensor.layout is not torch.jagged:
        return (tensor.size(0), *("*" for _ in range(tensor.dim() - 1)))
    return tuple(size if type(size) is int else str(size) for size in tensor.shape)


def _numbers(values: torch.Tensor) -> torch.Tensor:
    parts = torch.split(values, _AT_ONCE if values.is_cpu else _AT_ONCE_ON_DEVICE)
    tallies = torch.stack([_tally(part.to(torch.float64)) for part in parts])
    nans, infs, zeros, total = tallies[:, :4].sum(0)
    low, high = tallies[:, 4].amin(), tallies[:, 5].amax()
    finite = values.numel() - nans - infs
    mean = total / finite
    squares = torch.stack([_distance(part.to(torch.float64), mean) for part in parts]).sum()
    counts = torch.stack((nans, infs, zeros, low, high, mean, (squares / finite).sqrt()))
    return torch.cat((counts, _sketch(sampled(values, _SKETCHED).to(torch.float64), low, high)))


def _tally(part: torch.Tensor) -> torch.Tensor:
    """[NaN, Inf, zeros, sum, lowest, highest]"""
    zeros, total = part.numel() - torch.count_nonzero(part), part.sum()
    if _is_finite_here(total):
        return torch.stack((torch.zeros_like(total), torch.zeros_like(total), zeros, total, *torch.aminmax(part)))
    finite = part.isfinite()
    return torch.stack(
        (
            part.isnan().sum(),
            part.isinf().sum(),
            zeros,
            torch.where(finite, part, 0.0).sum(),
            torch.where(finite, part, torch.inf).amin(),
            torch.where(finite, part, -torch.inf).amax(),
        )
    )


def _distance(part: torch.Tensor, mean: torch.Tensor) -> torch.Tensor:
    away = part - mean
    squares = torch.dot(away, away)
    return squares if _is_finite_here(squares) else torch.where(part.isfinite(), away, 0.0).square().sum()


def _is_finite_here(number: torch.Tensor) -> bool:
    """Then all that was added up is finite, which saves work; a device is not asked, as that would wait."""
    return number.is_cpu and math.isfinite(item_of(number))


def _sketch(part: torch.Tensor, low: torch.Tensor, high: torch.Tensor) -> torch.Tensor:
    tenth = ((part - low) / (high - low) * BINS).floor().clamp(0, BINS - 1)
    tenth = torch.where(part.isfinite(), tenth, -1.0)
    counts = torch.stack([(tenth == index).sum() for index in range(BINS)]).double()
    counts[0].clamp_min_(1.0)  # the ends of the range are there, whether the sample met them or not
    counts[-1].clamp_min_(1.0)
    return counts


def _finished(known: TensorStats, numbers: list[float] | None) -> TensorStats:
    if numbers is None:
        return known
    values = vars(known) | dict(zip(_NUMBERS, numbers, strict=False))
    values |= {name: int(values[name]) for name in ("nans", "infs", "zeros")}
    if values["nans"] + values["infs"] == known.count:
        return TensorStats(**values | dict.fromkeys(("min", "max", "mean", "std")))
    drawn = numbers[len(_NUMBERS) :] if values["max"] > values["min"] else ()
    return TensorStats(**values | {"histogram": tuple(int(each) for each in drawn)})


# A tensor's numbers in one line of text.
_BLOCKS = " ▁▂▃▄▅▆▇█"
_LETTERS = " .:-=+*#@"  # for terminals that know no blocks
_EXACT = 2**53  # whole numbers beyond it are rounded by float64
_WHOLE = ("int", "uint", "bool")


def line_of(stats: Mapping[str, Any]) -> str:
    """'float32 [64, 10] cpu  min -2.3  max 3.02  mean 0.0123  std 0.998  zeros 1.9 %  |▁▂▅█▆▃▁|'"""
    shape = ", ".join(str(size) for size in stats["shape"])
    head = f"{stats['dtype']} [{shape}] {stats['device']}"
    remarks = [*stats["remarks"], "empty"] if 0 in stats["shape"] else stats["remarks"]
    return "  ".join([f"{head} ({', '.join(remarks)})" if remarks else head, *_line_numbers(stats)])


def _line_numbers(stats: Mapping[str, Any]) -> list[str]:
    count, whole = stats["count"], stats["dtype"].startswith(_WHOLE)
    if not count:
        return []
    if stats["dtype"] == "bool":
        return [f"true {share_text(count - stats['zeros'], count)}"]
    wrong = [f"{word} {stats[key]:,}" for word, key in (("NaN", "nans"), ("Inf", "infs")) if stats[key]]
    if stats["min"] is None:
        return ["nothing finite", *wrong]
    if count == 1:
        return [f"value {number_text(stats['min'], whole)}"]
    ends = [f"{name} {number_text(stats[name], whole)}" for name in ("min", "max")]
    middle = [f"{name} {number_text(stats[name])}" for name in ("mean", "std")]
    zeros = f"zeros {share_text(stats['zeros'], count)}"
    drawn = [f"|{sketch_text(stats['histogram'])}|"] if stats["histogram"] else []
    return [*ends, *middle, zeros, *wrong, *drawn]


def number_text(value: float, whole: bool = False) -> str:
    return str(int(value)) if whole and abs(value) < _EXACT else f"{value:.4g}"


def share_text(part: int, whole: int) -> str:
    """'0', '1.9 %', 'all'; what is there is never rounded away."""
    if part in (0, whole):
        return "all" if part else "0"
    percent = min(100 * part / whole, 99.9)
    return f"{percent:.{2 if percent < 10 else 3}g} %"


def sketch_text(counts: Sequence[int]) -> str:
    """A histogram of one line: a blank holds nothing, the lowest block at least one."""
    levels = _BLOCKS
    try:
        _BLOCKS.encode(getattr(sys.stdout, "encoding", None) or "ascii")
    except (UnicodeEncodeError, LookupError):
        levels = _LETTERS
    top = max(counts, default=0) or 1
    steps = len(levels) - 1
    return "".join(levels[-(-each * steps // top)] for each in counts)
