"""What the memory of a training is used for, at one moment of a step."""

from __future__ import annotations

from dataclasses import dataclass, field

from torch_debugger.records.place import Place

# The same words in a rehearsal, in a look at a running training, in reports and on the page.
PARAMETERS, BUFFERS, GRADIENTS, STATE = "parameters", "buffers", "gradients", "optimizer state"
ACTIVATIONS, COPIES, INPUTS, TENSORS = "activations", "weight copies", "inputs", "tensors"
TEMPORARIES, WORKSPACE = "temporaries", "workspace"
KEPT, VARIABLES, WATCHER = "kept from earlier steps", "other variables", "torch-debugger"
REST, CACHE, OTHERS = "rest", "cache", "CUDA and other processes"

BEFORE_BACKWARD, AFTER_UPDATE = "before backward", "after the update"


@dataclass(frozen=True, slots=True)
class SavedByModule:
    path: str  # net.blocks.3.attention; empty for what was computed outside of any module
    size_bytes: int  # kept for its backward, that of modules in it not included


@dataclass(frozen=True, slots=True)
class HeldByVariable:
    name: str  # features, self.history
    size_bytes: int  # its tensors, and what their graphs keep
    count: int  # of its tensors
    grown: bool = False  # since it was first seen, and nothing keeps it from growing on
    since: int = 0  # the step at which the first of its tensors was first seen there
    place: Place = field(default_factory=Place)  # the statement that adds to it, where it has grown
    added: str = ""  # and what that adds


@dataclass(frozen=True, slots=True)
class MemoryLook:
    """Bytes on one device by what they are for; every storage counts once."""

    step: int
    device: str  # cpu, cuda:0
    moment: str  # before backward | after the update
    parts: dict[str, int]  # in use by tensors; the rest of what torch's allocator counts among them
    modules: tuple[SavedByModule, ...] = ()  # of the activations, the largest first
    variables: tuple[HeldByVariable, ...] = ()  # the largest first
    allocated_bytes: int = 0  # as torch counts, of a CUDA device
    peak_bytes: int = 0  # the highest of those so far
    cache_bytes: int = 0  # reserved by torch and not in use
    other_bytes: int = 0  # of the device, in use by CUDA itself and by other processes
    total_bytes: int = 0  # of the device
    whole: bool = True  # False: what autograd keeps could not be read, or only some of it

    @property
    def used_bytes(self) -> int:
        return sum(self.parts.values())
