"""Whether a machine's arithmetic or its memory is the limit: the roofline model."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from torch_debugger.errors import UsageError

_HALF = (torch.float16, torch.bfloat16)


@dataclass(frozen=True)
class Machine:
    name: str
    peak_flops: float  # FLOPs a second
    bandwidth: float  # bytes a second between memory and chip

    @property
    def ridge(self) -> float:
        """FLOPs that must be done with each byte before arithmetic is the limit."""
        return self.peak_flops / self.bandwidth

    def bound(self, intensity: float) -> str:
        return "compute-bound" if intensity >= self.ridge else "memory-bound"

    def least_seconds(self, flops: float, size_bytes: float) -> float:
        """No run can be quicker: both at full speed, and beside each other."""
        return max(flops / self.peak_flops, size_bytes / self.bandwidth)


# As the makers state them: dense 16-bit (tensor cores, sums in 32 bits), 32-bit without TF32, memory.
_DEVICES = {
    "B200": (2250e12, 80e12, 8.0e12),
    "H200": (989e12, 67e12, 4.8e12),
    "H100": (989e12, 67e12, 3.35e12),
    "A100": (312e12, 19.5e12, 2.04e12),
    "A10": (125e12, 31.2e12, 0.6e12),
    "L40S": (362e12, 91.6e12, 0.864e12),
    "L4": (121e12, 30.3e12, 0.3e12),
    "V100": (125e12, 15.7e12, 0.9e12),
    "T4": (65e12, 8.1e12, 0.32e12),
    "RTX 4090": (165e12, 82.6e12, 1.008e12),
    "RTX 3090": (71e12, 35.6e12, 0.936e12),
}


def named_machine(
    device: str | None, peak_flops: float | None, bandwidth: float | None, dtype: torch.dtype | None
) -> Machine | None:
    """A figure that is given goes before the device's own; None where nothing is given."""
    if device is None and peak_flops is None and bandwidth is None:
        return None
    half, single, memory = _figures(device)
    peak = peak_flops or (half if dtype in _HALF else single)
    speed = bandwidth or memory
    if not peak or not speed:
        raise UsageError(
            "a roofline needs both peak_flops (FLOPs a second) and bandwidth (bytes a second), or the name of "
            f"a device: {', '.join(_DEVICES)}."
        )
    return Machine(device or "this machine", peak, speed)


def _figures(device: str | None) -> tuple[float, float, float]:
    if device is None:
        return 0.0, 0.0, 0.0
    wanted = _plain(device)
    for name, figures in _DEVICES.items():
        if wanted == _plain(name):
            return figures
    raise UsageError(
        f"no figures are known for {device!r}: give peak_flops and bandwidth, or one of {', '.join(_DEVICES)}."
    )


def _plain(name: str) -> str:
    return "".join(letter for letter in name.lower() if letter.isalnum()).removeprefix("nvidia")
