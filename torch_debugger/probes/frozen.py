"""Weights kept on their device, frozen there once something is not finite: no host has to wait for that.

A flag on the device turns NaN with the first number that is not finite, and stays so. After every update the
weights are copied, and the copy takes the place of the last one only while the flag is zero: what is kept
are the weights with which the first bad step was computed.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import isfinite

from torch_debugger.stats.memory import free_bytes
from torch_debugger.stats.unseen import no_grad


@dataclass
class _Copies:
    """Of parameters of one dtype, one behind the other: one kernel moves them all."""

    parameters: list[torch.Tensor]
    views: list[torch.Tensor]  # into `latest`
    latest: torch.Tensor
    kept: torch.Tensor


class FrozenWeights:
    SHARE_OF_FREE = 1 / 16  # of the free memory, that the copies may take

    def __init__(self) -> None:
        self.flag: torch.Tensor | None = None  # zero, or NaN
        self._copies: list[_Copies] = []
        self._known: set[int] = set()
        self._refused = False

    @no_grad()
    def watch(self, parameters: Sequence[torch.Tensor]) -> None:
        """Before an update: parameters that are not known yet are kept as they are now."""
        new = [p for p in parameters if id(p) not in self._known and p.is_floating_point()]
        if not new or self._refused:
            return
        if not _fits(new, self.SHARE_OF_FREE):
            self.let_go()
            self._refused = True
            return
        self._known |= {id(p) for p in new}
        for dtype, device in {(p.dtype, p.device) for p in new}:
            self._copies.append(_copies_of([p for p in new if (p.dtype, p.device) == (dtype, device)]))

    @no_grad()
    def see(self, number: torch.Tensor) -> torch.Tensor:
        """Zero times a number is zero, or NaN where it is not finite."""
        if self.flag is None or self.flag.device != number.device:
            self.flag = torch.zeros((), device=number.device)
        return self.flag.add_(number.detach().float(), alpha=0)

    @no_grad()
    def update(self) -> None:
        """After an update."""
        clean = self.flag == 0 if self.flag is not None else None
        for copies in self._copies:
            torch._foreach_copy_(copies.views, copies.parameters)
            if clean is not None and clean.device == copies.latest.device:
                torch.where(clean, copies.latest, copies.kept, out=copies.kept)

    def not_finite(self) -> list[torch.Tensor]:
        """The parameters of which no finite values were kept; the host waits for the answer."""
        pairs = [pair for copies in self._copies for pair in _pairs(copies)]
        return [p for p, kept in pairs if not bool(isfinite(kept).all())]

    @contextlib.contextmanager
    def in_place(self) -> Iterator[bool]:
        """The parameters are for a while what was kept of them; yields whether anything was."""
        held = [(p, p.data, kept) for copies in self._copies for p, kept in _pairs(copies)]
        for parameter, _, kept in held:
            parameter.data = kept
        try:
            yield bool(held)
        finally:
            for parameter, data, _ in held:
                parameter.data = data

    def held(self) -> list[torch.Tensor]:
        """The memory that keeping takes."""
        return [part for copies in self._copies for part in (copies.latest, copies.kept)]

    def let_go(self) -> None:
        self.flag = None
        self._copies = []
        self._known = set()


def _copies_of(parameters: list[torch.Tensor]) -> _Copies:
    latest = torch.empty(
        sum(p.numel() for p in parameters), dtype=parameters[0].dtype, device=parameters[0].device
    )
    copies = _Copies(parameters, _views(latest, parameters), latest, torch.empty_like(latest))
    torch._foreach_copy_(copies.views, parameters)
    copies.kept.copy_(latest)
    return copies


def _views(flat: torch.Tensor, parameters: list[torch.Tensor]) -> list[torch.Tensor]:
    parts = torch.split(flat, [p.numel() for p in parameters])
    return [part.view(p.shape) for part, p in zip(parts, parameters, strict=True)]


def _pairs(copies: _Copies) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    return zip(copies.parameters, _views(copies.kept, copies.parameters), strict=True)


def _fits(tensors: list[torch.Tensor], share: float) -> bool:
    needed = 2 * sum(tensor.numel() * tensor.element_size() for tensor in tensors)
    return needed <= free_bytes(tensors[0].device) * share
