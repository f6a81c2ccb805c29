"""Which random numbers an iteration over a DataLoader draws."""

from __future__ import annotations

from typing import Any

import torch
from torch.overrides import _get_current_function_mode_stack
from torch.utils._device import DeviceContext


def random_state(loader: Any) -> torch.Tensor:
    """Of the generator that an iteration over this loader draws from."""
    return (loader.generator or _default_generator()).get_state()


def _default_generator() -> torch.Generator:
    """Of the device that new tensors are made on: a loader draws its seeds there."""
    device = _default_device()
    if device.type != "cuda":
        return torch.default_generator
    return torch.cuda.default_generators[torch.cuda.current_device() if device.index is None else device.index]


def _default_device() -> torch.device:
    """As torch.get_default_device() has it, which makes a tensor to find out: out of sight, that is another."""
    stack = _get_current_function_mode_stack()  # type: ignore[no-untyped-call]
    modes = [mode for mode in stack if isinstance(mode, DeviceContext)]
    whole = getattr(torch._GLOBAL_DEVICE_CONTEXT, "device_context", None)
    chosen = modes[-1] if modes else whole
    return chosen.device if chosen is not None else torch.device("cpu")
