"""Our own arithmetic, out of sight of the user's modes and tensor classes."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes
from torch.utils._pytree import tree_map_only

from torch_debugger.system.tracebacks import is_user_path

# As they are before the script's first line: it may put others in their place, and count the calls.
item_of = torch._C.TensorBase.item


class no_grad(torch.no_grad):  # noqa: N801 - it is one
    __enter__ = torch.no_grad.__enter__
    __exit__ = torch.no_grad.__exit__


_leaves_classes = False  # from the first tensor on whose class is the script's and has a __torch_dispatch__


def leave_classes_of(tensors: Iterable[object]) -> bool:
    """From the next look on no operation of ours reaches a tensor whose class runs the script's code at each.
    Whether one of these is the first such tensor."""
    global _leaves_classes
    if _leaves_classes:
        return False
    _leaves_classes = any(_runs_the_scripts_code(type(each)) for each in tensors)
    return _leaves_classes


def _runs_the_scripts_code(kind: type) -> bool:
    if kind is torch.Tensor or kind is torch.nn.Parameter or not issubclass(kind, torch.Tensor):
        return False
    own = next(each for each in kind.__mro__ if "__torch_dispatch__" in vars(each))
    file = getattr(sys.modules.get(own.__module__), "__file__", None)
    return own is not torch.Tensor and (file is None or is_user_path(file))


class _ClassesLeftAlone(TorchDispatchMode):  # type: ignore[no-untyped-call]
    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if any(map(_runs_the_scripts_code, types)):
            raise OutOfReachError(f"{func} would run the script's own code")
        return func(*args, **(kwargs or {}))


def unseen(function: Callable[..., Any], *arguments: Any) -> Any:
    """A mode or a tensor class of the user's that counts or logs operations must not meet ours."""
    with torch._C.DisableTorchFunction():
        if shards_expected():
            with _disable_current_modes(), ThisRankOnly():  # type: ignore[no-untyped-call]
                return function(*arguments)
        if _leaves_classes:
            with _disable_current_modes(), _ClassesLeftAlone():  # type: ignore[no-untyped-call]
                return function(*arguments)
        if torch._C._len_torch_dispatch_stack():
            with _disable_current_modes():
                return function(*arguments)
        return function(*arguments)


def same_state(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Of random generators, bytes of the CPU's memory; torch.equal would stand in the script's profile."""
    first, second = (ctypes.string_at(state.data_ptr(), state.nbytes) for state in (one, other))
    return first == second


# Models whose parameters lie in parts on several ranks (FSDP, tensor parallelism), looked at without a word between
# ranks: of a tensor that is spread only the part of this rank is read, and one whose memory was given back until it
# is gathered again is not read at all.
_COLLECTIVES = ("c10d", "_c10d_functional", "_c10d_functional_autograd", "c10d_functional", "_dtensor")
_SPREAD, _SPREAD_KIND = "torch.distributed.tensor", "DTensor"
_PARTS_KEEPERS = ("FSDPModule", "FullyShardedDataParallel")

_expected = False  # from the first such model on


class OutOfReachError(Exception):
    """What was asked for lies on other ranks too, or nowhere at the moment: this look is left out."""


def expect_shards(model: nn.Module) -> bool:
    """Whether this model is spread; then all our arithmetic is confined to this rank from now on."""
    global _expected
    if not _expected:
        for module in model.modules():
            kinds = {kind.__name__ for kind in type(module).__mro__}
            parameters = vars(module).get("_parameters", {}).values()
            has_parts = any(type(each).__name__ == _SPREAD_KIND for each in parameters)
            _expected = _expected or has_parts or not kinds.isdisjoint(_PARTS_KEEPERS)
    return _expected


def shards_expected() -> bool:
    return _expected


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
