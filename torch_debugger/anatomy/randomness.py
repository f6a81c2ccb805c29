"""The states of all random number generators a training may draw from: kept, and put back."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Iterable, Iterator

import numpy
import torch

from torch_debugger.anatomy.held_generators import keep_held_states


def keep_randomness(modules: Iterable[object] = ()) -> Callable[[], None]:
    """Notes the states of torch, CUDA, numpy and Python, and of the generators that these objects hold; the
    function that comes back restores them."""
    states = torch.get_rng_state(), numpy.random.get_state(), random.getstate()
    held = keep_held_states(modules)
    cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else []  # type: ignore[no-untyped-call]

    def restore() -> None:
        torch.set_rng_state(states[0])
        numpy.random.set_state(states[1])
        random.setstate(states[2])
        if cuda:
            torch.cuda.set_rng_state_all(cuda)
        for put_back in held:
            put_back()

    return restore


@contextlib.contextmanager
def randomness_kept() -> Iterator[None]:
    """What is drawn inside is as if never drawn."""
    restore = keep_randomness()
    try:
        yield
    finally:
        restore()
