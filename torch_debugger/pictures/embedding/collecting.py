"""Features of a layer over all batches: no gradients, bounded memory, and the model as it was."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.utils.data import DataLoader

from torch_debugger.anatomy.layers import one_layer
from torch_debugger.anatomy.listening import listening
from torch_debugger.anatomy.nested import exchanged, first_tensor
from torch_debugger.errors import UsageError
from torch_debugger.pictures.embedding.batches import Batch, batches
from torch_debugger.pictures.embedding.pooling import pooled
from torch_debugger.pictures.embedding.thumbnails import Thumbnails
from torch_debugger.pictures.one_image import one_image_explained
from torch_debugger.pictures.runs_of_models import Layer, call, for_a_picture
from torch_debugger.pictures.units.channel_axes import LastKnown, has_known_channels

_WHOLE = re.compile(r" \d+")
_MOST_NUMBERS = 64 << 20  # features of all examples together: 256 MiB


@dataclass(frozen=True)
class Collected:
    layer: str
    features: NDArray[np.float32]  # [N, D]
    labels: list[Any] | None
    thumbnails: NDArray[np.float32] | None  # [N, C, H, W] from 0 to 1
    how: str  # "mean over 49 places", or empty
    is_cut: bool  # more would not have fit into memory


def collected(model: nn.Module, data: Any, layer: Layer, most: int) -> Collected:
    with for_a_picture(model) as inner, _loader_as_it_was(data), one_image_explained(data):
        path, module = one_layer(inner, layer)
        ear = _Ear(path, module)
        heard = _Heard()
        telling = {name: each for name, each in inner.named_modules() if has_known_channels(each)}
        with listening(telling, ear.note), listening({path: module}, ear.hear):
            for batch in _in_progress(batches(inner, data), path):
                batch = _on_device(batch, inner)
                heard.add(batch, *ear.features(inner, batch))
                if heard.count >= most or heard.is_full():
                    break
    return heard.collected(path, most)


class _Ear:
    def __init__(self, path: str, module: nn.Module) -> None:
        self._path, self._module = path, module
        self._last_known = LastKnown()
        self._given: tuple[torch.Tensor, LastKnown] | None = None

    def note(self, call: str, module: nn.Module, given: Any, output: Any) -> None:
        self._last_known.see(module, output)

    def hear(self, call: str, module: nn.Module, given: Any, output: Any) -> None:
        """A layer that is called several times gives its last; of a tuple, as of an LSTM, its first tensor."""
        tensor = first_tensor(output)
        if tensor is not None:
            self._given = (tensor, replace(self._last_known))

    def features(self, model: nn.Module, batch: Batch) -> tuple[torch.Tensor, str]:
        self._given, self._last_known = None, LastKnown()
        call(model, batch.inputs)
        if self._given is None:
            raise UsageError(f"layer `{self._path}` was not called, or gave no tensor, for this input.")
        return pooled(self._given[0], batch.examples, self._module, self._given[1], batch.attended)


class _Heard:
    """What was collected so far, in main memory."""

    def __init__(self) -> None:
        self.count = 0
        self._features: list[torch.Tensor] = []
        self._labels: list[Any] | None = []
        self._thumbnails = Thumbnails()
        self._how = ""

    def add(self, batch: Batch, features: torch.Tensor, how: str) -> None:
        if self._features and features.shape[1] != self._features[0].shape[1]:
            raise UsageError(
                f"the layer gave {self._features[0].shape[1]} features for one batch and {features.shape[1]} "
                "for another: choose a layer that gives the same for all."
            )
        self.count += len(features)
        self._features.append(features.cpu())
        self._thumbnails.add(batch.inputs)
        self._how = how if self._how in ("", how) else _WHOLE.sub(" all", how)  # batches of several lengths
        if batch.labels is None or self._labels is None:
            self._labels = None
        else:
            self._labels += batch.labels

    def collected(self, path: str, most: int) -> Collected:
        if not self._features:
            raise UsageError("there was no batch: the loader is empty, or it was an iterator that is used up.")
        features = torch.cat(self._features)[:most].numpy()
        labels = None if self._labels is None else self._labels[:most]
        thumbnails = self._thumbnails.finished(len(features))
        return Collected(path, features, labels, thumbnails, self._how, len(features) < most and self.is_full())

    def is_full(self) -> bool:
        return sum(each.numel() for each in self._features) > _MOST_NUMBERS


def _in_progress(found: Iterator[Batch], path: str) -> Iterable[Batch]:
    from rich.console import Console  # draws a random number while it is imported: here it is put back
    from rich.progress import track

    console = Console(stderr=True)
    shown = console.is_terminal and not console.is_dumb_terminal
    return track(found, f"features of {path}", console=console, transient=True, disable=not shown)


def _on_device(batch: Batch, model: nn.Module) -> Batch:
    """As the loop of a training moves what its loader gives."""
    weight = next(model.parameters(), None)
    if weight is None or weight.device.type == "meta":
        return batch
    return Batch(*exchanged(tuple(batch), lambda tensor: tensor.to(weight.device)))


@contextlib.contextmanager
def _loader_as_it_was(data: Any) -> Iterator[None]:
    """A loader's own generator, which decides the order of the next epoch, is put back."""
    holders = [data, data.sampler] if isinstance(data, DataLoader) else []
    generators = [getattr(holder, "generator", None) for holder in holders]
    states = [(each, each.get_state()) for each in generators if isinstance(each, torch.Generator)]
    try:
        yield
    finally:
        for generator, state in states:
            generator.set_state(state)
