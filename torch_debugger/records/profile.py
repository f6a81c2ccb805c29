"""Where the time of a few steps went, which were profiled closely. Seconds are sums over all of them."""

from __future__ import annotations

from dataclasses import dataclass

from torch_debugger.records.place import Place


@dataclass(frozen=True, slots=True)
class LineTime:
    """One line of the user's: the host's time in it and below it, as far as that is no line of the user's. The
    backward of what it computed is told with it, and not with the line that calls backward()."""

    place: Place
    host_s: float
    device_s: float  # of what it put on the device, with the backward of that
    backward_s: float  # of the host, in the backward of what it computed
    passes: int


@dataclass(frozen=True, slots=True)
class ModuleTime:
    """One module with everything in it."""

    module: str  # net.layers.0
    kind: str
    calls: int
    forward_s: float
    backward_s: float
    device_forward_s: float
    device_backward_s: float


@dataclass(frozen=True, slots=True)
class OpTime:
    op: str  # aten::addmm
    calls: int
    host_s: float  # without what it called
    device_s: float
    shapes: str  # of the call that took longest


@dataclass(frozen=True, slots=True)
class SyncTime:
    """A line at which the host waited for the device."""

    place: Place
    op: str  # aten::item
    count: int
    wait_s: float
    lost_s: float = 0.0  # of the device, which had nothing to do afterwards; for each wait at most its length


@dataclass(frozen=True, slots=True)
class CopyTime:
    """Copies between host and device from one line."""

    place: Place
    way: str  # host to device | device to host
    pinned: bool
    count: int
    size_bytes: int
    device_s: float


@dataclass(frozen=True, slots=True)
class ProductTime:
    """Matrix products or convolutions of one form on a device, from one line; those of the backward too."""

    op: str  # aten::addmm, aten::cudnn_convolution
    dtype: str  # float32
    shapes: str  # of what it was given
    place: Place  # the line of the forward
    calls: int
    device_s: float

    @property
    def is_convolution(self) -> bool:
        return "conv" in self.op


@dataclass(frozen=True, slots=True)
class ProfileFact:
    first_step: int
    steps: int
    wall_s: float
    on_device: bool
    device_busy_s: float
    kernels: int
    gap_s: float  # of the device between kernels, with the host on its way
    lines: tuple[LineTime, ...]  # the dearest first
    modules: tuple[ModuleTime, ...]  # in the order of their first call
    ops: tuple[OpTime, ...]
    syncs: tuple[SyncTime, ...]
    copies: tuple[CopyTime, ...]
    cost_s: float  # of reading what came, beside what the steps took longer
    plain_s: float  # what a step took before the window; 0 if that is not known
    trace: str = ""  # the file of the whole trace, if one was written
    products: tuple[ProductTime, ...] = ()  # of the device; the dearest first
    launches: int = 0  # calls of the host that started kernels; a CUDA graph has one for all of its own
    peak_bytes: int = 0  # of the device's memory, since the run began
    layout_s: float = 0.0  # of the device, in which cuDNN put tensors into another order and back
