"""The place of an image among a model's inputs, and the values that images have there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.nn.modules.conv import _ConvNd

from torch_debugger.anatomy.nested import exchanged
from torch_debugger.errors import UsageError
from torch_debugger.pictures.batches.taking import take_batch
from torch_debugger.pictures.embedding.batches import without_labels
from torch_debugger.pictures.main_input import MainInput, main_input, with_batch_of_one
from torch_debugger.pictures.maximizing.fourier_images import FourierImages
from torch_debugger.pictures.units.channel_axes import first_known, takes_series

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
    given = _made_up(model, tuple(input_size)) if like is None else _as_given(model, like)
    first = first_known(model)
    if isinstance(first, _ConvNd) and given.tensor.dim() == len(first.kernel_size) + 1:
        given = with_batch_of_one(given)
    return ImageSlot(given, takes_series(model, given.tensor))


def _made_up(model: nn.Module, size: tuple[int, ...]) -> MainInput:
    if not size or any(not isinstance(length, int) or length < 1 for length in size):
        raise UsageError(f"input_size is that of one example, such as (3, 64, 64), but it is {size}.")
    image = torch.zeros(1, *size)
    first = next((value for value in model.parameters() if value.is_floating_point()), image)
    image = image.to(first.device, first.dtype)
    return MainInput(image, image)


def _as_given(model: nn.Module, like: Any) -> MainInput:
    inputs = without_labels(model, take_batch(like, _SOME))
    given = main_input(model, inputs, lambda each: each.dim() > 1, _WANTED)
    if given.tensor.is_floating_point():
        return given
    if given.tensor.dtype != torch.uint8 or given.tensor.dim() < 3:
        raise UsageError(INTEGERS)
    # pixels of 0 to 255 are no tokens: they are climbed as numbers with a fraction
    pixels = given.tensor.float()
    return MainInput(exchanged(given.inputs, lambda each: pixels if each is given.tensor else each), pixels)


def refuse_tokens(module: nn.Module, given: tuple[Any, ...]) -> None:
    """A hook before an embedding: it would say the same in other words."""
    if given and isinstance(given[0], torch.Tensor) and given[0].is_floating_point():
        raise UsageError(INTEGERS)
