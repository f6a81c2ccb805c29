"""Data as it reaches the first layer that learns: looked at on a few deep steps.

A layer's input that needs no gradient and was made by nothing that does is data, whatever the
script has done to it on the way. On a device its numbers come later and it gets no digests.
"""

from __future__ import annotations

import dataclasses
import functools
import sys
import weakref
from collections.abc import Iterator
from types import FrameType
from typing import Any

import numpy
import torch
from torch import nn
from torch.utils.data import DataLoader

from torch_debugger.model.autograd_graph import op_name, saved, walk_nodes
from torch_debugger.model.hooks import in_transform
from torch_debugger.model.nested_tensors import first_tensor, tensors_in
from torch_debugger.probes.loss_backward import Backward
from torch_debugger.probes.model.forward import Forward
from torch_debugger.probes.model.root_modules import RootModule, RootModules
from torch_debugger.probes.schedule import DEEP
from torch_debugger.probes.watch import Watch
from torch_debugger.records import InputLook, Place, RootInput, TargetLook
from torch_debugger.source.assignments import repeated_row
from torch_debugger.source.calls import call_in_file
from torch_debugger.source.files import is_user_file
from torch_debugger.source.frames import place_of, user_frame
from torch_debugger.source.losses import loss_name
from torch_debugger.source.objects import is_a, own_attributes
from torch_debugger.source.statements import assignment_before, last_call_before, only_call
from torch_debugger.source.variables import scopes
from torch_debugger.stats.dispatch_modes import item_of, no_grad
from torch_debugger.stats.summary import digest_rows, sampled_rows
from torch_debugger.stats.transfer import Numbers

_LEARN = (
    nn.Linear, nn.Conv1d, nn.Conv2d, nn.Conv3d, nn.RNN, nn.LSTM, nn.GRU, nn.Embedding, nn.EmbeddingBag
)  # fmt: skip
_ROWS, _COLUMNS = 64, 4096  # of a table at most
_NO_NUMBERS = (0.0, 0.0, 0.0, 0.0, -1, 0.0)  # until they come from the device


class LayerInputs:
    EACH = 12  # looks at a layer
    LAYERS = 4

    def __init__(self, watch: Watch, forward: Forward) -> None:
        self.watch = watch
        self.roots = forward.roots
        self._looks: dict[str, int] = {}
        self._raw = RawArrays()
        self._table: tuple[int, weakref.ref[torch.Tensor]] | None = None
        forward.on_layer.append(self.see)

    def table(self) -> torch.Tensor | None:
        """The table that went into a Linear layer in this step: [samples, columns]."""
        if self._table is None or self._table[0] != self.watch.step:
            return None
        return self._table[1]()

    def see(self, path: str, module: nn.Module, arguments: Any) -> None:
        if not isinstance(module, _LEARN):
            return
        tensor = first_tensor(arguments)
        if tensor is None or tensor.requires_grad or not _has_numbers(tensor):
            return
        looks = self._looks.get(path, 0)
        wanted = looks < self.EACH and (path in self._looks or len(self._looks) < self.LAYERS)
        if not wanted or in_transform():
            return
        self._looks[path] = looks + 1
        if isinstance(module, nn.Linear) and tensor.dim() == 2:
            self._table = (self.watch.step, weakref.ref(tensor))
        self._look(path, type(module).__name__, tensor)

    @no_grad()
    def _look(self, path: str, kind: str, tensor: torch.Tensor) -> None:
        root = next((root for root, _ in self.roots.alive() if root.name == path.split(".")[0]), None)
        fed = first_tensor(root.call) if root is not None and root.call is not None else None
        on_the_host = fed is not None and _has_numbers(fed) and fed.device.type == "cpu"
        digests = digest_rows(sampled_rows(fed)) if fed is not None and on_the_host else ()
        call = model_call()
        viewed, viewed_at = self._shape_before(root.module() if root is not None else None, call, tensor, fed)
        rows = tensor[:_ROWS] if tensor.dim() == 2 else sampled_rows(tensor)  # all of it would cost too much
        look = InputLook(
            path,
            kind,
            tuple(tensor.shape),
            str(tensor.dtype).removeprefix("torch."),
            viewed,
            *_NO_NUMBERS,
            digests,
            call,
            self.watch.step,
            viewed_at,
            len(list(tensors_in(root.call))) if root is not None and root.call is not None else 1,
            repeated_row(call.file) if len(set(digests)) == 1 and len(digests) > 1 else Place(),
            rows.numel(),
        )
        # [lowest, highest, mean, std, column with the largest values, its root mean square, NaN and Inf]
        rows = rows.float()
        rms = rows.square().mean(0).sqrt().reshape(-1)[:_COLUMNS] if tensor.dim() == 2 else None
        column = rms.argmax() if rms is not None else torch.tensor(-1.0, device=rows.device)
        largest = rms.amax() if rms is not None else torch.zeros((), device=rows.device)
        wrong = rows.isfinite().logical_not().sum()
        numbers = (rows.amin(), rows.amax(), rows.mean(), rows.std(correction=0), column, largest, wrong)
        values = torch.stack([number.float() for number in numbers])
        self.watch.transfer.send(values, functools.partial(self._tell, look))

    def _shape_before(
        self, module: nn.Module | None, call: Place, tensor: torch.Tensor, fed: torch.Tensor | None
    ) -> tuple[tuple[int, ...], Place]:
        """The shape before view(), where both have their elements in the same order, and the line of the view: inside
        the model where the tensor came in as it was before, else above the call."""
        base = tensor._base
        same = base is not None and base.is_contiguous() and tensor.is_contiguous() and base.numel() == tensor.numel()
        if base is None or not same or not base.shape:
            return self._raw.shape_before(tensor, call)
        if module is None:
            return tuple(base.shape), Place()
        names = ("view", "reshape")
        inside = fed is not None and fed.shape == base.shape
        return tuple(base.shape), (only_call(module, names) if inside else last_call_before(call, names)) or Place()

    def _tell(self, look: InputLook, numbers: Any) -> None:
        low, high, mean, std, column, rms, wrong = (float(number) for number in numbers)
        looked = dataclasses.replace(look, minimum=low, maximum=high, mean=mean, std=std)
        self.watch.emit(dataclasses.replace(looked, column=int(column), column_rms=rms, not_finite=int(wrong)))


def _has_numbers(tensor: torch.Tensor) -> bool:
    plain = tensor.layout is torch.strided and not tensor.is_complex() and not tensor.is_meta
    own = type(tensor).__torch_dispatch__ is torch.Tensor.__torch_dispatch__  # else it may be fake
    return plain and own and tensor.dim() > 0 and tensor.numel() > 0


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


# How large the numbers are that a model is given: in training, and where no gradient is wanted.
class RootInputs:
    """A dozen looks at each model for either case; in evaluation two a step, to see several passes."""

    EACH = 12
    A_STEP = 2

    def __init__(self, watch: Watch, roots: RootModules) -> None:
        self.watch = watch
        self._looks: dict[tuple[str, bool], int] = {}
        self._in_step: tuple[int, int] = (0, 0)  # the step of the last evaluation, and its looks
        roots.on_call.append(self._see_training)
        roots.on_evaluation.append(self._see_evaluation)

    def _see_training(self, root: RootModule, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        if self.watch.depth == DEEP:
            self._look(root.name, True, (arguments, keywords))

    def _see_evaluation(self, root: RootModule, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        step, looks = self._in_step
        looks = looks if step == self.watch.step else 0
        if looks < self.A_STEP:
            self._in_step = (self.watch.step, looks + 1)
            self._look(root.name, False, (arguments, keywords))

    @no_grad()
    def _look(self, root: str, trained: bool, inputs: Any) -> None:
        looks = self._looks.get((root, trained), 0)
        tensor = first_tensor(inputs)
        if looks >= self.EACH or tensor is None or not tensor.is_floating_point() or tensor.dim() < 2:
            return
        if not _has_numbers(tensor):
            return
        self._looks[root, trained] = looks + 1
        rows = sampled_rows(tensor).float()
        numbers = torch.stack((rows.mean(), rows.std(correction=0)))
        tell = functools.partial(self._tell, root, trained, tuple(tensor.shape), model_call(), self.watch.step)
        self.watch.transfer.send(numbers, tell)

    def _tell(self, root: str, trained: bool, shape: tuple[int, ...], call: Place, step: int, numbers: Any) -> None:
        mean, std = (float(number) for number in numbers)
        self.watch.emit(RootInput(root, trained, shape, mean, std, call, step))


# Data before it was reshaped: arrays among the user's variables that hold what the model is given, number after
# number in the same order, but with other axes. Scaled or shifted since, or copied, they still show.
Shape = tuple[int, ...]
_RAW_ARRAYS_COLUMNS = 64  # of a sample that are compared at first
_MOST_ROWS, _MOST_ELEMENTS = 20_000, 2**28
_ARRAYS = 8
_SAME, _OTHER = 0.97, 0.85  # correlation of the numbers as they lie, and with their axes moved


class RawArrays:
    TRIES = 3

    def __init__(self) -> None:
        self._tries = 0

    def shape_before(self, batch: torch.Tensor, call: Place) -> tuple[Shape, Place]:
        """The shape that these samples had, and the line that read them as another; empty where none did."""
        if self._tries >= self.TRIES or batch.dim() < 3 or batch.device.type != "cpu":
            return (), Place()
        self._tries += 1
        names = list(scopes(sys._getframe(1)))
        sample = batch[0].detach().float().contiguous()
        for array in _arrays(names, tuple(sample.shape)):
            if _is_misread(array, sample):
                numbers = {name: value for scope in names for name, value in scope if type(value) is int}
                place = call_in_file(call.file, tuple(batch.shape), numbers)
                return (batch.shape[0], *array.shape[1:]), place
        return (), Place()


def _arrays(names: list[list[tuple[str, Any]]], sample: Shape) -> list[torch.Tensor]:
    """Those whose samples have the same sizes in another order."""
    found: dict[int, torch.Tensor] = {}
    for value in _values_in(names):
        is_array = is_a(value, numpy.ndarray)
        wanted = (is_array or is_a(value, torch.Tensor)) and value.ndim == len(sample) + 1
        if wanted and id(value) not in found and len(found) < _ARRAYS and _is_large(value, sample, is_array):
            array = torch.from_numpy(value) if is_array else value.detach()
            found[id(value)] = array[:_MOST_ROWS]
    return list(found.values())


def _values_in(names: list[list[tuple[str, Any]]]) -> Iterator[Any]:
    for scope in names:
        for _, value in scope:
            yield value
            owner = value.dataset if is_a(value, DataLoader) else value
            for part in list(own_attributes(owner).values())[:64]:
                yield from part if type(part) is tuple and len(part) <= 8 else (part,)


def _is_large(value: Any, sample: Shape, is_array: bool) -> bool:
    shape = tuple(value.shape[1:])
    moved = sorted(shape) == sorted(sample) and [s for s in shape if s > 1] != [s for s in sample if s > 1]
    plain = str(value.dtype).removeprefix("torch.") in ("uint8", "int32", "int64", "float32", "float64")
    if not moved or not plain or not 0 < (value.size if is_array else value.numel()) <= _MOST_ELEMENTS:
        return False
    if is_array:
        return bool(value.flags.c_contiguous and value.flags.writeable)  # torch warns of others
    return bool(value.device.type == "cpu" and value.layout is torch.strided and value.is_contiguous())


def _is_misread(array: torch.Tensor, sample: torch.Tensor) -> bool:
    """One of its rows is the sample, as the numbers lie, and is not once its axes are moved."""
    rows, wanted = array.reshape(len(array), -1), sample.reshape(-1)
    columns = torch.linspace(0, len(wanted) - 1, min(_RAW_ARRAYS_COLUMNS, len(wanted))).long()
    best = int(_alike(rows[:, columns].float(), wanted[columns]).argmax())
    moved = array[best].permute(moved_axes(tuple(array.shape[1:]), tuple(sample.shape))).reshape(1, -1)
    as_it_lies, as_it_should = (item_of(_alike(row.float(), wanted)) for row in (rows[best : best + 1], moved))
    return as_it_lies > _SAME and as_it_should < _OTHER


def _alike(rows: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
    """Correlation of each row with the wanted one; 0 where nothing varies."""
    rows, wanted = rows - rows.mean(1, keepdim=True), wanted - wanted.mean()
    lengths = torch.linalg.vector_norm(rows, dim=1) * torch.linalg.vector_norm(wanted)
    alike: torch.Tensor = (rows @ wanted) / lengths.clamp_min(1e-12)
    return alike


def moved_axes(before: Shape, after: Shape) -> list[int]:
    """Which old axis stands where; axes of equal size keep their order."""
    left = list(range(len(before)))
    order = []
    for size in after:
        order.append(next(axis for axis in left if before[axis] == size))
        left.remove(order[-1])
    return order


# What a loss function compares the model with, as autograd has saved it (some steps).
_CLASSIFY = ("NllLoss", "BinaryCrossEntropyWithLogits", "BinaryCrossEntropy")
_LOSSES = (*_CLASSIFY, "MseLoss", "SmoothL1Loss", "HuberLoss")
_NEAR = 24  # nodes from the loss on
_SAMPLES, _NUMBERS = 1024, 2**16
_CLASSES = 64


class Targets:
    LOOKS = 60

    def __init__(self, watch: Watch, inputs: LayerInputs, backward: Backward) -> None:
        self.watch = watch
        self.inputs = inputs
        self.backward = backward
        self._looks = 0
        self._made: dict[Place, Place] = {}  # the call of backward() -> the line that computes its loss
        backward.on_look.append(self.look)

    def look(self, loss: torch.Tensor, frame: FrameType | None) -> None:
        if self._looks >= self.LOOKS or loss.grad_fn is None or self.backward.saved_hooks:
            return
        nodes, _, _ = walk_nodes(loss.grad_fn, _NEAR)
        found = [node for node in nodes if op_name(node) in _LOSSES]
        if len(found) == 1:  # of several, none is the model's one target
            self._look(found[0], frame)

    @no_grad()
    def _look(self, node: Any, frame: FrameType | None) -> None:
        target = saved(node, "_saved_target")
        if not is_a(target, torch.Tensor) or target.layout is not torch.strided or not 0 < target.dim() <= 2:
            return
        self._looks += 1
        op, site = op_name(node), place_of(frame)
        target = target[: max(1, min(_SAMPLES, _NUMBERS // target[0].numel()))]
        if site not in self._made:
            self._made[site] = assignment_before(site, loss_name(site)) or site
        dtype = str(target.dtype).removeprefix("torch.")
        look = TargetLook(loss_name(site), op, tuple(target.shape), dtype, {}, (), self.watch.step, self._made[site])
        # 1 for each column of the table that holds the very target, sample by sample.
        copies = torch.empty(0, device=target.device)
        table, wanted = self.inputs.table(), target.reshape(len(target), -1)
        comparable = table is not None and wanted.shape[1] == 1 and table.device == target.device
        if table is not None and comparable and len(table) >= len(wanted):
            copies = (table[: len(wanted)].to(torch.float64) == wanted.to(torch.float64)).all(0).float()
        both = torch.cat([target.reshape(-1).float(), copies])
        self.watch.transfer.send(both, functools.partial(self._tell, look, target.numel()))

    def _tell(self, look: TargetLook, count: int, numbers: Numbers) -> None:
        """The targets themselves, then a flag for each column that holds them."""
        labels = {}
        if look.op in _CLASSIFY:
            values, counts = numpy.unique(numbers[:count], return_counts=True)
            if len(values) <= _CLASSES and (values == values.round()).all():
                labels = {str(int(value)): int(number) for value, number in zip(values, counts, strict=True)}
        copies = tuple(int(column) for column in numpy.flatnonzero(numbers[count:])[:8])
        self.watch.emit(dataclasses.replace(look, labels=labels, copied_to=copies))
