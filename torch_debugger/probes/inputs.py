"""Data as it reaches the first layer that learns: looked at on a few deep steps.

A layer's input that needs no gradient and was made by nothing that does is data, whatever the
script has done to it on the way. On a device its numbers come later and it gets no digests.
"""

from __future__ import annotations

import dataclasses
import functools
import sys
import weakref
from types import FrameType
from typing import Any

import torch
from torch import nn

from torch_debugger.anatomy.frames import place_of, user_frame
from torch_debugger.anatomy.nested import first_tensor, tensors_in
from torch_debugger.anatomy.repeated_rows import repeated_row
from torch_debugger.anatomy.running import in_transform
from torch_debugger.anatomy.sources import is_user_file
from torch_debugger.anatomy.statements import last_call_before, only_call
from torch_debugger.probes.raw_arrays import RawArrays
from torch_debugger.probes.roots import Roots
from torch_debugger.probes.watch import Watch
from torch_debugger.records import InputLook, Place
from torch_debugger.stats.digests import digest_rows, sampled_rows
from torch_debugger.stats.unseen import no_grad

_LEARN = (
    nn.Linear, nn.Conv1d, nn.Conv2d, nn.Conv3d, nn.RNN, nn.LSTM, nn.GRU, nn.Embedding, nn.EmbeddingBag
)  # fmt: skip
_ROWS, _COLUMNS = 64, 4096  # of a table at most
_NO_NUMBERS = (0.0, 0.0, 0.0, 0.0, -1, 0.0)  # until they come from the device


class LayerInputs:
    EACH = 12  # looks at a layer
    LAYERS = 4

    def __init__(self, watch: Watch, roots: Roots) -> None:
        self.watch = watch
        self.roots = roots
        self._looks: dict[str, int] = {}
        self._raw = RawArrays()
        self._table: tuple[int, weakref.ref[torch.Tensor]] | None = None

    def table(self) -> torch.Tensor | None:
        """The table that went into a Linear layer in this step: [samples, columns]."""
        if self._table is None or self._table[0] != self.watch.step:
            return None
        return self._table[1]()

    def see(self, path: str, module: nn.Module, arguments: Any) -> None:
        if not isinstance(module, _LEARN):
            return
        given = first_tensor(arguments)
        if given is None or given.requires_grad or not _has_numbers(given) or not self._wants(path):
            return
        if in_transform():
            return
        self._looks[path] = self._looks.get(path, 0) + 1
        if isinstance(module, nn.Linear) and given.dim() == 2:
            self._table = (self.watch.step, weakref.ref(given))
        self._look(path, type(module).__name__, given)

    def _wants(self, path: str) -> bool:
        return self._looks.get(path, 0) < self.EACH and (path in self._looks or len(self._looks) < self.LAYERS)

    @no_grad()
    def _look(self, path: str, kind: str, given: torch.Tensor) -> None:
        root = next((root for root, _ in self.roots.alive() if root.name == path.split(".")[0]), None)
        fed = first_tensor(root.call) if root is not None and root.call is not None else None
        digests = digest_rows(sampled_rows(fed)) if fed is not None and _on_the_host(fed) else ()
        call = model_call()
        viewed = _viewed(given)
        module = root.module() if root is not None else None
        viewed_at = _view_line(module, call, given, fed) if viewed and module is not None else Place()
        if not viewed:
            viewed, viewed_at = self._raw.shape_before(given, call)
        look = InputLook(
            path,
            kind,
            tuple(given.shape),
            str(given.dtype).removeprefix("torch."),
            viewed,
            *_NO_NUMBERS,
            digests,
            call,
            self.watch.step,
            viewed_at,
            len(list(tensors_in(root.call))) if root is not None and root.call is not None else 1,
            repeated_row(call.file) if len(set(digests)) == 1 and len(digests) > 1 else Place(),
            _measured(given).numel(),
        )
        self.watch.transfer.send(_measure(given), functools.partial(self._tell, look))

    def _tell(self, look: InputLook, numbers: Any) -> None:
        low, high, mean, std, column, rms, wrong = (float(number) for number in numbers)
        looked = dataclasses.replace(look, minimum=low, maximum=high, mean=mean, std=std)
        self.watch.emit(dataclasses.replace(looked, column=int(column), column_rms=rms, not_finite=int(wrong)))


def _has_numbers(tensor: torch.Tensor) -> bool:
    plain = tensor.layout is torch.strided and not tensor.is_complex() and not tensor.is_meta
    own = type(tensor).__torch_dispatch__ is torch.Tensor.__torch_dispatch__  # else it may be fake
    return plain and own and tensor.dim() > 0 and tensor.numel() > 0


def _on_the_host(tensor: torch.Tensor) -> bool:
    return _has_numbers(tensor) and tensor.device.type == "cpu"


def _measure(tensor: torch.Tensor) -> torch.Tensor:
    """[lowest, highest, mean, std, column with the largest values, its root mean square, NaN and Inf]"""
    rows = _measured(tensor).float()
    rms = rows.square().mean(0).sqrt().reshape(-1)[:_COLUMNS] if tensor.dim() == 2 else None
    column = rms.argmax() if rms is not None else torch.tensor(-1.0, device=rows.device)
    largest = rms.amax() if rms is not None else torch.zeros((), device=rows.device)
    wrong = rows.isfinite().logical_not().sum()
    numbers = (rows.amin(), rows.amax(), rows.mean(), rows.std(correction=0), column, largest, wrong)
    return torch.stack([number.float() for number in numbers])


def _measured(tensor: torch.Tensor) -> torch.Tensor:
    """The part that stands for the whole: all of it would cost too much."""
    return tensor[:_ROWS] if tensor.dim() == 2 else sampled_rows(tensor)


def _viewed(tensor: torch.Tensor) -> tuple[int, ...]:
    """The shape before view(), where both have their elements in the same order."""
    base = tensor._base
    same = base is not None and base.is_contiguous() and tensor.is_contiguous()
    return tuple(base.shape) if same and base is not None and base.numel() == tensor.numel() else ()


def _view_line(module: nn.Module, call: Place, given: torch.Tensor, fed: torch.Tensor | None) -> Place:
    """Inside the model where the tensor came in as it was before, else above the call."""
    base = given._base
    inside = fed is not None and base is not None and fed.shape == base.shape
    names = ("view", "reshape")
    return (only_call(module, names) if inside else last_call_before(call, names)) or Place()


def model_call() -> Place:
    """The user's line that calls the outermost module."""
    frame: FrameType | None = sys._getframe(1)
    found: FrameType | None = None
    inside = False
    while frame is not None:
        if frame.f_code is nn.Module._call_impl.__code__:
            inside, found = True, None
        elif inside and found is None and is_user_file(frame.f_code.co_filename):
            found = frame
        frame = frame.f_back
    return place_of(found if inside else user_frame(2))
