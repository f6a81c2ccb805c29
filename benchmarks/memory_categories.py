"""The looks that a watched training takes at its memory, against what is counted in another way.

On CUDA that is `torch.cuda.memory_allocated`. On the CPU a dispatch mode sees every operation and counts the
storages that live: slow, and hard to get wrong.
"""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from benchmarks.memory_models import Case
from torch_debugger.records import MemoryLook, Record
from torch_debugger.records.performance import AFTER_UPDATE, BEFORE_BACKWARD, REST
from torch_debugger.runner import plumbing
from torch_debugger.settings import Settings

STEPS = 3


class Ledger(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Bytes of all storages that operations have made and that still live."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.now = 0
        self._known: dict[int, weakref.ref[Any]] = {}

    def __torch_dispatch__(
        self, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        made = function(*args, **(kwargs or {}))
        for item in tree_leaves(made):
            if isinstance(item, torch.Tensor):
                self._count(item.untyped_storage())
        return made

    def _count(self, storage: torch.UntypedStorage) -> None:
        key, size = storage._cdata, storage.nbytes()
        if key in self._known:
            return

        def gone(_: Any) -> None:
            self.now -= size
            self._known.pop(key, None)

        self._known[key] = weakref.ref(storage, gone)
        self.now += size


class _Looks(list[MemoryLook]):
    def add(self, record: Record) -> None:
        if isinstance(record, MemoryLook):
            self.append(record)


@contextmanager
def watched() -> Iterator[_Looks]:
    looks = _Looks()
    running = plumbing.connect(Settings(deep_always=True), [looks], None)
    try:
        yield looks
    finally:
        running.disconnect([looks], "finished")


def compare(
    case: Case, dtype: str, make: Callable[[Iterable[nn.Parameter]], torch.optim.Optimizer], samples: int
) -> Iterator[str]:
    """One line for each moment of the last step: the categories, their sum, and the other count."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    gc.collect()
    ledger = Ledger() if device == "cpu" else None
    with watched() as looks, ledger or nullcontext():
        counted = _train(case, dtype, make, device, samples, ledger)
    for moment, other in counted.items():
        look = next(each for each in reversed(looks) if each.moment == moment and each.device.startswith(device))
        known = look.used_bytes - look.parts.get(REST, 0)
        whole = look.allocated_bytes if device == "cuda" else other
        parts = ", ".join(f"{name} {size / 1e6:.1f}" for name, size in look.parts.items() if size)
        largest = ", ".join(
            f"{each.path or 'outside of modules'} {each.size_bytes / 1e6:.1f}" for each in look.modules[:3]
        )
        yield (
            f"{case.name:11} {dtype} {moment:16} categories {known / 1e6:9.1f} MB, "
            f"counted {whole / 1e6:9.1f} MB, ratio {known / whole:.3f} ({parts}"
            f"{'; largest: ' if largest else ''}{largest})"
        )


def _train(
    case: Case,
    dtype: str,
    make: Callable[[Iterable[nn.Parameter]], torch.optim.Optimizer],
    device: str,
    samples: int,
    ledger: Ledger | None,
) -> dict[str, int]:
    """Bytes in the ledger at the moments of the last step."""
    net = case.make().to(device)
    inputs, targets = (tensor[:samples].clone().to(device) for tensor in case.batch())
    optimizer = make(net.parameters())
    counted = {}
    for _ in range(STEPS):
        optimizer.zero_grad()
        with torch.autocast(device, torch.bfloat16, enabled=dtype == "bf16"):
            output = net(inputs)
            loss = case.loss(output, targets)
        counted[BEFORE_BACKWARD] = ledger.now if ledger else 0
        loss.backward()
        optimizer.step()
        counted[AFTER_UPDATE] = ledger.now if ledger else 0
    return counted
