"""The image that excites a channel, a unit, a logit or a layer most: climbed from noise."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import nn

from torch_debugger.errors import UsageError
from torch_debugger.pictures.gradient_runs import for_gradients
from torch_debugger.pictures.maximizing.climbing import Climb
from torch_debugger.pictures.maximizing.drawing import Climbed, climbed_picture
from torch_debugger.pictures.maximizing.goals import Goal, Which, asked_goals, checked_goals
from torch_debugger.pictures.maximizing.image_slots import (
    INTEGERS,
    ImageSlot,
    ValueRange,
    image_slot,
    refuse_tokens,
)
from torch_debugger.pictures.maximizing.progress_bars import progress_bar
from torch_debugger.pictures.maximizing.small_moves import SmallMoves
from torch_debugger.pictures.picture import Picture
from torch_debugger.pictures.runs_of_models import Layer
from torch_debugger.pictures.units.channel_axes import first_known
from torch_debugger.pictures.units.reached_layers import ReachedLayer, reach

_AT_ONCE = 16  # images: more are climbed in turn, so that memory stays bounded


def maximize(
    model: nn.Module,
    layer: Layer = "",
    unit: Which | None = None,
    *,
    channel: int | Iterable[int] | None = None,
    channels: Iterable[int] | None = None,
    logit: int | Iterable[int] | None = None,
    input_size: Sequence[int] = (3, 64, 64),
    like: Any = None,
    value_range: ValueRange | None = None,
    steps: int = 256,
    shift: float = 1 / 16,
    turn: float = 8.0,
    zoom: float = 0.1,
    total_variation: float = 2.0,
    l2: float = 0.1,
    seed: int = 0,
) -> Picture:
    """Images, climbed from noise, that a part of the model answers to as strongly as it can.

        pictures.maximize(model, "layer2.0.conv1", channels=range(16), like=images).save("wants.png")
        pictures.maximize(model, logit=[3, 7], like=images)          # what a class looks like to the model
        pictures.maximize(model, "conv1", 5)                         # channel 5, as channel=5
        pictures.maximize(model, "conv1", (5, 8, 8))                 # its unit at row 8, column 8, as unit=
        pictures.maximize(model, "layer3", input_size=(3, 128, 128)) # the whole layer, as in deep dream
        pictures.maximize(model, "conv1", channel=0, input_size=(1, 400))   # a signal

    `like` is a batch as the model takes it (other inputs stay as they are in it), with or without labels, or
    the loader that gives it: it tells size and range of values. Without it images have `input_size` and, unless
    `value_range` says otherwise, values of -2.5 to 2.5. Each step moves the images a little (`shift` and `zoom`
    as shares of the size, `turn` in degrees) and holds `total_variation` and `l2` against them; 0 switches each
    off. The forward ends at the layer, the model is left as it was, and the same seed gives the same images.
    The arrays that come back: `images`, `activations` (of a channel at its strongest position) and `noise`, the
    strongest that the same part gave for noise.
    """
    goals = asked_goals(unit, channel, channels, logit)
    if steps < 0:
        raise UsageError(f"steps is how often the images are changed, but it is {steps}.")
    with for_gradients(model) as inner:
        slot = image_slot(inner, input_size, like)
        images = slot.images(value_range)
        generator = torch.Generator().manual_seed(seed)
        tried = images.in_range(images.waves(images.parameters(2, 1.0, generator))).requires_grad_()
        reached = _reach(inner, layer, slot, tried, like is None)
        goals = checked_goals(goals, reached.cut.path, reached.output, reached.layout)
        moves = SmallMoves(shift, turn, zoom, generator)
        climbed = _climb(Climb(reached, slot, images, moves, total_variation, l2), goals, steps, seed)
    return climbed_picture(reached.cut.path, goals, climbed)


def _reach(
    model: nn.Module, layer: Layer, slot: ImageSlot, images: torch.Tensor, made_up: bool
) -> ReachedLayer:
    """An input of our own making that does not fit is our fault, not the model's."""
    embeddings = [each for each in model.modules() if isinstance(each, (nn.Embedding, nn.EmbeddingBag))]
    handles = [each.register_forward_pre_hook(refuse_tokens) for each in embeddings]
    try:
        return reach(model, layer, slot.filled(images[:1]), slot.filled(images))
    except UsageError:
        raise
    except Exception as error:
        if not made_up:
            raise
        if isinstance(first_known(model), nn.Embedding):
            raise UsageError(INTEGERS) from error
        size, why = tuple(images.shape[1:]), str(error).rstrip(".")
        raise UsageError(
            f"the model cannot take an input of size {size}: {type(error).__name__}: {why}. "
            "Give like=, a batch as the model takes it, or another input_size."
        ) from error
    finally:
        for handle in handles:
            handle.remove()


def _climb(climb: Climb, goals: Sequence[Goal], steps: int, seed: int) -> Climbed:
    """Each group begins with the same noise and is moved alike: a goal gets the same in any company, but for
    rounding."""
    groups = [goals[start : start + _AT_ONCE] for start in range(0, len(goals), _AT_ONCE)]
    found = []
    with progress_bar(f"climbing for {climb.reached.cut.path or 'the output'}", steps * len(groups)) as tick:
        for group in groups:
            climb.moves.generator.manual_seed(seed)
            noise = climb.noise(group, climb.moves.generator)
            parameters = noise.best()
            scored = climb.wake(parameters, noise, steps)
            climb.up(parameters, scored, steps, tick)
            images = climb.shown(parameters).detach()
            activations = scored.activations(climb.output(images).detach())
            found.append(Climbed(climb.images, images, activations, noise.activations))
    return Climbed.joined(found)
