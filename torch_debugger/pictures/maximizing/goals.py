"""What an image is to make large: a channel, a unit, a logit, or a layer as a whole."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from torch_debugger.errors import UsageError
from torch_debugger.pictures.units.channel_axes import Layout

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


def asked_goals(
    unit: Which | None,
    channel: int | Iterable[int] | None,
    channels: Iterable[int] | None,
    logit: int | Iterable[int] | None,
) -> list[Goal]:
    """One number is a channel as a whole, wherever it is strongest; several numbers are one place of it."""
    given: dict[str, Any] = {"unit": unit, "channel": channel, "channels": channels, "logit": logit}
    asked = {name: value for name, value in given.items() if value is not None}
    if len(asked) > 1:
        raise UsageError("give one of `unit`, `channel`, `channels` and `logit`, or none for the whole layer.")
    if not asked:
        return [Goal("layer")]
    ((name, value),) = asked.items()
    goals = (
        _units(value) if name == "unit" else [_goal(name.removesuffix("s"), each) for each in _listed(value)]
    )
    if not goals:
        raise UsageError(f"there is no {name.removesuffix('s')} to look for: say which ones, such as range(8).")
    return goals


def _units(value: Any) -> list[Goal]:
    each = list(value) if np.ndim(value) > 1 else [value]
    return [_goal("unit" if np.ndim(one) else "channel", one) for one in each]


def _goal(kind: str, index: Any) -> Goal:
    return Goal(kind, tuple(int(each) for each in _listed(index)))


def _listed(value: Any) -> list[Any]:
    return list(value) if np.ndim(value) or isinstance(value, Iterator) else [value]


def checked_goals(goals: Sequence[Goal], path: str, output: torch.Tensor, layout: Layout) -> list[Goal]:
    """The same, counted from the front, if each is in range for this output of one example, [1, ...]."""
    sizes = tuple(layout.by_example(output, 1)[0].shape)
    channels = layout.by_channel(output, 1).shape[1]
    return [_checked(goal, path, sizes, channels) for goal in goals]


def _checked(goal: Goal, path: str, sizes: tuple[int, ...], channels: int) -> Goal:
    within = sizes if len(goal.index) > 1 else (channels,)
    if len(goal.index) > 1 and len(goal.index) != len(sizes):
        raise UsageError(
            f"layer `{path}` gives {list(sizes)} for one example, so a unit has {len(sizes)} numbers, "
            f"but {goal.index} has {len(goal.index)}. One number is a channel as a whole, as channel=3 is."
        )
    if any(not -size <= index < size for index, size in zip(goal.index, within, strict=False)):
        raise UsageError(_out_of_range(goal, path, within))
    return Goal(goal.kind, tuple(index % size for index, size in zip(goal.index, within, strict=False)))


def _out_of_range(goal: Goal, path: str, sizes: tuple[int, ...]) -> str:
    where = f"layer `{path}`" if path else "the model's output"
    if len(sizes) > 1:
        return f"{where} gives {list(sizes)} for one example: there is no {goal}."
    kind = "logits" if goal.kind == "logit" else "channels"
    return f"{where} has {sizes[0]} {kind}, 0 to {sizes[0] - 1}: there is no {goal}."
