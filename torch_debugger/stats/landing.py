"""Pinned memory in which numbers from a device land.

It is used again and never given back. To free it asks the device, and a device that has died in the meantime
(a kernel failed an assertion) answers with an exception that ends the process from C++.
"""

from __future__ import annotations

import ctypes

import torch

_SMALLEST = 1024  # numbers
_spare: list[torch.Tensor] = []


def take(count: int) -> torch.Tensor:
    """A place for that many float32 numbers, or for more."""
    for place in _spare:
        if place.numel() >= count:
            _spare[:] = [other for other in _spare if other is not place]
            return place
    place = torch.empty(max(_SMALLEST, 1 << (count - 1).bit_length()), dtype=torch.float32, pin_memory=True)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(place))  # also at the end of the process
    return place


def give_back(place: torch.Tensor) -> None:
    _spare.append(place)
