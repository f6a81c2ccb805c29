"""What a sampler says about the order of a loader's samples, and about who gets which."""

from __future__ import annotations

from typing import Any

from torch.utils.data import DistributedSampler, RandomSampler, SequentialSampler

from torch_debugger.anatomy.kinds import is_a


def is_shuffled(sampler: Any) -> bool | None:
    """None where it is a class of the user's, of which nobody knows."""
    if is_a(sampler, DistributedSampler):
        return bool(sampler.shuffle)
    return {RandomSampler: True, SequentialSampler: False}.get(_known(sampler))


def share_of(sampler: Any) -> tuple[int, int]:
    """Of a DistributedSampler: whose share of the data it takes, of how many; else (-1, 0)."""
    if is_a(sampler, DistributedSampler):
        return int(sampler.rank), int(sampler.num_replicas)
    return -1, 0


def _known(sampler: Any) -> Any:
    return next((kind for kind in (RandomSampler, SequentialSampler) if is_a(sampler, kind)), None)
