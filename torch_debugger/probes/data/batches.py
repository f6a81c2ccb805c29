"""What DataLoaders deliver: a small look at the first batches of each, later at those of deep steps.

The loaders' batches come through the CPU, so nothing waits for a device. A look costs 50 to 90 us and
there are at most LOOKS of them a loader. It is told when the batch has been used: a backward() in
between makes it one that was trained on.
"""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Callable, Iterable, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any

import torch

from torch_debugger.model.hooks import WeakKeysById
from torch_debugger.model.nested_tensors import named_leaves
from torch_debugger.probes.schedule import DEEP
from torch_debugger.probes.watch import Watch
from torch_debugger.records import BatchLook, TensorLook
from torch_debugger.stats.dispatch_modes import item_of, no_grad
from torch_debugger.stats.summary import DIGESTED_SAMPLES, digest_rows, sampled_rows

_WHOLE = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool)
_COLUMNS = 8  # in which numbers are counted


@dataclass
class Delivered:
    """What one loader has delivered so far."""

    number: int
    iterations: int = 0
    looks: int = 0


class Deliveries:
    EARLY = 160  # batches of a run that are all considered
    FIRST = 40  # of each loader, of those
    OPENING = 3  # batches at the start of each iteration, which tell whether it repeats an earlier one
    LOOKS = 100
    LOADERS = 16
    TENSORS = 4

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self._of_loader: MutableMapping[Any, Delivered] = WeakKeysById()
        self._of_iterator: MutableMapping[Any, Delivered] = WeakKeysById()
        self._waiting: dict[int, tuple[BatchLook, int]] = {}  # and how many backwards had been seen when it came
        self._numbered = 0
        self._considered = 0
        self.is_early = True  # every batch is considered; later on, only those at the start of a pass

    def number_of(self, loader: Any) -> int:
        known = self._of_loader.get(loader)
        if known is None:
            self._numbered += 1
            known = self._of_loader[loader] = Delivered(self._numbered)
        return known.number

    def begin(self, loader: Any, iterator: Any) -> None:
        """iter(loader) was called."""
        delivered = self._of_loader.get(loader)
        if delivered is not None and delivered.number <= self.LOADERS:
            self._tell(delivered.number)
            delivered.iterations += 1
            self._of_iterator[iterator] = delivered

    def see(self, iterator: Any, batch: Any) -> None:
        delivered = self._of_iterator.get(iterator)
        if delivered is None:
            return
        self._considered += 1
        self.is_early = self._considered < self.EARLY
        self._tell(delivered.number)
        index = iterator._num_yielded - 1
        wanted = delivered.looks < self.FIRST or index < self.OPENING or self.watch.depth == DEEP
        if wanted and delivered.looks < self.LOOKS:
            delivered.looks += 1
            looks = [
                look_at(f"batch{name}", tensor)
                for name, tensor in named_leaves(batch)
                if tensor.device.type == "cpu" and tensor.layout is torch.strided and not tensor.is_complex()
                if tensor.dim() > 0 and tensor.numel() > 0
            ]
            kept = tuple(looks[: self.TENSORS])
            look = BatchLook(delivered.number, delivered.iterations, index, False, kept, self.watch.step)
            self._waiting[delivered.number] = look, self.watch.clock.backwards

    def exhausted(self, iterator: Any) -> None:
        delivered = self._of_iterator.get(iterator)
        if delivered is not None:
            self._tell(delivered.number)

    def flush(self) -> None:
        for number in tuple(self._waiting):
            self._tell(number)

    def _tell(self, number: int) -> None:
        if number in self._waiting:
            look, backwards = self._waiting.pop(number)
            trained = self.watch.clock.backwards > backwards
            self.watch.emit(BatchLook(look.loader, look.iteration, look.index, trained, look.tensors, look.step))


@no_grad()
def look_at(name: str, tensor: torch.Tensor) -> TensorLook:
    dtype, shape, plain = str(tensor.dtype).removeprefix("torch."), tuple(tensor.shape), tensor.detach()
    # Labels of a binary cross-entropy are numbers like any others: all of them 0 or 1.
    if tensor.numel() == tensor.shape[0] and (tensor.dtype in _WHOLE or bool(((plain == 0) | (plain == 1)).all())):
        labels = plain[:DIGESTED_SAMPLES].reshape(-1).tolist()
        lowest, highest = (int(end) for end in plain.aminmax())
        return TensorLook(name, shape, dtype, (), tuple(map(int, labels)), 0.0, lowest, highest)
    rows = sampled_rows(tensor)
    std = item_of(rows.float().std(correction=0))
    digests = digest_rows(rows)
    # Whether the first numbers of different samples nearly all differ: no classes, counts or blanks.
    part, different, varied = rows[:, :_COLUMNS], len(set(digests)), False
    if rows.is_floating_point() and part.shape[1] >= 4 and different >= 4:
        varied = len(torch.unique(part)) >= 0.8 * different * part.shape[1]
    return TensorLook(name, shape, dtype, digests, (), std, varied=varied)


# Batches of a moment ago, kept by reference.
#
# When a CUDA kernel fails an assertion the device can no longer be asked which index was out of range. Its batch came
# through the CPU, and the tensors that hold indices are small: the last few are kept.
#
# The last batch is kept for a step that must be run again. As long as its iterator lives, the user's loop holds the
# batch too; from then on it is kept only if the script itself does so.
_INTEGERS = (torch.int64, torch.int32)
BATCHES = 4


class RecentBatches:
    def __init__(self) -> None:
        self._kept: deque[Mapping[str, torch.Tensor]] = deque(maxlen=BATCHES)

    def see(self, tensors: Iterable[tuple[str, torch.Tensor]]) -> None:
        integers = [(name, tensor) for name, tensor in tensors if tensor.dtype in _INTEGERS]
        self._kept.append({name: tensor for name, tensor in integers if tensor.device.type == "cpu"})

    def latest_first(self) -> list[Mapping[str, torch.Tensor]]:
        return list(reversed(self._kept))

    def let_go(self) -> None:
        self._kept.clear()


class LastBatch:
    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._batch: Callable[[], Any] = _nothing
        self._dataset: Any = None
        self._iterator: weakref.ref[Any] | None = None

    def see(self, batch: Any, iterator: Any) -> None:
        if self._iterator is None or self._iterator() is not iterator:
            self._iterator = weakref.ref(
                iterator, lambda gone: self._watch.guard.contain("loaders", self._loosen, gone)
            )
        self._batch, self._dataset = lambda: batch, iterator._dataset

    def get(self) -> tuple[Any, Any]:
        """The batch and its dataset, or None and None."""
        batch = self._batch()
        return (None, None) if batch is None else (batch, self._dataset)

    def let_go(self) -> None:
        self._batch, self._dataset, self._iterator = _nothing, None, None

    def _loosen(self, gone: weakref.ref[Any]) -> None:
        if gone is self._iterator:
            self._iterator = None
            self._batch = _weakly_referenced(self._batch())


def _nothing() -> None:
    return None


def _weakly_referenced(value: Any) -> Callable[[], Any]:
    """Gives `value` as long as somebody else holds what is in it, then None."""
    if type(value) is dict:
        keys, items = tuple(value), _weakly_referenced(tuple(value.values()))
        return lambda: None if (alive := items()) is None else dict(zip(keys, alive, strict=True))
    if type(value) in (list, tuple):
        kind, parts = type(value), [_weakly_referenced(part) for part in value]

        def whole() -> Any:
            alive = [part() for part in parts]
            return None if any(part is None for part in alive) else kind(alive)

        return whole
    try:
        return weakref.ref(value)
    except TypeError:  # a number or a text
        return lambda: value
