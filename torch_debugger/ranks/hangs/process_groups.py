"""What is known of the process groups when a collective does not return."""

from __future__ import annotations

import os
from types import FrameType
from typing import Any

import torch
from torch import distributed

from torch_debugger.anatomy.frames import locals_elsewhere
from torch_debugger.records import GroupState

_MOST = 16


def rank_and_world() -> tuple[int | None, int]:
    """As torchrun says it, while there is no process group yet."""
    if not distributed.is_available() or not distributed.is_initialized():
        rank, world = os.environ.get("RANK", ""), os.environ.get("WORLD_SIZE", "")
        known = rank.isdecimal() and world.isdecimal() and int(world) > 1
        return (int(rank), int(world)) if known else (None, 1)
    return distributed.get_rank(), distributed.get_world_size()


def group_states() -> tuple[GroupState, ...]:
    """The default one first. Nothing is sent and nothing waits: these are counts of this process."""
    if not distributed.is_available() or not distributed.is_initialized():
        return ()
    world = distributed.distributed_c10d._world
    return tuple(_state(group, world) for group in list(world.pg_map)[:_MOST])


def _state(group: Any, world: Any) -> GroupState:
    backend = str(world.pg_map[group][0])
    ranks = tuple(sorted(world.pg_group_ranks.get(group, {})))
    try:
        sequence = int(group._get_sequence_number_for_group())
    except RuntimeError:  # a backend that does not count
        sequence = -1
    return GroupState(str(world.pg_names.get(group, "")), backend, ranks, sequence)


def uses_nccl() -> bool:
    """Whether waits for other ranks may look like waits for the GPU: there the host is free to go on."""
    if not distributed.is_available() or not distributed.is_initialized():
        return False
    known = list(distributed.distributed_c10d._world.pg_map.values())
    return any("nccl" in str(backend) for backend, _ in known)


def shapes_given(frame: FrameType | None) -> tuple[str, ...]:
    """Of the tensors that a function of torch.distributed was called with."""
    if frame is None:
        return ()
    given = locals_elsewhere(frame)
    names = frame.f_code.co_varnames[: frame.f_code.co_argcount]
    found: list[str] = []
    for name in names:
        value = given.get(name)
        tensors = value if isinstance(value, list | tuple) else [value]
        found += [_shape(each) for each in tensors[:4] if isinstance(each, torch.Tensor)]
    return tuple(found[:8])


def _shape(tensor: torch.Tensor) -> str:
    return f"{tuple(tensor.shape)} {str(tensor.dtype).removeprefix('torch.')}"
