"""A few samples of the data as the model and the loss are given it: at the first step, then ever more rarely.

They are taken on steps that are looked at closely anyway, and read when they have come from the device; nothing
waits for them. Some hundred microseconds each time, a dozen times a run.
"""

from __future__ import annotations

import base64
import functools
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import FrameType
from typing import Any

import numpy
import torch
from torch import nn
from torch._C._autograd import _profiler_enabled

from torch_debugger.model.autograd_graph import made_shape, op_name, saved, signed, walk_nodes
from torch_debugger.model.hooks import forward_arguments, in_transform
from torch_debugger.model.nested_tensors import first_tensor, named_leaves
from torch_debugger.probes.loss_backward import Backward
from torch_debugger.probes.loss_terms import BY_HAND, difference_sides
from torch_debugger.probes.model.root_modules import RootModule, RootModules
from torch_debugger.probes.probe import Probe
from torch_debugger.probes.schedule import DEEP
from torch_debugger.probes.watch import Watch
from torch_debugger.records.data import BatchSample
from torch_debugger.stats.dispatch_modes import no_grad
from torch_debugger.stats.transfer import Numbers

_CHOOSING = ("NllLoss", "NllLoss2D")
_LOSSES = (
    *_CHOOSING, "BinaryCrossEntropyWithLogits", "BinaryCrossEntropy", "MseLoss", "SmoothL1Loss", "HuberLoss"
)  # fmt: skip
_NEAR = 32  # nodes from the loss on
_SPREAD = 2**14  # numbers at most that mean and std are taken of
_ORDERED = (torch.float32, torch.float64, torch.int64, torch.int32, torch.uint8)
_RANGE = 2**22  # numbers of which the range is taken; of more, every so-manieth


_Taken = tuple[torch.Tensor, Callable[[Numbers], None]]


class BatchSamples(Probe):
    name = "samples"
    deep_only = True
    MOST = 12  # steps of a run
    MODELS, TENSORS, TARGETS = 3, 4, 2  # of a step; tensors of a model
    MOST_BYTES = 1_200_000  # of a run

    def __init__(self, watch: Watch, roots: RootModules, backward: Backward) -> None:
        super().__init__(watch)
        self.backward = backward
        self._step = 0  # the last one that samples were taken of
        self._next = 1
        self._steps = self._bytes = 0
        self._seen: dict[str, tuple[int, ...]] = {}  # in this step: model -> shape of its first tensor
        self._waiting: dict[str, list[_Taken]] = {}  # for a backward(): model -> what was taken of its call
        self._targets = 0
        roots.on_call.append(self._see_call)
        backward.on_look.append(self._see_loss)

    def end_step(self) -> None:
        """Also at the end of a run: one that crashes in its first forward shows what it was given."""
        self._send()

    def _is_due(self) -> bool:
        step = self.watch.step
        if _profiler_enabled():  # what the script's profiler shows is the script's
            return False
        if step == self._step:
            return True
        close = self.watch.depth == DEEP or self.watch.is_looked_at
        if step < self._next or not close or self._steps >= self.MOST or self._bytes >= self.MOST_BYTES:
            return False
        self._step, self._next = step, 2 * step
        self._steps += 1
        self._send()
        self._seen, self._targets = {}, 0
        return True

    def _send(self) -> None:
        waiting, self._waiting = self._waiting, {}
        for taken in waiting.values():
            for numbers, tell in taken:
                self.watch.transfer.send(numbers, tell)

    def _see_call(self, root: RootModule, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        if not self._is_due() or in_transform():
            return
        # The first call of a step; a larger one that follows before backward() makes that one a rehearsal.
        wanted = len(self._seen) < self.MODELS
        if root.name in self._seen:
            first = first_tensor((arguments, keywords)) if root.name in self._waiting else None
            wanted = first is not None and first.dim() > 0 and first.shape[0] > (*self._seen[root.name], 0)[0]
        module = root.module()
        if wanted and module is not None and next(module.parameters(), None) is not None:
            self._see_inputs(root, module, arguments, keywords)

    @no_grad()
    def _see_inputs(
        self, root: RootModule, module: nn.Module, arguments: tuple[Any, ...], keywords: dict[str, Any]
    ) -> None:
        reader = next((part for part in module.modules() if isinstance(part, _READERS)), None)
        padding = next((part.padding_idx for part in module.modules() if isinstance(part, nn.Embedding)), None)
        inputs = [pair for pair in _named(module, arguments, keywords) if _is_data(pair[1])][: self.TENSORS]
        self._seen[root.name] = tuple(inputs[0][1].shape) if inputs else ()
        taken = [
            self._take("input", (root.name, name), tensor, piece_of(tensor, reader), padding) for name, tensor in inputs
        ]
        self._waiting[root.name] = [each for each in taken if each is not None]

    def _see_loss(self, loss: torch.Tensor, frame: FrameType | None) -> None:
        if not self._is_due():
            return
        self._send()
        if self.backward.saved_hooks or loss.grad_fn is None or in_transform():
            return
        nodes, _, _ = walk_nodes(loss.grad_fn, _NEAR)
        for node in nodes:
            if self._targets < self.TARGETS and op_name(node) in (*_LOSSES, *BY_HAND):
                self._see_target(node)

    @no_grad()
    def _see_target(self, node: Any) -> None:
        target, note = _target_of(node)
        if target is None or not _is_data(target):
            return
        self._targets += 1
        ignored = int(signed(saved(node, "_saved_ignore_index"))) if op_name(node) in _CHOOSING else None
        # Targets of a sequence model are flattened for the loss: back into the rows that went in.
        for shape in self._seen.values():
            if target.dim() == 1 and len(shape) == 2 and target.numel() == shape[0] * shape[1] and shape[1] > 1:
                target, note = target.reshape(shape), "flattened for the loss"
        piece = piece_of(target, None, target=True)
        taken = self._take("target", ("loss", op_name(node)), target, piece, ignored, note)
        if taken is not None:
            self.watch.transfer.send(*taken)

    def _take(
        self,
        role: str,
        names: tuple[str, str],
        tensor: torch.Tensor,
        piece: SamplePiece | None,
        padding: int | None,
        note: str = "",
    ) -> _Taken | None:
        if piece is None:
            return None
        fields = (self.watch.step, role, *names, piece.kind, tuple(tensor.shape))
        dtype = str(tensor.dtype).removeprefix("torch.")
        rest = ("; ".join(filter(None, (piece.note, note))), padding)
        both = torch.cat([_measure(tensor[: len(piece.values)]), piece.values.reshape(-1).float()])
        return both, functools.partial(self._tell, fields, dtype, tuple(piece.values.shape), rest)

    def _tell(
        self,
        fields: tuple[int, str, str, str, str, tuple[int, ...]],
        dtype: str,
        kept: tuple[int, ...],
        rest: tuple[str, int | None],
        numbers: Numbers,
    ) -> None:
        values: Any = numbers[4:]
        finite = numpy.isfinite(values)
        low, high, mean, std = (float(number) for number in numbers[:4])
        if not (numpy.isfinite(low) and numpy.isfinite(high)):
            low, high = (float(values[finite].min()), float(values[finite].max())) if finite.any() else (0.0, 0.0)
        if self._bytes < self.MOST_BYTES:
            if fields[4] == "image":
                scale = 254.0 / (high - low) if high > low else 0.0
                with numpy.errstate(invalid="ignore", over="ignore"):
                    steps = numpy.clip(numpy.round((values - low) * scale), 0, 254)
                values = numpy.where(finite, steps, 255).astype(numpy.uint8)
            packed = zlib.compress(numpy.ascontiguousarray(values).tobytes(), 1)
            data = base64.b64encode(packed).decode("ascii")
            self._bytes += len(data)
            bad = int(values.size - finite.sum())
            self.watch.emit(BatchSample(*fields, dtype, low, high, mean, std, bad, kept, data, *rest))


def _named(
    module: nn.Module, arguments: tuple[Any, ...], keywords: dict[str, Any]
) -> Iterator[tuple[str, torch.Tensor]]:
    """The tensors that forward is given, by the names of its parameters."""
    names = forward_arguments(module)
    for place, value in enumerate(arguments):
        known = names[place] if place < len(names) else f"input {place + 1}"
        yield from named_leaves(value, name=known)
    for name, value in keywords.items():
        yield from named_leaves(value, name=name)


def _is_data(tensor: torch.Tensor) -> bool:
    """Made by nothing that learns, and something whose numbers may be read."""
    own = type(tensor).__torch_dispatch__ is torch.Tensor.__torch_dispatch__  # else it may be fake
    plain = own and tensor.layout is torch.strided and not tensor.is_complex() and not tensor.is_meta
    if not plain or tensor.is_quantized or tensor.grad_fn is not None or not 0 < tensor.dim() <= 5:
        return False
    return tensor.numel() > 0 and not (tensor.is_cuda and torch.cuda.is_current_stream_capturing())


def _target_of(node: Any) -> tuple[torch.Tensor | None, str]:
    """With a word on where it comes from."""
    if op_name(node) in _LOSSES:
        target = saved(node, "_saved_target")
        return (target.detach(), "") if isinstance(target, torch.Tensor) else (None, "")
    pair = difference_sides(node)
    if pair is None:
        return None, ""
    shape, flat = made_shape(node), pair[1].detach()
    width = shape[-1] if len(shape) > 1 else 1
    fits = width > 1 and flat.numel() % width == 0
    return flat.reshape(-1, width) if fits else flat, "worked out from the difference in the loss, so rounded"


def _measure(tensor: torch.Tensor) -> torch.Tensor:
    """[lowest, highest, mean, std]"""
    flat = tensor.detach().reshape(-1)
    some = flat[:: -(-flat.numel() // _RANGE)]
    low, high = torch.aminmax(some if some.dtype in _ORDERED else some.float())
    spread = flat[:: -(-flat.numel() // _SPREAD)].float()
    return torch.stack([low.float(), high.float(), spread.mean(), spread.std(correction=0)])


# What a tensor of a batch shows, by its shape and by the first layer that reads it, and a small piece of it.
#
# Everything here is computed on the tensor's own device, without asking it for a number.
MOST_SAMPLES = 8
SIDE = 64  # pixels
MOST_PIXELS = 74_000  # of a record, over all samples and channels
CHANNELS, PICTURE_CHANNELS = 8, 4
NUMBERS = 256  # of a vector, or of one channel of a series
TOKENS = 128  # of a row
_COLOURS = (1, 3, 4)
_AVERAGED = 2**20  # numbers of a sample at most; of larger ones single pixels are taken
_CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d)
_READERS = (*_CONVOLUTIONS, nn.RNNBase, nn.Linear, nn.Embedding, nn.EmbeddingBag)


@dataclass(frozen=True)
class SamplePiece:
    kind: str
    values: torch.Tensor
    note: str = ""


def piece_of(tensor: torch.Tensor, reader: nn.Module | None, target: bool = False) -> SamplePiece | None:
    """None for what has no form that could be drawn."""
    whole = not tensor.is_floating_point()
    if tensor.dim() == 1:
        return SamplePiece("values", tensor[:MOST_SAMPLES])
    if tensor.dim() == 2:
        before = shape_before(tensor) if not whole else None
        if before is not None:
            return SamplePiece("image", small(before), "drawn as it was before it was flattened")
        return SamplePiece("tokens" if whole else "vectors", tensor[:MOST_SAMPLES, : TOKENS if whole else NUMBERS])
    if tensor.dim() == 3 and whole and target:
        return SamplePiece("mask", _strided(tensor[:, None], MOST_PIXELS // 4)[:, 0])
    if tensor.dim() == 3:
        return SamplePiece("image", small(tensor[:, None])) if whole else _picture_or_series(tensor, reader)
    if tensor.dim() == 4:
        return SamplePiece("image", small(_channels_first(tensor, reader)))
    if tensor.dim() == 5:
        middle = tensor.shape[2] // 2
        return SamplePiece("image", small(tensor[:, :, middle]), f"slice {middle} of {tensor.shape[2]} along axis 2")
    return None


def _picture_or_series(tensor: torch.Tensor, reader: nn.Module | None) -> SamplePiece:
    second, third = tensor.shape[1:]
    # Height and width without channels: a layer that reads all of it at once, or one for pictures.
    is_flat = isinstance(reader, nn.Linear) and reader.in_features == second * third
    if (is_flat or isinstance(reader, nn.Conv2d)) and min(second, third) >= 4:
        return SamplePiece("image", small(tensor[:, None]))
    if isinstance(reader, nn.Conv1d):
        time_is_last = reader.in_channels == second
    else:
        width = "in_features" if type(reader) is nn.Linear else "input_size"
        time_is_last = getattr(reader, width, None) != third and third >= second
    series = tensor if time_is_last else tensor.transpose(1, 2)
    return SamplePiece("series", series[:MOST_SAMPLES, :CHANNELS, :NUMBERS], "" if time_is_last else "channels last")


def _channels_first(tensor: torch.Tensor, reader: nn.Module | None) -> torch.Tensor:
    if isinstance(reader, _CONVOLUTIONS) and reader.in_channels == tensor.shape[1]:
        return tensor
    last = tensor.shape[3] in _COLOURS and tensor.shape[1] not in _COLOURS
    return tensor.permute(0, 3, 1, 2) if last else tensor


def shape_before(tensor: torch.Tensor) -> torch.Tensor | None:
    """The pictures that were flattened into rows, where the rows are still a view of them."""
    base = tensor._base
    if base is None or base.dim() != 4 or base.shape[0] != tensor.shape[0] or base.numel() != tensor.numel():
        return None
    return base.detach() if base.is_contiguous() and tensor.is_contiguous() else None


def small(pictures: torch.Tensor) -> torch.Tensor:
    """[samples, channels, height, width] with no side above SIDE: means over squares, or single pixels."""
    if pictures[0].numel() > _AVERAGED:
        return _strided(pictures, MOST_PIXELS)
    times = _times(pictures)
    high, wide = (max(1, size // times) for size in pictures.shape[2:])
    some = _few(pictures, high * wide, MOST_PIXELS)
    if times == 1:
        return some
    if min(pictures.shape[2:]) < times:  # a line: nothing to take means over in one direction
        return some[:, :, ::times, ::times]
    return nn.functional.avg_pool2d(some.float(), times)


def _strided(pictures: torch.Tensor, most: int) -> torch.Tensor:
    times = _times(pictures)
    thin = pictures[:, :, ::times, ::times]
    return _few(thin, thin.shape[2] * thin.shape[3], most)


def _times(pictures: torch.Tensor) -> int:
    return max(1, -(-max(pictures.shape[2:]) // SIDE))


def _few(pictures: torch.Tensor, pixels: int, most: int) -> torch.Tensor:
    channels = min(PICTURE_CHANNELS, pictures.shape[1])
    samples = max(1, min(MOST_SAMPLES, most // (channels * pixels)))
    return pictures[:samples, :channels]
