"""Whether torch.compile has been at work in this process, and how to do without it for a while."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator

import torch


def something_is_compiled() -> bool:
    """Before we came; from then on torch.compile tells us itself."""
    frames = sys.modules.get("torch._dynamo.eval_frame")
    return any(callable(backend) for backend in getattr(frames, "cached_backends", {}).values())


@contextlib.contextmanager
def uncompiled() -> Iterator[None]:
    """Hooks do not fire inside compiled code: what is compiled runs as it was written."""
    if "torch._dynamo" not in sys.modules:  # then nothing is
        yield
        return
    with torch.compiler.set_stance("force_eager"):
        yield
