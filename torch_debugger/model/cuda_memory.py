"""torch's allocator of GPU memory, played through: which block each tensor would get, and what that adds up to.

The rules and sizes are those of its CUDA caching allocator with default settings: a freed block is kept and
given to the next tensor that fits, whole where it is hardly larger than needed.
"""

from __future__ import annotations

import bisect
import contextlib
import functools
import os
import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.utils._pytree import tree_map_only

ROUNDED = 512  # every block is a multiple of this
_SMALL = 2**20  # up to here blocks come from small segments
_SMALL_SEGMENT = 2 * 2**20
_MEDIUM = 10 * 2**20  # up to here several blocks share a segment
_MEDIUM_SEGMENT = 20 * 2**20
_LARGE_ROUNDED = 2 * 2**20


@dataclass(eq=False, slots=True)
class Block:
    """A stretch of memory, with the free or used stretches beside it in the same segment."""

    size: int
    address: int
    small: bool
    free: bool = True
    before: Block | None = None
    after: Block | None = None


class CachingAllocator:
    def __init__(self) -> None:
        self.allocated = 0  # bytes of blocks in use, as torch.cuda.memory_allocated() counts them
        self.reserved = 0  # bytes taken from the GPU, which are never given back
        self._free: dict[bool, list[tuple[int, int, Block]]] = {True: [], False: []}  # by size, then address

    def allocate(self, size: int) -> Block:
        size = rounded(size)
        small = size <= _SMALL
        kept = self._free[small]
        at = bisect.bisect_left(kept, (size, -1))
        if at < len(kept):  # the best fit
            block = kept.pop(at)[2]
        else:
            segment = _SMALL_SEGMENT if small else _MEDIUM_SEGMENT if size < _MEDIUM else _up(size, _LARGE_ROUNDED)
            block = Block(segment, self.reserved, small)
            self.reserved += segment
        left = block.size - size
        if left >= ROUNDED if block.small else left > _SMALL:
            self._split(block, size)
        block.free = False
        self.allocated += block.size
        return block

    def release(self, block: Block) -> None:
        self.allocated -= block.size
        block.free = True
        for beside in (block.before, block.after):
            if beside is not None and beside.free:
                kept = self._free[beside.small]
                del kept[bisect.bisect_left(kept, (beside.size, beside.address))]
                block = _joined(block, beside)
        self._keep(block)

    def _split(self, block: Block, size: int) -> None:
        rest = Block(block.size - size, block.address + size, block.small, True, block, block.after)
        if block.after is not None:
            block.after.before = rest
        block.size, block.after = size, rest
        self._keep(rest)

    def _keep(self, block: Block) -> None:
        bisect.insort(self._free[block.small], (block.size, block.address, block))


def rounded(size: int) -> int:
    return _up(max(size, 1), ROUNDED)


def _up(size: int, step: int) -> int:
    return -(-size // step) * step


def _joined(one: Block, other: Block) -> Block:
    first, second = (one, other) if one.address < other.address else (other, one)
    first.size += second.size
    first.after = second.after
    if second.after is not None:
        second.after.before = first
    return first


# Memory that CUDA's libraries take beside the tensors of a step: a guess, from what they are known to do.
#
# cuBLAS takes a workspace at its first matrix product and keeps it. cuDNN takes one for each convolution: its fast
# kernels want the channels last, and turn tensors that have them first into copies of their own.
_aten = torch.ops.aten
_PRODUCTS = frozenset({
    _aten.mm.default, _aten.addmm.default, _aten.bmm.default, _aten.baddbmm.default, _aten.addbmm.default,
    _aten.mv.default, _aten.addmv.default, _aten.linear.default,
})  # fmt: skip
_FORWARD, _BACKWARD = _aten.convolution.default, _aten.convolution_backward.default

_LSTM = _aten.mkldnn_rnn_layer.default
_LSTM_RESERVE = 6  # times its output: four gates, cell and hidden state of each time step

CUBLAS_BYTES = 8_519_680  # 4096 KiB twice and 16 KiB eight times, torch's default
CUBLAS_HOPPER_BYTES = 32 * 2**20
_CONFIGURED = "CUBLAS_WORKSPACE_CONFIG"  # :KIB:COUNT, once or more often


def cublas_bytes(device: torch.device | None = None) -> int:
    """What torch gives each of its cuBLAS handles on a CUDA device (there is one for each thread)."""
    configured = re.findall(r":(\d+):(\d+)", os.environ.get(_CONFIGURED, ""))
    if configured:
        return sum(int(kib) * 1024 * int(count) for kib, count in configured)
    return CUBLAS_HOPPER_BYTES if torch.cuda.get_device_capability(device)[0] >= 9 else CUBLAS_BYTES


@dataclass
class Workspaces:
    """Of one process."""

    cublas_bytes: int = CUBLAS_BYTES
    _taken: bool = field(default=False, init=False)

    def of(self, function: Any, args: tuple[Any, ...], made: Any) -> Iterator[tuple[int, bool]]:
        """Bytes that this operation takes besides, and whether they stay."""
        if function is _FORWARD:
            yield _turned_bytes(args[0], args[1], made), False
        elif function is _BACKWARD:  # for the input and for the weight, one after the other
            yield max(_turned_bytes(args[0], args[2], made[0]), _turned_bytes(args[0], args[1], made[1])), False
        elif function in _PRODUCTS and not self._taken:
            self._taken = True
            yield self.cublas_bytes, True


def with_reserve(function: Any, made: Any) -> Any:
    """cuDNN's LSTM keeps a reserve for its backward; its twin on the CPU, without data, keeps nothing."""
    if function is not _LSTM or made[-1].numel():
        return made
    return (*made[:-1], torch.empty(_LSTM_RESERVE * made[0].nbytes, dtype=torch.uint8))


def _turned_bytes(*tensors: torch.Tensor | None) -> int:
    """Of those whose channels come first."""
    size = 0
    for tensor in tensors:
        if tensor is not None and tensor.dim() >= 4:
            form = torch.channels_last if tensor.dim() == 4 else torch.channels_last_3d
            turned = tensor.is_contiguous() and not tensor.is_contiguous(memory_format=form)
            size += tensor.nbytes if turned else 0
    return size


# Where torch computes otherwise on CUDA than on the CPU, the CPU made to follow, so that it keeps the same.
#
# On CUDA dropout keeps a mask of one byte an element, attention keeps no scores, and autocast has other lists. The
# kernels are exchanged for the whole process: for forks that end afterwards.
_AUTOCAST_OFF = torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastCPU)

# Autocast's lists for CUDA, where they differ from those for the CPU.
_IN_FLOAT32 = (
    "acos", "asin", "cosh", "erfinv", "exp", "expm1", "log", "log10", "log2", "log1p", "reciprocal", "rsqrt",
    "sinh", "tan", "pow.Tensor_Scalar", "pow.Tensor_Tensor", "pow.Scalar", "softplus", "layer_norm",
    "group_norm", "cosine_similarity", "logsumexp", "pdist", "dist", "renorm", "kl_div",
    "multilabel_margin_loss", "binary_cross_entropy_with_logits",
)  # fmt: skip
_TO_FLOAT32 = (
    "softmax.int", "log_softmax.int", "cumsum", "cumprod", "sum", "sum.dim_IntList", "prod", "prod.dim_int",
)  # fmt: skip
_COMPOSITE = ("cross_entropy_loss",)  # what it calls has a place of its own in the lists


@contextlib.contextmanager
def as_on_cuda() -> Iterator[None]:
    cast: dict[str, Callable[..., Any]] = {
        name: functools.partial(_in_float32, _operation(name)) for name in _IN_FLOAT32
    }
    cast |= {name: functools.partial(_to_float32, _operation(name)) for name in _TO_FLOAT32}
    cast |= {name: _operation(name).decompose for name in _COMPOSITE}
    kept: dict[str, Callable[..., Any]] = {"dropout": _dropout, "scaled_dot_product_attention": _attention}
    library = torch.library.Library("aten", "IMPL")  # type: ignore[no-untyped-call]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of kernels that others have registered: that is the point
        for key, kernels in (("AutogradCPU", kept), ("AutocastCPU", cast)):
            for name, kernel in kernels.items():
                library.impl(name, kernel, key)  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        library._destroy()  # type: ignore[no-untyped-call]


def _dropout(tensor: torch.Tensor, p: float, train: bool) -> torch.Tensor:
    if not train or p == 0 or not tensor.numel():
        return tensor
    dropped: torch.Tensor = torch.native_dropout(tensor, p, train)[0]
    return dropped


def _attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attn_mask: torch.Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> torch.Tensor:
    if enable_gqa:  # the kernels of CUDA need no copies: those are small beside the scores
        key, value = (each.repeat_interleave(query.shape[-3] // each.shape[-3], -3) for each in (key, value))
    backends: Any = torch.backends.cuda
    has_fused = backends.flash_sdp_enabled() or backends.mem_efficient_sdp_enabled()
    if not has_fused or any(each.dim() != 4 or each.stride(-1) != 1 for each in (query, key, value)):
        operands = (query, key, value, attn_mask, dropout_p, is_causal)
        by_steps: torch.Tensor = _aten._scaled_dot_product_attention_math(*operands, scale=scale)[0]
        return by_steps
    mask = attn_mask
    if mask is not None and mask.dtype is torch.bool:
        mask = torch.zeros_like(mask, dtype=query.dtype).masked_fill_(mask.logical_not(), float("-inf"))
    fused: torch.Tensor = _aten._scaled_dot_product_flash_attention_for_cpu(
        query, key, value, 0.0, is_causal, attn_mask=mask, scale=scale
    )[0]
    return fused


def _operation(name: str) -> Any:
    base, _, overload = name.partition(".")
    return getattr(getattr(_aten, base), overload or "default")


def _in_float32(operation: Any, *arguments: Any, **keywords: Any) -> Any:
    def widened(tensor: torch.Tensor) -> torch.Tensor:
        return tensor.float() if tensor.dtype in (torch.bfloat16, torch.float16) else tensor

    arguments, keywords = tree_map_only(torch.Tensor, widened, (arguments, keywords))
    with torch._C._ExcludeDispatchKeyGuard(_AUTOCAST_OFF):
        return operation(*arguments, **keywords)


def _to_float32(operation: Any, *arguments: Any, **keywords: Any) -> Any:
    """A dtype that the caller names is heeded: cross entropy names that of its input."""
    is_named = any(isinstance(each, torch.dtype) for each in (*arguments, keywords.get("dtype")))
    if arguments[0].dtype in (torch.bfloat16, torch.float16) and not is_named:
        keywords = {**keywords, "dtype": torch.float32}
    with torch._C._ExcludeDispatchKeyGuard(_AUTOCAST_OFF):
        return operation(*arguments, **keywords)
