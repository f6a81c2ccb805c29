"""Many tensors as one row of real numbers, and places in that row as elements of the tensors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class Slot:
    """One tensor's stretch of the row."""

    name: str  # as messages say it: `x`, `weight`, output 0
    shape: tuple[int, ...]
    dtype: torch.dtype
    device: torch.device
    start: int
    stop: int

    @property
    def complex(self) -> bool:
        return self.dtype.is_complex

    def element(self, place: int) -> tuple[int, ...]:
        """The index of the element at a place of the row."""
        offset = (place - self.start) // (2 if self.complex else 1)
        index = []
        for size in reversed(self.shape):
            index.append(offset % size)
            offset //= size
        return tuple(reversed(index))

    def spelled(self, place: int) -> str:
        """`x[2, 3]`, or its imaginary part."""
        index = self.element(place)
        word = f"{self.name}[{', '.join(map(str, index))}]" if index else self.name
        if not self.complex:
            return word
        return f"{word}.imag" if (place - self.start) % 2 else f"{word}.real"


def lay_out(names: Sequence[str], tensors: Sequence[torch.Tensor]) -> tuple[Slot, ...]:
    slots, start = [], 0
    for name, tensor in zip(names, tensors, strict=True):
        stop = start + tensor.numel() * (2 if tensor.is_complex() else 1)
        slots.append(Slot(name, tuple(tensor.shape), tensor.dtype, tensor.device, start, stop))
        start = stop
    return tuple(slots)


def to_row(tensors: Sequence[torch.Tensor | None], slots: Sequence[Slot]) -> torch.Tensor:
    """In float64, on the first tensor's device; zeros stand for a tensor that is not there."""
    home = slots[0].device
    parts = []
    for tensor, slot in zip(tensors, slots, strict=True):
        if tensor is None:
            parts.append(torch.zeros(slot.stop - slot.start, dtype=torch.float64, device=home))
            continue
        data = tensor.detach()
        real = torch.view_as_real(data.resolve_conj()) if data.is_complex() else data
        parts.append(real.reshape(-1).to(home, torch.float64))
    return parts[0].clone() if len(parts) == 1 else torch.cat(parts)


def from_row(row: torch.Tensor, slots: Sequence[Slot]) -> list[torch.Tensor]:
    """The tensors again, in their own dtypes; each has memory of its own where that is cheap to give."""
    found = []
    for slot in slots:
        part = row[slot.start : slot.stop]
        if slot.complex:
            part = torch.view_as_complex(part.reshape(*slot.shape, 2).contiguous())
        found.append(part.reshape(slot.shape).to(slot.device, slot.dtype))
    return found


def slot_at(slots: Sequence[Slot], place: int) -> Slot:
    return next(slot for slot in slots if slot.start <= place < slot.stop)
