"""A fork of a process that belongs to a process group: nobody answers it, so it must not wait for anybody."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from torch_debugger.anatomy.kinds import classes_of, is_a, name_of_class

_SHARDED = ("FSDPModule", "FullyShardedDataParallel")
_ALONE_THE_SAME = ("all_reduce", "barrier", "broadcast", "reduce")


def has_fellows() -> bool:
    """Whether this process is one of several in a process group: what runs the user's model once more would
    call the others, who do not answer, or answer the wrong question."""
    distributed = torch.distributed
    ready = distributed.is_available() and distributed.is_initialized()
    return bool(ready and distributed.get_world_size() > 1)


def is_shared(module: nn.Module) -> bool:
    """Whether it is a wrapper that keeps account of its passes for all ranks, even where there is one rank."""
    return is_a(module, DistributedDataParallel) or is_sharded(module)


def is_sharded(module: nn.Module) -> bool:
    return any(name_of_class(kind) in _SHARDED for kind in classes_of(type(module)))


def leave_process_groups() -> None:
    """For good: in the fork alone. Models run without their DistributedDataParallel."""
    if not (torch.distributed.is_available() and torch.distributed.is_initialized()):
        return
    wrapper: Any = DistributedDataParallel
    wrapper.forward = _alone
    for name in _ALONE_THE_SAME:
        setattr(torch.distributed, name, lambda *arguments, **keywords: None)


def _alone(wrapper: Any, *arguments: Any, **keywords: Any) -> Any:
    wrapper.reducer._remove_autograd_hooks()  # which would wait for the others in the backward pass
    return wrapper.module(*arguments, **keywords)
