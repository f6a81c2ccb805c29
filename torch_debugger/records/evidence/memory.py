"""Where the bytes of a device went, and what would fit."""

from __future__ import annotations

from dataclasses import dataclass, field

from torch_debugger.records.memory import MemoryLook
from torch_debugger.records.place import Place


@dataclass(frozen=True, slots=True)
class KeptTensors:
    """Tensors that a variable of the user's keeps alive, with what their autograd graphs hold."""

    name: str  # losses, self.history, data
    count: int  # of tensors; 1 for a single one
    size_bytes: int  # of the tensors themselves
    graph_bytes: int = 0  # saved for a backward pass that has not come
    place: Place = field(default_factory=Place)  # the statement that adds to it
    added: str = ""  # what that statement adds: loss, model(x)
    shape: tuple[int, ...] = ()  # of the largest


@dataclass(frozen=True, slots=True)
class ModuleBytes:
    path: str
    kind: str
    size_bytes: int  # saved for backward by the module and everything in it


@dataclass(frozen=True, slots=True)
class Forecast:
    """One training step of the model measured on tensors without memory, and what follows from it."""

    model: str
    batch: int
    peak_bytes: int  # activations, gradients and temporaries at their highest
    saved_bytes: int  # of which kept for backward after forward
    sample_bytes: int  # by which one sample more raises the peak
    largest_batch: int  # that fits beside everything else; 0 for none
    modules: tuple[ModuleBytes, ...] = ()  # the largest first
    autocast_bytes: int = 0  # the peak under bfloat16 autocast; 0 where it was not measured
    repeated: str = ""  # the path of the blocks that could be checkpointed: model.blocks
    checkpointed_bytes: int = 0  # what checkpointing each of them would save


@dataclass(frozen=True, slots=True)
class MemoryEvidence:
    """Where the bytes of a device went, and what would fit."""

    device: str  # cuda:0, cpu
    asked_bytes: int
    total_bytes: int = 0
    free_bytes: int = 0
    allocated_bytes: int = 0  # by torch, in use
    reserved_bytes: int = 0  # by torch, in use or cached
    parameter_bytes: int = 0
    gradient_bytes: int = 0
    optimizer_bytes: int = 0
    kept: tuple[KeptTensors, ...] = ()  # the largest first
    forecast: Forecast | None = None
    look: MemoryLook | None = None  # the last one at this device, before the backward of an earlier step
    sizes: tuple[int, ...] = ()  # on the CPU: of the tensor that was to be made, where they are known
    sized_by: str = ""  # and the call they were given to: nn.Linear(786432, 786432)
