"""Running a user's module again without leaving a trace: buffers, random state, prints."""

from __future__ import annotations

import contextlib
import io
import random
import warnings
from collections.abc import Iterator

import numpy
import torch
from torch import nn


@contextlib.contextmanager
def leaving_no_trace(root: nn.Module) -> Iterator[None]:
    """Runs the body with copies of the buffers, in silence, and puts everything back."""
    held = [(module, dict(vars(module)), dict(module._buffers)) for module in root.modules()]
    randomness = torch.get_rng_state(), numpy.random.get_state(), random.getstate()
    cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else []  # type: ignore[no-untyped-call]
    for module, _, buffers in held:
        module._buffers.update({name: buffer.clone() for name, buffer in buffers.items() if buffer is not None})
    quiet = contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO())
    try:
        with quiet[0], quiet[1], warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for module, attributes, buffers in held:
            vars(module).clear()
            vars(module).update(attributes)
            module._buffers.clear()
            module._buffers.update(buffers)
        torch.set_rng_state(randomness[0])
        numpy.random.set_state(randomness[1])
        random.setstate(randomness[2])
        if cuda:
            torch.cuda.set_rng_state_all(cuda)
