"""Where torch computes otherwise on CUDA than on the CPU, the CPU made to follow, so that it keeps the same.

On CUDA dropout keeps a mask of one byte an element, attention keeps no scores, and autocast has other lists.
The kernels are exchanged for the whole process: for forks that end afterwards.
"""

from __future__ import annotations

import contextlib
import functools
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.utils._pytree import tree_map_only

_aten = torch.ops.aten
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
_AS_GIVEN = ("cross_entropy_loss",)  # what it calls has a place of its own in the lists


@contextlib.contextmanager
def as_on_cuda() -> Iterator[None]:
    library = torch.library.Library("aten", "IMPL")  # type: ignore[no-untyped-call]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of kernels that others have registered: that is the point
        for key, kernels in (("AutogradCPU", _kept_otherwise()), ("AutocastCPU", _cast_otherwise())):
            for name, kernel in kernels.items():
                library.impl(name, kernel, key)  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        library._destroy()  # type: ignore[no-untyped-call]


def _kept_otherwise() -> dict[str, Callable[..., Any]]:
    return {"dropout": _dropout, "scaled_dot_product_attention": _attention}


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
    if not _is_fused(query, key, value):
        given = (query, key, value, attn_mask, dropout_p, is_causal)
        by_steps: torch.Tensor = _aten._scaled_dot_product_attention_math(*given, scale=scale)[0]
        return by_steps
    mask = _as_numbers(attn_mask, query)
    fused: torch.Tensor = _aten._scaled_dot_product_flash_attention_for_cpu(
        query, key, value, 0.0, is_causal, attn_mask=mask, scale=scale
    )[0]
    return fused


def _is_fused(*tensors: torch.Tensor) -> bool:
    backends: Any = torch.backends.cuda
    chosen: bool = backends.flash_sdp_enabled() or backends.mem_efficient_sdp_enabled()
    return chosen and all(each.dim() == 4 and each.stride(-1) == 1 for each in tensors)


def _as_numbers(mask: torch.Tensor | None, query: torch.Tensor) -> torch.Tensor | None:
    if mask is None or mask.dtype is not torch.bool:
        return mask
    return torch.zeros_like(mask, dtype=query.dtype).masked_fill_(mask.logical_not(), float("-inf"))


def _cast_otherwise() -> dict[str, Callable[..., Any]]:
    kernels: dict[str, Callable[..., Any]] = {}
    for name in _IN_FLOAT32:
        kernels[name] = functools.partial(_in_float32, _operation(name))
    for name in _TO_FLOAT32:
        kernels[name] = functools.partial(_to_float32, _operation(name))
    for name in _AS_GIVEN:
        kernels[name] = _operation(name).decompose
    return kernels


def _operation(name: str) -> Any:
    base, _, overload = name.partition(".")
    return getattr(getattr(_aten, base), overload or "default")


def _in_float32(operation: Any, *arguments: Any, **keywords: Any) -> Any:
    arguments, keywords = tree_map_only(torch.Tensor, _widened, (arguments, keywords))
    with torch._C._ExcludeDispatchKeyGuard(_AUTOCAST_OFF):
        return operation(*arguments, **keywords)


def _to_float32(operation: Any, *arguments: Any, **keywords: Any) -> Any:
    """A dtype that the caller names is heeded: cross entropy names that of its input."""
    is_named = any(isinstance(each, torch.dtype) for each in (*arguments, keywords.get("dtype")))
    if arguments[0].dtype in (torch.bfloat16, torch.float16) and not is_named:
        keywords = {**keywords, "dtype": torch.float32}
    with torch._C._ExcludeDispatchKeyGuard(_AUTOCAST_OFF):
        return operation(*arguments, **keywords)


def _widened(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.float() if tensor.dtype in (torch.bfloat16, torch.float16) else tensor
