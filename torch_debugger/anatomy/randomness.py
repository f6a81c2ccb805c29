"""The states of all random number generators a training may draw from: kept, and put back."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Iterator

import numpy
import torch


def keep_randomness() -> Callable[[], None]:
    """Notes the states of torch, CUDA, numpy and Python; the function that comes back restores them."""
    states = torch.get_rng_state(), numpy.random.get_state(), random.getstate()
    cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else []  # type: ignore[no-untyped-call]

    def restore() -> None:
        torch.set_rng_state(states[0])
        numpy.random.set_state(states[1])
        random.setstate(states[2])
        if cuda:
            torch.cuda.set_rng_state_all(cuda)

    return restore


@contextlib.contextmanager
def randomness_kept() -> Iterator[None]:
    """What is drawn inside is as if never drawn."""
    restore = keep_randomness()
    try:
        yield
    finally:
        restore()
