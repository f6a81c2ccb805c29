"""One unit of a layer: where it is in the output, and a forward that ends there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn.modules.batchnorm import _NormBase
from torch.nn.modules.conv import _ConvNd

from torch_debugger.model.hooks import listening
from torch_debugger.model.layers import one_layer
from torch_debugger.model.nested_tensors import first_tensor
from torch_debugger.pictures.model_runs import Layer, pass_to
from torch_debugger.system.errors import UsageError

# Which axis of a layer's output holds its channels, and which one the examples of the batch.
#
# Convolutions keep channels in front, linear layers and transformers behind; what lies between (an activation
# function, a block of the user's own) has them where the last layer of a known kind that ran before had them.
_IN_FRONT = (_ConvNd, _NormBase, nn.GroupNorm, nn.PixelShuffle)
_BEHIND = (
    nn.Linear, nn.LayerNorm, nn.Embedding, nn.MultiheadAttention, nn.RNNBase, nn.TransformerEncoderLayer,
    nn.TransformerDecoderLayer,
)  # fmt: skip


def has_known_channels(module: nn.Module) -> bool:
    return isinstance(module, (*_IN_FRONT, *_BEHIND))


def channels_behind(module: nn.Module) -> bool:
    return isinstance(module, _BEHIND)


def first_known(model: nn.Module) -> nn.Module | None:
    return next((module for module in model.modules() if has_known_channels(module)), None)


def takes_series(model: nn.Module, tensor: torch.Tensor) -> bool:
    """[B, T, F], the channels behind time: the kind of the first layer tells it from [B, C, T]."""
    return tensor.dim() == 3 and (first := first_known(model)) is not None and channels_behind(first)


@dataclass
class LastKnown:
    """Told of every call of such a layer, in order."""

    axis: int = 0  # 0: none yet
    size: int = 0

    def see(self, module: nn.Module, output: Any) -> None:
        tensor = first_tensor(output)
        if tensor is not None and tensor.dim() > 1:
            self.axis = 1 if isinstance(module, _IN_FRONT) else -1
            self.size = tensor.shape[self.axis]

    def channel_axis(self, output: torch.Tensor) -> int:
        """Where the size tells against the kind, it was transposed since: then the size counts."""
        usual = self.axis or (1 if output.dim() > 3 else -1)
        other = -usual  # 1 or -1
        moved = output.shape[usual] != self.size == output.shape[other]
        return (other if moved else usual) % output.dim()


def batch_axis(one: torch.Size, two: torch.Size) -> int:
    """The axis that grows with the batch; 0 where none does."""
    grown = [axis for axis, sizes in enumerate(zip(one, two, strict=False)) if sizes[0] != sizes[1]]
    return grown[0] if grown else 0


@dataclass(frozen=True)
class UnitLayout:
    """How a layer's output lies in memory: for one example [C, positions ...] whatever that is."""

    batch: int
    channel: int

    def by_example(self, output: torch.Tensor, examples: int) -> torch.Tensor:
        """[examples, ...] in the layer's own order."""
        return _split(output.movedim(self.batch, 0), examples)

    def by_channel(self, output: torch.Tensor, examples: int) -> torch.Tensor:
        """[examples, C, positions ...]"""
        if output.dim() == 1:
            return output.reshape(examples, -1)
        batch = self.batch if self.batch < self.channel else self.batch - 1
        return _split(output.movedim(self.channel, -1).movedim(batch, 0), examples).movedim(-1, 1)


def _split(output: torch.Tensor, examples: int) -> torch.Tensor:
    """Windows of an image that were moved into the batch are positions again."""
    if len(output) == examples:
        return output
    return output.reshape(examples, -1, *output.shape[1:])


# What an image is to make large: a channel, a unit, a logit, or a layer as a whole.
Which = int | Sequence[int]


@dataclass(frozen=True)
class Goal:
    kind: str  # channel, unit, logit or layer
    index: tuple[int, ...] = ()

    def __str__(self) -> str:
        return f"{self.kind} {', '.join(map(str, self.index))}" if self.index else "the whole layer"

    def reward(self, example: torch.Tensor, by_channel: torch.Tensor, usual: torch.Tensor) -> torch.Tensor:
        """What is climbed. A channel: by how much it exceeds its usual level, on average over all positions;
        its plain mean would make every linear layer ask for one flat colour. A logit also has to win against
        the others: two classes may like the same."""
        if self.kind == "layer":
            return by_channel.float().square().mean()
        if self.kind == "logit":
            logits = by_channel.float().reshape(len(by_channel), -1).mean(1)
            return logits[self.index[0]] + logits.log_softmax(0)[self.index[0]]
        channel = by_channel[self.index[0]].float()
        if self.kind == "channel" and channel.numel() > 1:
            return (channel - usual[self.index[0]]).relu().mean()
        return self.activation(example, by_channel)

    def activation(self, example: torch.Tensor, by_channel: torch.Tensor) -> torch.Tensor:
        """What is told: of a channel its strongest position, of a layer the root of its mean square."""
        if self.kind == "layer":
            return by_channel.float().square().mean().sqrt()
        if len(self.index) > 1:
            return example[self.index].float()
        channel = by_channel[self.index[0]].float()
        if self.kind == "unit":
            return channel[tuple(length // 2 for length in channel.shape)]
        return channel.mean() if self.kind == "logit" else channel.max()


def requested_goals(
    unit: Which | None,
    channel: int | Iterable[int] | None,
    channels: Iterable[int] | None,
    logit: int | Iterable[int] | None,
) -> list[Goal]:
    """One number is a channel as a whole, wherever it is strongest; several numbers are one place of it."""
    options: dict[str, Any] = {"unit": unit, "channel": channel, "channels": channels, "logit": logit}
    chosen = {name: value for name, value in options.items() if value is not None}
    if len(chosen) > 1:
        raise UsageError("give one of `unit`, `channel`, `channels` and `logit`, or none for the whole layer.")
    if not chosen:
        return [Goal("layer")]
    ((name, value),) = chosen.items()
    if name == "unit":
        several = list(value) if np.ndim(value) > 1 else [value]
        goals = [_goal("unit" if np.ndim(one) else "channel", one) for one in several]
    else:
        goals = [_goal(name.removesuffix("s"), each) for each in _listed(value)]
    if not goals:
        raise UsageError(f"there is no {name.removesuffix('s')} to look for: say which ones, such as range(8).")
    return goals


def _goal(kind: str, index: Any) -> Goal:
    return Goal(kind, tuple(int(each) for each in _listed(index)))


def _listed(value: Any) -> list[Any]:
    return list(value) if np.ndim(value) or isinstance(value, Iterator) else [value]


def checked_goals(goals: Sequence[Goal], path: str, output: torch.Tensor, layout: UnitLayout) -> list[Goal]:
    """The same, counted from the front, if each is in range for this output of one example, [1, ...]."""
    sizes = tuple(layout.by_example(output, 1)[0].shape)
    channels = layout.by_channel(output, 1).shape[1]
    found = []
    for goal in goals:
        within = sizes if len(goal.index) > 1 else (channels,)
        if len(goal.index) > 1 and len(goal.index) != len(sizes):
            raise UsageError(
                f"layer `{path}` gives {list(sizes)} for one example, so a unit has {len(sizes)} numbers, "
                f"but {goal.index} has {len(goal.index)}. One number is a channel as a whole, as channel=3 is."
            )
        if any(not -size <= index < size for index, size in zip(goal.index, within, strict=False)):
            where = f"layer `{path}`" if path else "the model's output"
            if len(within) > 1:
                raise UsageError(f"{where} gives {list(within)} for one example: there is no {goal}.")
            kind = "logits" if goal.kind == "logit" else "channels"
            raise UsageError(f"{where} has {channels} {kind}, 0 to {channels - 1}: there is no {goal}.")
        index = tuple(index % size for index, size in zip(goal.index, within, strict=False))
        found.append(Goal(goal.kind, index))
    return found


# Whether and how a layer is reached: how often it is called, and how its output lies in memory.
@dataclass(frozen=True)
class ReachedLayer:
    cut: CutForward
    layout: UnitLayout
    output: torch.Tensor  # for one example


def reach(model: nn.Module, layer: Layer, one: Any, two: Any) -> ReachedLayer:
    """Runs the model with inputs of one example, and up to the layer with two. As everywhere, the last call
    of a layer counts. What fails behind the layer does not matter: it is never run again."""
    path, module = one_layer(model, layer)
    last, outputs, axes = LastKnown(), list[Any](), list[int]()

    def after(call: str, called: nn.Module, arguments: Any, output: Any) -> None:
        if has_known_channels(called):
            last.see(called, output)
        if called is module:
            outputs.append(output)
            axes.append(last.channel_axis(last_output(path, outputs)))

    watched_layers = {name: each for name, each in model.named_modules() if has_known_channels(each) or each is module}
    with listening(watched_layers, after):
        try:
            pass_to(model, one)
        except UsageError:
            raise
        except Exception:  # of the user's own forward: behind the layer it does not matter, that part never runs
            if not outputs:
                raise
    single = last_output(path, outputs)
    cut = CutForward(model, path, module, len(outputs))
    return ReachedLayer(cut, UnitLayout(batch_axis(single.shape, cut(two).shape), axes[-1]), single)


# A forward that ends where a layer has its output: what would follow is never computed.
class _ReachedError(BaseException):
    """The layer has its output. No `Exception`, so that a forward that catches those lets it through."""


class CutForward:
    """A model up to one call of one of its layers: called with inputs, it gives what the layer gave."""

    def __init__(self, model: nn.Module, path: str, layer: nn.Module, calls: int = 1) -> None:
        self.path = path
        self._model, self._layer, self._calls = model, layer, calls

    def __call__(self, inputs: Any) -> torch.Tensor:
        """The hook is gone when this returns: a backward that runs parts of the forward again is not cut."""
        outputs: list[Any] = []

        def after(module: nn.Module, arguments: Any, output: Any) -> None:
            outputs.append(output)
            if len(outputs) == self._calls:
                raise _ReachedError

        handle = self._layer.register_forward_hook(after)
        try:
            pass_to(self._model, inputs)
        except _ReachedError:
            pass
        finally:
            handle.remove()
        return last_output(self.path, outputs)


def last_output(path: str, outputs: list[Any]) -> torch.Tensor:
    """The tensor of a layer's last call: its logits where it gives several things by name."""
    if not outputs:
        raise UsageError(f"layer `{path}` is not called in this model's forward for this input.")
    last = outputs[-1]
    named = last.get("logits") if isinstance(last, dict) else getattr(last, "logits", None)
    tensor = first_tensor(named) if named is not None else first_tensor(last)
    if tensor is None:
        raise UsageError(f"layer `{path}` gives no tensor, but {type(last).__name__}.")
    return tensor
