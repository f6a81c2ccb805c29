"""The rest of a script without its training: no backward, no update, of every loader one batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn
from torch.optim import Optimizer
from torch.utils.data import DataLoader
from torch.utils.data.dataloader import _DatasetKind

from torch_debugger.trials.replaced import replaced


@contextmanager
def without_training(batch_taken: Callable[[DataLoader[Any], Any], None]) -> Iterator[None]:
    """No backward and no update; of every loader one batch, which is handed to `batch_taken` first."""

    def batches(loader: DataLoader[Any]) -> Iterator[Any]:
        batch = first_batch(loader)
        batch_taken(loader, batch)
        return iter((batch,))

    def stay(*arguments: Any, **keywords: Any) -> None:
        """Not made here."""

    def step(optimizer: Optimizer, closure: Callable[[], Any] | None = None) -> Any:
        return closure() if closure is not None else None

    entries: list[tuple[Any, str, Any]] = [
        (torch.autograd, "backward", stay),
        (
            torch.autograd,
            "grad",
            lambda outputs, inputs, *others, **how: tuple(map(torch.zeros_like, _several(inputs))),
        ),
        (torch.amp.GradScaler, "scale", lambda scaler, outputs: outputs),
        (DataLoader, "__iter__", batches),
    ]
    entries += [(torch.amp.GradScaler, name, stay) for name in ("step", "update", "unscale_")]
    entries += [(owner, "zero_grad", stay) for owner in (Optimizer, nn.Module)]
    entries += [(kind, "step", step) for kind in _below(Optimizer) if "step" in vars(kind)]
    with replaced(entries):
        yield


def _several(inputs: Any) -> Any:
    return inputs if isinstance(inputs, (tuple, list)) else (inputs,)


def _below(kind: type[Any]) -> Iterator[type[Any]]:
    each: type[Any]
    for each in kind.__subclasses__():
        yield each
        yield from _below(each)


def first_batch(loader: DataLoader[Any]) -> Any:
    """By torch's own fetcher, in this process: no iterator of the loader's is made, and no worker."""
    with torch._C.DisableTorchFunction(), torch.utils._python_dispatch._disable_current_modes():
        fetcher = _DatasetKind.create_fetcher(  # type: ignore[no-untyped-call]
            loader._dataset_kind, loader.dataset, loader._auto_collation, loader.collate_fn, loader.drop_last
        )
        return fetcher.fetch(next(iter(loader._index_sampler)))
