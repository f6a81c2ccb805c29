"""Which tensors live where, and the lines that made the odd ones."""

from __future__ import annotations

from dataclasses import dataclass, field

from torch_debugger.records.place import Place
from torch_debugger.records.training import LocalTensor


@dataclass(frozen=True, slots=True)
class MetTensor:
    """A tensor of the operation that failed, and where the user's code has it from.

    Places hold whole statements. `beside_use` and `beside_made` write the accelerator's device where the
    tensor is used and where it is made: `device`, `x.device`.
    """

    tensor: LocalTensor  # under the user's name for it, else under torch's
    role: str  # variable | entry | attribute | weights | buffer | state | nameless
    module: str | None = None  # the module that holds it
    use: Place = field(default_factory=Place)  # in the outermost frame that hands it on
    made: Place = field(default_factory=Place)
    maker: str = ""  # the function the making statement stands in: __init__
    beside_use: str = ""
    beside_made: str = ""


@dataclass(frozen=True, slots=True)
class ModelDevices:
    """The outermost model of the traceback."""

    name: str
    devices: tuple[str, ...]  # of its parameters
    made: Place = field(default_factory=Place)
    beside_made: str = ""


@dataclass(frozen=True, slots=True)
class DeviceEvidence:
    """Which tensors live where, and the lines that made the odd ones."""

    met: tuple[MetTensor, ...] = ()
    accelerator: str = ""  # the device that the others are meant to be on
    model: ModelDevices | None = None
    asked: str = ""  # a device that was asked for and is not there: cuda, cuda:3, gpu
    asked_at: Place = field(default_factory=Place)  # the statement that names it
    usable: tuple[str, ...] = ()  # the machine's accelerators: cuda:0, cuda:1
