"""Models whose parameters lie in parts on several ranks (FSDP, tensor parallelism), looked at without a word
between ranks: of a tensor that is spread only the part of this rank is read, and one whose memory was given
back until it is gathered again is not read at all."""

from __future__ import annotations

import sys
from typing import Any

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map_only

_COLLECTIVES = ("c10d", "_c10d_functional", "_c10d_functional_autograd", "c10d_functional", "_dtensor")
_SPREAD, _SPREAD_KIND = "torch.distributed.tensor", "DTensor"
_PARTS_KEEPERS = ("FSDPModule", "FullyShardedDataParallel")

_expected = False  # from the first such model on


class OutOfReachError(Exception):
    """What was asked for lies on other ranks too, or nowhere at the moment: this look is left out."""


def expect_shards(model: nn.Module) -> bool:
    """Whether this model is spread; then all our arithmetic is confined to this rank from now on."""
    global _expected
    _expected = _expected or any(map(_is_spread, model.modules()))
    return _expected


def shards_expected() -> bool:
    return _expected


def _is_spread(module: nn.Module) -> bool:
    kinds = {kind.__name__ for kind in type(module).__mro__}
    kept = vars(module).get("_parameters", {}).values()
    return not kinds.isdisjoint(_PARTS_KEEPERS) or any(type(each).__name__ == _SPREAD_KIND for each in kept)


def is_of_parts(error: BaseException) -> bool:
    """Whether a look went wrong because it met a part where it reckoned with the whole."""
    return isinstance(error, OutOfReachError) or (_expected and isinstance(error, (IndexError, RuntimeError)))


class ThisRankOnly(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Around our own arithmetic: every operation is given local parts, and a collective is refused."""

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if func.namespace in _COLLECTIVES:
            raise OutOfReachError(f"{func} would speak to other ranks")
        args, kwargs = tree_map_only(torch.Tensor, own_part, (args, kwargs or {}))
        return func(*args, **kwargs)


def own_part(tensor: torch.Tensor) -> torch.Tensor:
    """What this rank holds of a tensor, where there are parts at all."""
    if not _expected:
        return tensor
    spread = getattr(sys.modules.get(_SPREAD), _SPREAD_KIND, None)
    part = tensor._local_tensor if spread is not None and isinstance(tensor, spread) else tensor
    if type(part).__name__ == "AsyncCollectiveTensor":
        raise OutOfReachError("its values are still on their way from other ranks")
    has_memory = part.layout == torch.strided and not part.is_meta and part.numel() > 0
    if has_memory and not part.untyped_storage().nbytes():
        raise OutOfReachError("its memory was given back until it is gathered again")
    return part
