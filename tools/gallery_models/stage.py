"""Everything that the gallery's entries may ask for by name: models, trained when first asked for, and data."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import torch
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

from gallery_models.language import LETTERS, LetterModel, as_tokens, stretches, trained_letters
from gallery_models.segmentation import UNet, trained_unet
from gallery_models.shapes import NAMES, ShapeNet, drawn, trained_shape_net
from gallery_models.training import recorded
from gallery_models.vision_transformer import ShapeTransformer, trained_transformer

_SENTENCE = "the owl hunts there. the cat sits here."


@dataclass(frozen=True)
class Stage:
    share: float = 1.0  # of the training; little of it for tests of the entries

    def steps(self, whole: int) -> int:
        return max(2, round(whole * self.share))

    @functools.cached_property
    def cnn(self) -> ShapeNet:
        return trained_shape_net(self.steps(200))

    @functools.cached_property
    def vit(self) -> ShapeTransformer:
        return trained_transformer(self.steps(400))

    @functools.cached_property
    def letters(self) -> LetterModel:
        return trained_letters(self.steps(300))

    @functools.cached_property
    def unet(self) -> UNet:
        return trained_unet(self.steps(120))

    @functools.cached_property
    def data(self) -> TensorDataset:
        return TensorDataset(*drawn(512, seed=2))

    @functools.cached_property
    def loader(self) -> DataLoader[tuple[torch.Tensor, ...]]:
        return DataLoader(self.data, batch_size=64)

    @functools.cached_property
    def some(self) -> torch.Tensor:
        """One image of each kind."""
        images, labels = self.data.tensors
        return torch.stack([images[labels.tolist().index(number)] for number in range(len(NAMES))])

    @property
    def names(self) -> tuple[str, ...]:
        return NAMES

    @property
    def alphabet(self) -> tuple[str, ...]:
        return LETTERS

    @property
    def sentence(self) -> str:
        return _SENTENCE

    @functools.cached_property
    def tokens(self) -> torch.Tensor:
        return as_tokens(_SENTENCE)[None]

    @functools.cached_property
    def sentences(self) -> DataLoader[tuple[torch.Tensor, ...]]:
        return DataLoader(TensorDataset(stretches(256, seed=2)), batch_size=64)

    @functools.cached_property
    def losses(self) -> dict[str, list[float]]:
        """Of a training and of its validation."""
        images, labels = drawn(64 * 24, seed=1)
        unseen, truth = drawn(256, seed=3)
        kept = recorded(ShapeNet, functional.cross_entropy, (images, labels), (unseen, truth), self.steps(120))
        return {"training": kept[0], "validation": kept[1]}
