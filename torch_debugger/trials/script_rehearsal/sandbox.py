"""A fork in which the rest of a script may run: nothing it does can be seen outside of it."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn
from torch.optim import Optimizer
from torch.utils.data import DataLoader
from torch.utils.data.dataloader import _DatasetKind

from torch_debugger.anatomy.forked import result_fd
from torch_debugger.trials.replaced import replaced

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_REFUSED = (
    "os.", "shutil.", "subprocess.", "socket.", "sqlite3.connect", "ftplib.", "smtplib.", "http.", "urllib.",
    "tempfile.", "webbrowser.", "pty.",
)  # fmt: skip
_ALLOWED = ("os.listdir", "os.scandir", "os.walk", "os.fwalk", "os.getxattr")


def seal() -> None:
    """For good, in a fork. Open files lead nowhere from now on, for a position in a file and a connection are
    shared with the training; and what would change something outside is refused."""
    kept, nowhere = result_fd(), os.open(os.devnull, os.O_RDWR)
    for name in os.listdir("/proc/self/fd") if os.path.isdir("/proc/self/fd") else ():
        number = int(name)
        if number not in (kept, nowhere) and _leads_outside(number):
            os.dup2(nowhere, number)
    sys.addaudithook(_refuse)


def _leads_outside(number: int) -> bool:
    try:
        mode = os.fstat(number).st_mode
    except OSError:  # the folder that was listed just now
        return False
    return stat.S_ISREG(mode) or stat.S_ISSOCK(mode) or stat.S_ISFIFO(mode)


def _refuse(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "open":
        flags = arguments[2] if len(arguments) > 2 else 0
        if isinstance(flags, int) and flags & _WRITING and str(arguments[0]) != os.devnull:
            raise PermissionError("a rehearsal writes no files")
    elif event.startswith(_REFUSED) and event not in _ALLOWED:
        raise PermissionError(f"a rehearsal does nothing outside of itself: {event}")


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
