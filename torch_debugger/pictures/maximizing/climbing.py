"""Images that are changed step by step until a layer answers strongly."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch

from torch_debugger.errors import UsageError
from torch_debugger.pictures.maximizing.awake_relus import AwakeRelus
from torch_debugger.pictures.maximizing.fourier_images import FourierImages
from torch_debugger.pictures.maximizing.goals import Goal
from torch_debugger.pictures.maximizing.image_slots import ImageSlot
from torch_debugger.pictures.maximizing.scores import Scores, measured_by
from torch_debugger.pictures.maximizing.small_moves import SmallMoves
from torch_debugger.pictures.units.reached_layers import ReachedLayer

Tick = Callable[[], None]
_WAKING = 48  # steps
_STEP_SIZE = 0.05  # of waves with a spread of about 1
_STARTS, _CONTRASTS = 8, (0.3, 1.0)
_TINY = 1e-12


@dataclass(frozen=True)
class Noise:
    """Where climbing begins: noise, and what the layer makes of it."""

    parameters: torch.Tensor
    activations: torch.Tensor  # [goals, images of noise]
    scored: Scores

    def best(self) -> torch.Tensor:
        """Of some noise, the one for each goal: where a ReLU is silent, no slope leads away."""
        return self.parameters[self.activations.argmax(1)]

    def silent(self) -> list[int]:
        """Goals that most noise leaves at one and the same value: behind a ReLU that is rarely on, or dead."""
        still = (self.activations == self.activations.amin(1, keepdim=True)).float().mean(1) > 0.5
        return [place for place, silent in enumerate(still.tolist()) if silent]


@dataclass(frozen=True)
class Climb:
    """One layer of one model, and how images are climbed for it."""

    reached: ReachedLayer
    slot: ImageSlot
    images: FourierImages
    moves: SmallMoves
    total_variation: float
    l2: float

    def noise(self, goals: Sequence[Goal], generator: torch.Generator) -> Noise:
        share = _STARTS // len(_CONTRASTS)
        drawn = torch.cat([self.images.parameters(share, contrast, generator) for contrast in _CONTRASTS])
        output = self.output(self.shown(drawn.requires_grad_()))
        _refuse_without_slope(output, drawn, self.reached.cut.path)
        output, drawn = output.detach(), drawn.detach()
        scored = measured_by(output, len(drawn), goals, self.reached.layout)
        return Noise(drawn, scored.activations_of_all(output, len(drawn)), scored)

    def up(self, parameters: torch.Tensor, scored: Scores, steps: int, tick: Tick = lambda: None) -> None:
        """Adam by hand, in place: torch's own optimizers are what a training is watched by."""
        mean, square = torch.zeros_like(parameters), torch.zeros_like(parameters)
        for step in range(1, steps + 1):
            leaf = parameters.detach().requires_grad_()
            waves = self.images.waves(leaf)
            images = self.images.in_range(waves)
            against = self.total_variation * self._roughness(images) + self.l2 * waves.square().mean()
            reward = scored.rewards(self.output(self.moves(images))).sum()
            (slope,) = torch.autograd.grad(reward - against * len(images), leaf)
            mean.lerp_(slope, 0.1)
            square.lerp_(slope.square(), 0.001)
            rate = _STEP_SIZE * (1 - 0.999**step) ** 0.5 / (1 - 0.9**step)
            parameters.addcdiv_(mean, square.sqrt().add_(_TINY), value=rate)
            tick()

    def wake(self, parameters: torch.Tensor, noise: Noise, steps: int) -> Scores:
        """Climbs a while, where little answers yet, as if ReLUs let slopes through, nothing held against it.
        Noise is no measure for these: they are scored by what they answer once awake."""
        silent = noise.silent()
        if not silent or not steps:
            return noise.scored
        some = parameters[silent]
        with AwakeRelus():
            replace(self, total_variation=0.0, l2=0.0).up(
                some, noise.scored.of_middles(silent), min(steps, _WAKING)
            )
        parameters[silent] = some
        return noise.scored.measured_anew(silent, self.output(self.shown(parameters)).detach())

    def shown(self, parameters: torch.Tensor) -> torch.Tensor:
        return self.images.in_range(self.images.waves(parameters))

    def output(self, images: torch.Tensor) -> torch.Tensor:
        """The layer's; the model may write into what it is given."""
        return self.reached.cut(self.slot.filled(images.clone()))

    def _roughness(self, images: torch.Tensor) -> torch.Tensor:
        """Total variation as a share of the range: how much neighbours differ on average."""
        unit = (images - self.images.low) / (self.images.high - self.images.low)
        axes = [axis for axis in range(2, images.dim()) if images.shape[axis] > 1]
        return sum((unit.diff(dim=axis).abs().mean() for axis in axes), images.new_zeros(()))


def _refuse_without_slope(output: torch.Tensor, drawn: torch.Tensor, path: str) -> None:
    slope = None
    if output.requires_grad:
        (slope,) = torch.autograd.grad(output.float().sum(), drawn, allow_unused=True)
    if slope is None:
        where = f"layer `{path}`" if path else "the model's output"
        raise UsageError(
            f"no gradient leads from {where} to the input: argmax, .detach(), torch.no_grad() or whole numbers "
            "lie between. pictures.top_examples(model, loader, layer, unit) needs no gradient."
        )
