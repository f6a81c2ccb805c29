"""Images that are changed step by step until a layer answers strongly."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import nn
from torch.nn import functional
from torch.nn.modules.conv import _ConvNd

from torch_debugger.model.nested_tensors import exchanged
from torch_debugger.pictures.dataloader_batches import take_batch, without_labels
from torch_debugger.pictures.layer_units import Goal, ReachedLayer, UnitLayout, first_known, takes_series
from torch_debugger.pictures.model_runs import MainInput, main_input, with_batch_of_one
from torch_debugger.pictures.target_gradients import OtherReLUs
from torch_debugger.system.errors import UsageError

Tick = Callable[[], None]
_WAKING = 48  # steps
_STEP_SIZE = 0.05  # of waves with a spread of about 1
_STARTS, _CONTRASTS = 8, (0.3, 1.0)
_TINY = 1e-12


@dataclass(frozen=True)
class ImageClimb:
    """One layer of one model, and how images are climbed for it."""

    reached: ReachedLayer
    slot: ImageSlot
    images: FourierImages
    moves: SmallMoves
    total_variation: float
    l2: float

    def noise(self, goals: Sequence[Goal], generator: torch.Generator) -> StartingNoise:
        share = _STARTS // len(_CONTRASTS)
        drawn = torch.cat([self.images.parameters(share, contrast, generator) for contrast in _CONTRASTS])
        output = self.output(self.shown(drawn.requires_grad_()))
        slope = None
        if output.requires_grad:
            (slope,) = torch.autograd.grad(output.float().sum(), drawn, allow_unused=True)
        if slope is None:
            path = self.reached.cut.path
            where = f"layer `{path}`" if path else "the model's output"
            raise UsageError(
                f"no gradient leads from {where} to the input: argmax, .detach(), torch.no_grad() or whole numbers "
                "lie between. pictures.top_examples(model, loader, layer, unit) needs no gradient."
            )
        output, drawn = output.detach(), drawn.detach()
        return measured_noise(drawn, output, goals, self.reached.layout)

    def up(self, parameters: torch.Tensor, scored: GoalScores, steps: int, tick: Tick = lambda: None) -> None:
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

    def wake(self, parameters: torch.Tensor, noise: StartingNoise, steps: int) -> GoalScores:
        """Climbs a while, where little answers yet, as if ReLUs let slopes through, nothing held against it.
        Noise is no measure for these: they are scored by what they answer once awake."""
        still = (noise.activations == noise.activations.amin(1, keepdim=True)).float().mean(1) > 0.5
        silent = still.nonzero().flatten().tolist()  # most noise leaves them at one value: behind a ReLU rarely on
        scored = noise.scored
        if not silent or not steps:
            return scored
        # Of a channel its middle alone, since over all positions the slopes of an edge cancel.
        goals = [scored.goals[place] for place in silent]
        goals = [Goal("unit", goal.index) if goal.kind == "channel" else goal for goal in goals]
        some = parameters[silent]
        # ReLUs that let a slope through while they are silent, if it would raise their input.
        with OtherReLUs(lambda positive, slope: torch.where(positive | (slope > 0), slope, 0.0)):
            calm = replace(self, total_variation=0.0, l2=0.0)
            calm.up(some, replace(scored, goals=goals, units=scored.units[silent]), min(steps, _WAKING))
        parameters[silent] = some
        units = scored.units.clone()
        now = scored.rewards(self.output(self.shown(parameters)).detach()) * units
        units[silent] = torch.where(now > 0, now, units)[silent]
        return replace(scored, units=units)

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


# How far images have come for their goals, measured by what noise gives.
@dataclass(frozen=True)
class GoalScores:
    """Goals measured on outputs of one layer."""

    goals: Sequence[Goal]
    layout: UnitLayout
    usual: torch.Tensor  # [C], what each channel has on average for noise
    units: torch.Tensor  # [goals], rewards count in these: what noise gets, so that weights fit every layer

    def rewards(self, output: torch.Tensor) -> torch.Tensor:
        """[goals], each for its own image."""
        both = zip(self.goals, *_arranged(self.layout, output, len(self.goals)), strict=True)
        return torch.stack([goal.reward(own, channels, self.usual) for goal, own, channels in both]) / self.units

    def activations(self, output: torch.Tensor) -> torch.Tensor:
        """[goals], each of its own image."""
        both = zip(self.goals, *_arranged(self.layout, output, len(self.goals)), strict=True)
        return torch.stack([goal.activation(own, channels) for goal, own, channels in both])


def _arranged(layout: UnitLayout, output: torch.Tensor, images: int) -> tuple[torch.Tensor, torch.Tensor]:
    return layout.by_example(output, images), layout.by_channel(output, images)


@dataclass(frozen=True)
class StartingNoise:
    """Where climbing begins: noise, and what the layer makes of it."""

    parameters: torch.Tensor
    activations: torch.Tensor  # [goals, images of noise]
    scored: GoalScores

    def best(self) -> torch.Tensor:
        """Of some noise, the one for each goal: where a ReLU is silent, no slope leads away."""
        return self.parameters[self.activations.argmax(1)]


def measured_noise(
    drawn: torch.Tensor, output: torch.Tensor, goals: Sequence[Goal], layout: UnitLayout
) -> StartingNoise:
    """`output` is what the layer gives for the images of this noise."""
    own, by_channel = _arranged(layout, output, len(drawn))
    numbers = by_channel.float()
    usual = numbers.movedim(1, 0).flatten(1).mean(1)
    found = torch.stack(
        [torch.stack([goal.reward(*one, usual) for one in zip(own, numbers, strict=True)]) for goal in goals]
    )
    average = torch.tensor([goal.kind in ("channel", "layer") for goal in goals], device=found.device)
    units = torch.where(average, found.mean(1), found.std(1))
    spread = numbers.std()
    units = torch.where(units > 0, units, torch.where(spread > 0, spread, 1.0))
    activations = torch.stack(
        [torch.stack([goal.activation(*one) for one in zip(own, by_channel, strict=True)]) for goal in goals]
    )
    return StartingNoise(drawn, activations, GoalScores(goals, layout, usual, units))


ValueRange = tuple[float, float]
_USUAL = (-2.5, 2.5)  # of photographs that were normalised by mean and standard deviation
_SOME = 64  # samples of a dataset
_WANTED = "`like` to be a batch as the model takes it"
INTEGERS = (
    "this model takes whole numbers (tokens), which no gradient can change: "
    "pictures.top_examples(model, loader, layer, unit) shows which of your examples excite a unit most."
)


@dataclass(frozen=True)
class ImageSlot:
    """`filled(images)` are the inputs of the model with these images; all else as the user gave it."""

    given: MainInput
    behind: bool  # channels come last: a series [B, T, F]

    def filled(self, images: torch.Tensor) -> Any:
        placed = (images.movedim(1, -1) if self.behind else images).to(self.given.tensor.dtype)
        return self.given.exchanged_for(placed, torch.zeros(len(images), dtype=torch.long))

    def images(self, value_range: ValueRange | None) -> FourierImages:
        """In the range of each channel, as far as what was given tells it."""
        known = self.given.tensor.detach().float()
        by_channel = known.movedim(-1, 1) if self.behind else known
        flat = by_channel.movedim(1, 0).flatten(1)  # [C, everything]
        low, high, middle = flat.amin(1), flat.amax(1), flat.mean(1)
        if value_range is not None:
            low, high = torch.full_like(low, value_range[0]), torch.full_like(low, value_range[1])
        tells = (high > low) & torch.isfinite(high - low)
        low, high = torch.where(tells, low, _USUAL[0]), torch.where(tells, high, _USUAL[1])
        middle = torch.where((middle > low) & (middle < high), middle, (low + high) / 2)
        column = (-1, *(1,) * (by_channel.dim() - 2))
        size = tuple(by_channel.shape[1:])
        return FourierImages(size, low.reshape(column), high.reshape(column), middle.reshape(column))


def image_slot(model: nn.Module, input_size: Sequence[int], like: Any) -> ImageSlot:
    size = tuple(input_size)
    if like is not None:
        model_input = _input_like(model, like)
    elif not size or any(not isinstance(length, int) or length < 1 for length in size):
        raise UsageError(f"input_size is that of one example, such as (3, 64, 64), but it is {size}.")
    else:
        image = torch.zeros(1, *size)
        weight = next((value for value in model.parameters() if value.is_floating_point()), image)
        image = image.to(weight.device, weight.dtype)
        model_input = MainInput(image, image)
    first = first_known(model)
    if isinstance(first, _ConvNd) and model_input.tensor.dim() == len(first.kernel_size) + 1:
        model_input = with_batch_of_one(model_input)
    return ImageSlot(model_input, takes_series(model, model_input.tensor))


def _input_like(model: nn.Module, like: Any) -> MainInput:
    inputs = without_labels(model, take_batch(like, _SOME))
    model_input = main_input(model, inputs, lambda each: each.dim() > 1, _WANTED)
    if model_input.tensor.is_floating_point():
        return model_input
    if model_input.tensor.dtype != torch.uint8 or model_input.tensor.dim() < 3:
        raise UsageError(INTEGERS)
    # pixels of 0 to 255 are no tokens: they are climbed as numbers with a fraction
    pixels = model_input.tensor.float()
    return MainInput(exchanged(model_input.inputs, lambda each: pixels if each is model_input.tensor else each), pixels)


def refuse_tokens(module: nn.Module, arguments: tuple[Any, ...]) -> None:
    """A hook before an embedding: it would say the same in other words."""
    if arguments and isinstance(arguments[0], torch.Tensor) and arguments[0].is_floating_point():
        raise UsageError(INTEGERS)


# Images as sums of waves: what is climbed are the waves' strengths, so that all scales grow alike.
#
# Pixels climbed one by one give static. Here a wave of frequency f weighs 1/f, as in photographs, and three colours
# are mixed from brightness and two opponents, which in photographs are independent and ever weaker (Ruderman, Cronin
# and Chiao 1998). A sigmoid keeps every value inside the range that the model knows.

# rows red, green, blue; columns brightness, blue against yellow, red against green
_OPPONENTS = torch.tensor([[0.577, 0.408, 0.707], [0.577, 0.408, -0.707], [0.577, -0.816, 0.0]])
_STRENGTHS = torch.tensor([1.0, 0.45, 0.3])


@dataclass(frozen=True)
class FourierImages:
    """Parameters [N, C, frequencies ..., 2] to images [N, C, size ...]; a vector [F] has no waves."""

    size: tuple[int, ...]  # of one image: C, then its lengths
    low: torch.Tensor  # [C, 1 ...], as the others
    high: torch.Tensor
    middle: torch.Tensor  # what a flat image has

    @property
    def lengths(self) -> tuple[int, ...]:
        return self.size[1:]

    def parameters(self, count: int, contrast: float, generator: torch.Generator) -> torch.Tensor:
        """Noise as photographs have it; drawn on the CPU, so that every device begins with the same."""
        waves = (*self._frequencies().shape, 2) if self.lengths else ()
        shape = (count, self.size[0], *waves)
        return contrast * torch.randn(shape, generator=generator).to(self.low.device)

    def waves(self, parameters: torch.Tensor) -> torch.Tensor:
        """Before the range: about as spread as the parameters are, with mean 0."""
        if not self.lengths:
            return parameters
        weights = 1 / self._frequencies().clamp(min=1 / max(self.lengths))
        weights = weights / weights.square().mean().sqrt() * math.sqrt(0.5)  # real and imaginary part
        spectrum = torch.view_as_complex(parameters) * weights
        axes = tuple(range(-len(self.lengths), 0))
        summed: torch.Tensor = torch.fft.irfftn(spectrum, s=self.lengths, dim=axes, norm="ortho")
        if len(self.size) != 3 or self.size[0] != 3:
            return summed
        mixed = _OPPONENTS * _STRENGTHS / _STRENGTHS.square().mean().sqrt()
        return torch.einsum("rc,nchw->nrhw", mixed.to(summed.device), summed)

    def in_range(self, waves: torch.Tensor) -> torch.Tensor:
        share = (self.middle - self.low) / (self.high - self.low)
        offset = torch.logit(share.clamp(0.05, 0.95))
        return self.low + (self.high - self.low) * torch.sigmoid(waves + offset)

    def _frequencies(self) -> torch.Tensor:
        """In cycles per pixel, of the half spectrum of real images."""
        device = self.low.device
        sides = [torch.fft.fftfreq(length, device=device) for length in self.lengths[:-1]]
        sides.append(torch.fft.rfftfreq(self.lengths[-1], device=device))
        return torch.stack(torch.meshgrid(*sides, indexing="ij")).square().sum(0).sqrt()


# Small random shifts, turns and zooms: what is to stay strong under them must be a form, not static.
@dataclass(frozen=True)
class SmallMoves:
    """`shift` and `zoom` are shares of the size, `turn` is in degrees; each is the most there is."""

    shift: float
    turn: float
    zoom: float
    generator: torch.Generator

    def __call__(self, images: torch.Tensor) -> torch.Tensor:
        """All images are moved alike; what comes in at the border is mirrored."""
        if images.dim() == 4:
            return self._sampled(images, turn=self.turn)
        if images.dim() == 3:  # a signal is an image one pixel high
            return self._sampled(images.unsqueeze(2), turn=0.0, height=1).squeeze(2)
        if images.dim() < 3:
            return images
        axes = range(2, images.dim())
        steps = [round(self.shift * images.shape[axis] * self._draws(1)[0]) for axis in axes]
        return torch.roll(images, steps, tuple(axes))

    def _sampled(self, images: torch.Tensor, turn: float, height: int | None = None) -> torch.Tensor:
        shift_y, shift_x, turned, zoomed = self._draws(4)
        angle, zoom = math.radians(turn * turned), 1 + self.zoom * zoomed
        wide = images.shape[-1] / images.shape[-2] if height is None else 1.0  # turns keep right angles
        cosine, sine = math.cos(angle) * zoom, math.sin(angle) * zoom
        moved_y = 2 * self.shift * shift_y if height is None else 0.0
        rows = [[cosine, -sine / wide, 2 * self.shift * shift_x], [sine * wide, cosine, moved_y]]
        theta = torch.tensor(rows, device=images.device, dtype=images.dtype).expand(len(images), 2, 3)
        grid = functional.affine_grid(theta, list(images.shape), align_corners=False)
        return functional.grid_sample(images, grid, padding_mode="reflection", align_corners=False)

    def _draws(self, count: int) -> list[float]:
        """Between -1 and 1."""
        drawn: list[float] = (2 * torch.rand(count, generator=self.generator) - 1).tolist()
        return drawn
