"""The scene of a crash while it is still there: the exception, its live frames, what was being watched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from torch_debugger.probes.crash_frames import Seen
from torch_debugger.records import MemoryLook

if TYPE_CHECKING:
    from torch_debugger.probes.asked_batches import AskedBatches
    from torch_debugger.probes.eager import EagerAnswer


@dataclass(frozen=True)
class Running:
    """What the probes know of the run; empty where nobody watched, as in `explain(exception)`."""

    models: Mapping[str, nn.Module] = field(default_factory=dict)  # the user's name -> root module
    optimizers: Mapping[str, torch.optim.Optimizer] = field(default_factory=dict)
    # what each root was last called with for training: positional and keyword arguments, by reference
    calls: Mapping[str, tuple[tuple[Any, ...], dict[str, Any]]] = field(default_factory=dict)
    # integer tensors of the last batches that loaders gave, the newest first; only while CUDA is in use
    batches: Sequence[Mapping[str, torch.Tensor]] = ()
    memory: Mapping[str, MemoryLook] = field(default_factory=dict)  # by device, the last one before a backward
    asked: AskedBatches | None = None  # of the workers of a loader


@dataclass(frozen=True)
class Scene:
    """Examiners look and touch nothing: no op that changes a tensor, no sync of a device that may be dead."""

    error: BaseException
    frames: Sequence[Seen]  # the outermost first, ours left out
    paths: Mapping[int, str]  # id(module) -> net.fc1
    running: Running
    eager: EagerAnswer | None = None  # of a compiled call: how it goes without the compiler

    @property
    def innermost(self) -> Seen | None:
        return self.frames[-1] if self.frames else None

    @property
    def user_frame(self) -> Seen | None:
        """The innermost frame of the user's own code."""
        return next((seen for seen in reversed(self.frames) if seen.user), None)

    def frame_of(self, function: str, file_end: str = "") -> Seen | None:
        """The innermost frame of this function in a file that ends so."""
        for seen in reversed(self.frames):
            if seen.function == function and seen.file.endswith(file_end):
                return seen
        return None

    def held(self, seen: Seen, name: str) -> Any:
        """A local variable, else a global one; None where there is neither."""
        return seen.frame.f_locals.get(name, seen.frame.f_globals.get(name))
