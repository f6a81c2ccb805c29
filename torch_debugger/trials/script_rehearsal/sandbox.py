"""A fork in which the rest of a script may run: nothing it does can be seen outside of it."""

from __future__ import annotations

import os
import resource
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
from torch_debugger.trials.script_rehearsal.shared_memory import stop_sharing
from torch_debugger.trials.script_rehearsal.system_calls import refuse_what_reaches_outside

_TIME_LIMIT_S = 30  # of computing
_MORE_MEMORY_BYTES = 2 << 30

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_REFUSED = (
    "os.", "shutil.", "subprocess.", "socket.", "sqlite3.connect", "ftplib.", "smtplib.", "http.", "urllib.",
    "tempfile.", "webbrowser.", "pty.",
)  # fmt: skip
_ALLOWED = ("os.listdir", "os.scandir", "os.walk", "os.fwalk", "os.getxattr")


def seal() -> None:
    """For good, in a fork. Open files lead nowhere from now on, for a position in a file and a connection are
    shared with the training; and what would change something outside is refused."""
    _allow_no_more_than(_TIME_LIMIT_S, _MORE_MEMORY_BYTES)
    stop_sharing()
    kept, nowhere = result_fd(), os.open(os.devnull, os.O_RDWR)
    for number in map(int, os.listdir("/proc/self/fd")):
        if number not in (kept, nowhere) and _is_open(number):
            os.dup2(nowhere, number)
    sys.addaudithook(_refuse)
    refuse_what_reaches_outside()


def _allow_no_more_than(seconds: int, more_bytes: int) -> None:
    """Also where time limits by signals are blocked, and where the lines ahead ask for much memory."""
    with open("/proc/self/statm") as sizes:
        used = int(sizes.read().split()[0]) * resource.getpagesize()
    for limit, most in ((resource.RLIMIT_CPU, seconds), (resource.RLIMIT_AS, used + more_bytes)):
        highest = resource.getrlimit(limit)[1]
        most = most if highest == resource.RLIM_INFINITY else min(most, highest)
        resource.setrlimit(limit, (most, highest))


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:  # the folder that was listed just now
        return False
    return True


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
