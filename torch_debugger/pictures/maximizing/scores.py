"""How far images have come for their goals, measured by what noise gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch

from torch_debugger.pictures.maximizing.goals import Goal
from torch_debugger.pictures.units.channel_axes import Layout


@dataclass(frozen=True)
class Scores:
    """Goals told from outputs of one layer."""

    goals: Sequence[Goal]
    layout: Layout
    usual: torch.Tensor  # [C], what each channel has on average for noise
    units: torch.Tensor  # [goals], rewards are told in these: what noise gets, so that weights fit every layer

    def rewards(self, output: torch.Tensor) -> torch.Tensor:
        """[goals], each for its own image."""
        both = zip(self.goals, *self._arranged(output, len(self.goals)), strict=True)
        return (
            torch.stack([goal.reward(own, channels, self.usual) for goal, own, channels in both]) / self.units
        )

    def activations(self, output: torch.Tensor) -> torch.Tensor:
        """[goals], each of its own image."""
        both = zip(self.goals, *self._arranged(output, len(self.goals)), strict=True)
        return torch.stack([goal.activation(own, channels) for goal, own, channels in both])

    def activations_of_all(self, output: torch.Tensor, images: int) -> torch.Tensor:
        """[goals, images]"""
        both = list(zip(*self._arranged(output, images), strict=True))
        return torch.stack([torch.stack([goal.activation(*one) for one in both]) for goal in self.goals])

    def of_middles(self, places: Sequence[int]) -> Scores:
        """Some goals; of a channel its middle alone, since over all positions the slopes of an edge cancel."""
        some = [self.goals[place] for place in places]
        goals = [Goal("unit", goal.index) if goal.kind == "channel" else goal for goal in some]
        return replace(self, goals=goals, units=self.units[list(places)])

    def measured_anew(self, places: Sequence[int], output: torch.Tensor) -> Scores:
        """These goals are told in what their images get now."""
        units = self.units.clone()
        now = self.rewards(output) * self.units
        units[list(places)] = torch.where(now > 0, now, units)[list(places)]
        return replace(self, units=units)

    def _arranged(self, output: torch.Tensor, images: int) -> tuple[torch.Tensor, torch.Tensor]:
        return self.layout.by_example(output, images), self.layout.by_channel(output, images)


def measured_by(noise: torch.Tensor, images: int, goals: Sequence[Goal], layout: Layout) -> Scores:
    """`noise` is the layer's output for that many images of noise."""
    own, by_channel = layout.by_example(noise, images), layout.by_channel(noise, images).float()
    usual = by_channel.movedim(1, 0).flatten(1).mean(1)
    both = list(zip(own, by_channel, strict=True))
    found = torch.stack([torch.stack([goal.reward(*one, usual) for one in both]) for goal in goals])
    average = torch.tensor([goal.kind in ("channel", "layer") for goal in goals], device=found.device)
    units = torch.where(average, found.mean(1), found.std(1))
    spread = by_channel.std()
    units = torch.where(units > 0, units, torch.where(spread > 0, spread, 1.0))
    return Scores(goals, layout, usual, units)
