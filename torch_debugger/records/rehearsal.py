"""A training step rehearsed for a GPU: the memory it would take, the batch that fits, and its device bugs."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any

from torch_debugger.records.finding import Finding
from torch_debugger.records.place import Place
from torch_debugger.records.training import Rehearsal

CONTEXT_BYTES = 500 * 10**6  # that CUDA itself takes of the GPU's memory before the first tensor: about


@dataclass(frozen=True)
class StepRehearsal:
    """Bytes are those of torch.cuda.max_memory_allocated() and, reserved, of max_memory_reserved()."""

    model: str  # net, or encoder and decoder
    parameters: int  # how many numbers the model has
    optimizer: str  # AdamW; empty where there is none
    dtype: str  # float32, or what autocast was asked for
    batch: int  # samples in it; 0: that could not be told
    peak_bytes: int
    reserved_bytes: int
    by_category: dict[str, int]  # at the peak; together they are the peak
    by_module: dict[str, int] = field(default_factory=dict)  # activations kept for each, largest first
    phase: str = ""  # in which the peak is reached: forward | backward | optimizer step
    place: Place = field(default_factory=Place)  # the line and the module of the peak
    accumulate: int = 1  # backwards before a step of the optimizer
    gpu: str = ""  # 24GB or h100, as it was asked for
    gpu_bytes: int = 0  # that it has; 0: not asked
    largest_batch: int | None = None  # that fits; None: not asked, or not known
    no_largest_batch: str = ""  # why it is not known
    on_real_data: bool = False  # the forward needs numbers, so the step ran on the CPU for it
    others: tuple[str, ...] = ()  # models that the script trains too, by other steps
    forward: Rehearsal | None = None  # the forward on a pretended GPU
    device_bugs: tuple[Finding, ...] = ()

    @property
    def needed_bytes(self) -> int:
        """Of a GPU's memory: what torch reserves there, and what CUDA itself takes."""
        return self.reserved_bytes + CONTEXT_BYTES

    @property
    def fits(self) -> bool | None:
        """None where no GPU was named."""
        return self.needed_bytes <= self.gpu_bytes if self.gpu_bytes else None

    @property
    def passed(self) -> bool:
        return self.fits is not False and not self.device_bugs

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as JSON has them."""
        return {**dataclasses.asdict(self), "needed_bytes": self.needed_bytes, "fits": self.fits}
