"""Small models of every architecture that people build, with an input for each.

for name, architecture in ARCHITECTURES.items():
    model, (arguments, keywords) = architecture.model(), architecture.inputs()
    model(*arguments, **keywords)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import nn

from tests.anatomy.models import sequences, unusual, vision

Shape = tuple[int, ...]


class Architecture(NamedTuple):
    make: Callable[[], nn.Module]
    sizes: tuple[Shape, ...] | dict[str, Shape]  # a dictionary: the keywords of forward
    words: int = 0  # how many tokens there are; without any, inputs are float

    def model(self) -> nn.Module:
        """The same weights each time; the process's own random numbers stay where they are."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(7)
            return self.make()

    def inputs(self) -> tuple[tuple[torch.Tensor, ...], dict[str, torch.Tensor]]:
        """Positional and keyword arguments of forward."""
        draw = torch.Generator().manual_seed(3)
        if isinstance(self.sizes, dict):
            return (), {name: self._tensor(size, draw) for name, size in self.sizes.items()}
        return tuple(self._tensor(size, draw) for size in self.sizes), {}

    def call(self, model: nn.Module) -> Any:
        arguments, keywords = self.inputs()
        return model(*arguments, **keywords)

    def _tensor(self, size: Shape, draw: torch.Generator) -> torch.Tensor:
        if self.words:
            return torch.randint(self.words, size, generator=draw)
        return torch.randn(size, generator=draw)


_IMAGE = ((2, 3, 32, 32),)

ARCHITECTURES = {
    "mlp": Architecture(unusual.MLP, ((2, 8),)),
    "lenet": Architecture(vision.LeNet, ((2, 1, 28, 28),)),
    "alexnet": Architecture(vision.AlexNet, ((2, 3, 64, 64),)),
    "vgg": Architecture(vision.VGG, _IMAGE),
    "resnet18": Architecture(vision.resnet18, _IMAGE),
    "resnet50": Architecture(vision.resnet50, _IMAGE),
    "densenet": Architecture(vision.DenseNet, _IMAGE),
    "mobilenet": Architecture(vision.MobileNet, _IMAGE),
    "efficientnet": Architecture(vision.efficientnet, _IMAGE),
    "inception": Architecture(vision.Inception, _IMAGE),
    "unet": Architecture(vision.UNet, _IMAGE),
    "autoencoder": Architecture(vision.Autoencoder, ((2, 1, 16, 16),)),
    "vae": Architecture(vision.VAE, ((2, 1, 8, 8),)),
    "generator": Architecture(vision.Generator, ((2, 10, 1, 1),)),
    "discriminator": Architecture(vision.Discriminator, ((2, 3, 16, 16),)),
    "vit": Architecture(vision.ViT, ((2, 3, 16, 16),)),
    "swin": Architecture(vision.Swin, ((2, 3, 16, 16),)),
    "convnext": Architecture(vision.ConvNeXt, _IMAGE),
    "video": Architecture(vision.VideoNet, ((2, 3, 4, 8, 8),)),
    "lstm": Architecture(sequences.TextLSTM, ((2, 7),), words=50),
    "bilstm": Architecture(sequences.bilstm, ((2, 7),), words=50),
    "gru": Architecture(sequences.SeriesGRU, ((7, 2, 4),)),
    "lstm-cells": Architecture(sequences.ByCells, ((2, 5, 4),)),
    "seq2seq": Architecture(sequences.Seq2Seq, ((2, 7), (2, 5)), words=30),
    "encoder": Architecture(sequences.TextEncoder, ((2, 7),), words=50),
    "translator": Architecture(sequences.Translator, ((2, 7), (2, 5)), words=30),
    "gpt": Architecture(sequences.GPT, ((2, 9),), words=60),
    "llama": Architecture(sequences.Llama, ((2, 9),), words=60),
    "experts": Architecture(sequences.MixtureOfExperts, ((2, 9, 8),)),
    "bag-of-words": Architecture(sequences.BagOfWords, ((6,), (2,)), words=1),
    "wavenet": Architecture(sequences.WaveNet, ((2, 4, 20),)),
    "siamese": Architecture(unusual.Siamese, ((2, 1, 8, 8), (2, 1, 8, 8))),
    "shared-module": Architecture(unusual.SharedModule, ((2, 8),)),
    "tied": Architecture(unusual.TiedEmbeddings, ((2, 5),), words=20),
    "recursive": Architecture(unusual.Recursive, ((2, 8),)),
    "dict-output": Architecture(unusual.DictOutput, ((2, 3, 8, 8),)),
    "dataclass-output": Architecture(unusual.DataclassOutput, ((2, 8),)),
    "keywords": Architecture(
        unusual.KeywordsOnly, {"input_ids": (2, 6), "attention_mask": (2, 6)}, words=30
    ),
    "functional": Architecture(unusual.FunctionalOnly, ((2, 8),)),
    "multi-input": Architecture(unusual.MultiInput, ((2, 3, 8, 8), (2, 5))),
    "own-parameters": Architecture(unusual.HoldsParameters, ((2, 8),)),
    "never-called": Architecture(unusual.NeverCalled, ((2, 8),)),
    "frozen": Architecture(unusual.Frozen, ((2, 3, 8, 8),)),
}  # fmt: skip
