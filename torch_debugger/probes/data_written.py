"""Writes through `.data` that come behind an op which keeps the old values for its backward.

Of parameters the norm tells, from the end of the forward to the backward. Of results of the forward the order:
autograd numbers its nodes, and what the script's variables held before the line of the write ran before it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from types import FrameType
from typing import Any

import torch

from torch_debugger.anatomy.data_writes import DataWrite, touched_between, write_before
from torch_debugger.anatomy.frames import locals_of, place_of
from torch_debugger.anatomy.kinds import is_a
from torch_debugger.anatomy.line_surroundings import in_same_pass
from torch_debugger.anatomy.saved_tensors import saved_by
from torch_debugger.probes.model_forwards import ModelForward, norms_of
from torch_debugger.probes.watch import Watch
from torch_debugger.records import DataWritten, Place
from torch_debugger.stats.unseen import no_grad


class WrittenValues:
    MOST_TOLD = 4  # of one name

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self._told: Counter[str] = Counter()

    @no_grad()
    def compare(
        self,
        forward: ModelForward,
        nodes: list[Any],
        leaves: dict[int, torch.Tensor],
        backward: Place,
        writes: tuple[DataWrite, ...],
    ) -> None:
        """What was written by in-place operations has another version, and autograd watches over it."""
        write = write_before(backward, writes)
        if forward.norms is None or write is None:
            return
        needed = _kept_memory(nodes, forward.end)  # no gradient reads a bias, or the weights of a first layer
        kept = [
            (index, p)
            for index, key in enumerate(forward.parameters)
            if (p := leaves.get(key)) is not None and p._version == forward.versions[index]
            if _address(p) in needed
        ]
        if not kept:
            return
        before = forward.norms[[index for index, _ in kept]]
        changes = (norms_of([p for _, p in kept]) - before).abs() / before.clamp(min=1e-30)
        where = (write.place, backward, self.watch.step)
        met = [(f"{forward.root}.{forward.names[index]}", p.numel()) for index, p in kept]

        def deliver(found: Any) -> None:
            for (name, size), change in zip(met, found.tolist(), strict=True):
                if change > 1e-5:  # the same norm taken twice differs by rounding
                    self._tell(DataWritten(name, size, True, change, *where))

        self.watch.transfer.send(changes, deliver)

    def look_at_variables(self, nodes: list[Any], frame: FrameType, writes: tuple[DataWrite, ...]) -> None:
        """A result of the forward that a line above backward() writes, with its old values kept by then."""
        names, backward = locals_of(frame), place_of(frame)
        for write in writes:
            value = names.get(write.target)
            if not is_a(value, torch.Tensor) or not value.grad_fn or not in_same_pass(write.place, backward):
                continue
            if _address(value) in _kept_memory(nodes, _last_before(write.place, backward, names)):
                where = (write.place, backward, self.watch.step)
                self._tell(DataWritten(write.target, value.numel(), False, 0.0, *where))

    def _tell(self, fact: DataWritten) -> None:
        self._told[fact.name] += 1
        if self._told[fact.name] <= self.MOST_TOLD:
            self.watch.emit(fact)


def _last_before(write: Place, backward: Place, names: dict[str, Any]) -> int:
    """The number of the newest node that was there when the line of the write ran, as far as variables show."""
    touched = touched_between(write, backward)
    later = set(_numbers(names[name] for name in touched if name in names))
    earlier = set(_numbers(value for name, value in names.items() if name not in touched))
    return max(earlier - later, default=-1)


def _numbers(values: Iterable[Any]) -> Iterable[int]:
    for value in values:
        if is_a(value, torch.Tensor) and value.grad_fn is not None:
            yield value.grad_fn._sequence_nr()


def _kept_memory(nodes: list[Any], last: int) -> set[int]:
    """Where the tensors lie that these nodes keep for the backward, up to the one with this number."""
    early = (node for node in nodes if node._sequence_nr() <= last)
    return {address for node in early for each in saved_by(node) if (address := _address(each))}


def _address(tensor: torch.Tensor) -> int:
    """0 where a tensor has no single one: sparse, or a wrapper around others."""
    try:
        return tensor.data_ptr()
    except RuntimeError:
        return 0
