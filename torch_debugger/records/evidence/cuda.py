"""What a CUDA device, or what is left of it, tells about an error of its own."""

from __future__ import annotations

from dataclasses import dataclass, field

from torch_debugger.records.evidence.indices import IndexEvidence
from torch_debugger.records.layer import LayerFact
from torch_debugger.records.place import Place
from torch_debugger.records.training import LocalTensor


@dataclass(frozen=True, slots=True)
class DeviceLookup:
    """Indices out of range, read on the CPU before they were sent."""

    found: IndexEvidence
    layer: LayerFact | None = None  # the embedding; for labels the layer that made the scores
    age: int = 0  # 0 for the last batch a loader gave, 1 for the one before; -1 for a variable of the user's


@dataclass(frozen=True, slots=True)
class CudaEvidence:
    """What a CUDA device, or what is left of it, tells about an error of its own."""

    kind: str  # assert | address | launch | library | image | fork
    told: str  # the error's own words: CUBLAS_STATUS_ALLOC_FAILED
    blocking: bool = False  # CUDA_LAUNCH_BLOCKING was set: the line is exact
    alive: bool = False  # the context still answers
    lookups: tuple[DeviceLookup, ...] = ()
    seen: tuple[LocalTensor, ...] = ()  # all integer tensors that could be read
    free_bytes: int = 0
    total_bytes: int = 0
    name: str = ""  # NVIDIA H200
    capability: str = ""  # sm_90
    architectures: tuple[str, ...] = ()  # this torch is built for
    worker: Place = field(default_factory=Place)  # of a forked worker: the user's line that touches CUDA
