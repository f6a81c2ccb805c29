"""Names that exist: the nearest to one that does not, and the other places in torch that have it."""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Iterable
from types import ModuleType
from typing import Any

import torch

from torch_debugger.anatomy.kinds import is_a

_CLOSE, _SHOWN = 0.78, 3
# Where people look for a name that stands in another room of torch.
_ROOMS = (
    "torch", "torch.nn", "torch.nn.functional", "torch.optim", "torch.optim.lr_scheduler", "torch.utils.data",
    "torch.linalg", "torch.fft", "torch.special", "torch.autograd", "torch.cuda", "torch.amp", "torch.nn.utils",
    "torch.nn.init", "torch.nn.parallel", "torch.nn.utils.rnn", "torch.distributed", "torch.distributions",
    "torch.utils.checkpoint", "torch.utils.tensorboard", "torch.backends.cudnn", "torch.profiler",
)  # fmt: skip


def nearest(asked: str, names: Iterable[str]) -> tuple[str, ...]:
    """The same but for case and underscores, else a few that are spelled alike."""
    private = asked.startswith("_")
    pool = [name for name in dict.fromkeys(names) if name != asked and (private or not name.startswith("_"))]
    same = [name for name in pool if _bare(name) == _bare(asked)]
    if same:
        return tuple(sorted(same, key=lambda name: name.lower() != asked.lower())[:1])
    close = difflib.get_close_matches(asked.lower(), [name.lower() for name in pool], 3 * _SHOWN, _CLOSE)
    alike = [name for low in dict.fromkeys(close) for name in pool if name.lower() == low]
    alike = [name for name in alike if not _means_another(asked, name)]
    return tuple(sorted(alike, key=lambda name: name[0].isupper() != asked[0].isupper())[:_SHOWN])


def _bare(name: str) -> str:
    return name.lower().replace("_", "")


def _means_another(asked: str, name: str) -> bool:
    """conv3 and conv1, norm_q and norm_k, encoder and decoder are alike, and no misspellings of each other."""
    if re.findall(r"\d+", asked) != re.findall(r"\d+", name) or asked[0].lower() != name[0].lower():
        return True
    ours, theirs = asked.lower().split("_"), name.lower().split("_")
    pairs = zip(ours, theirs, strict=True) if len(ours) == len(theirs) else ()
    return any(one != other and min(len(one), len(other)) <= 3 for one, other in pairs)


def elsewhere(asked: str, but: str) -> tuple[str, ...]:
    """torch.nn.CrossEntropyLoss for a CrossEntropyLoss that was asked of torch."""
    found = []
    for room in _ROOMS:
        module = sys.modules.get(room)
        if room != but and is_a(module, ModuleType) and callable(vars(module).get(asked)):
            found.append(f"{room}.{asked}")
    if but != "torch.Tensor" and asked in vars(torch.Tensor) and not found:
        found.append(f"torch.Tensor.{asked}")
    return tuple(found[:_SHOWN])


def public_name(kind: type) -> str:
    """torch.nn.Linear for torch.nn.modules.linear.Linear; a class of the user's by its bare name."""
    if kind.__module__.partition(".")[0] not in ("torch", "torch_debugger"):
        return kind.__qualname__
    parts = kind.__module__.split(".")
    for length in range(1, len(parts) + 1):
        home = ".".join(parts[:length])
        if vars(sys.modules.get(home, torch)).get(kind.__name__) is kind:
            return f"{home}.{kind.__name__}"
    return f"{kind.__module__}.{kind.__qualname__}"


def lineage(kind: type) -> tuple[str, ...]:
    return tuple(public_name(cls) for cls in kind.__mro__ if cls is not object)


def is_torchs(home: Any) -> bool:
    """Whether a module's name is torch's, or ours."""
    return is_a(home, str) and home.partition(".")[0] in ("torch", "torch_debugger")


def our_names() -> tuple[str, ...]:
    """What our own front door offers, read where it is already open."""
    door = sys.modules.get(__name__.partition(".")[0])
    return tuple(getattr(door, "__all__", ()))
