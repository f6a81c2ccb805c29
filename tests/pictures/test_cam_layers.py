"""Which layer is looked at when none is named, and how its tokens become places of the image."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from tests.pictures.cam_models import ResidualNet, WindowTransformer
from tests.pictures.models import Convolutional, Segmenting, VisionTransformer, images, seeded
from tests.untouched_models import model_untouched
from torch_debugger import pictures
from torch_debugger.pictures.token_grids import grid_of


class Encoder(nn.Module):
    """A ViT of many forms: other tokens in front, images that are not square, sequence first, norms last."""

    def __init__(
        self,
        extra: int = 1,
        size: tuple[int, int] = (16, 16),
        patch: int = 4,
        batch_first: bool = True,
        norm_first: bool = True,
    ) -> None:
        super().__init__()
        self.patch = nn.Conv2d(3, 16, patch, stride=patch)
        self.extra = nn.Parameter(torch.randn(1, extra, 16))
        layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=batch_first, norm_first=norm_first)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(16, 4)
        self.batch_first = batch_first

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        tokens = self.patch(x).flatten(2).transpose(1, 2)
        tokens = torch.cat([self.extra.expand(len(x), -1, -1), tokens], dim=1)
        if not self.batch_first:
            return self.head(self.encoder(tokens.transpose(0, 1)).mean(0))
        return self.head(self.encoder(tokens)[:, 0] if self.extra.shape[1] else self.encoder(tokens).mean(1))


CHOSEN = [
    (Convolutional, "conv2"),
    (ResidualNet, "layer3"),
    (VisionTransformer, "encoder.layers.1.norm1"),
    (WindowTransformer, "stage2.1.norm1"),
    (Segmenting, "up"),  # its last convolution gives the scores themselves
]


@pytest.mark.parametrize(("maker", "layer"), CHOSEN)
def test_the_last_layer_that_knows_places_is_chosen_and_named(maker: type[nn.Module], layer: str) -> None:
    found = pictures.class_activation(seeded(maker), images())
    assert found.layer == layer and found.title == f"Grad-CAM at {layer}"
    assert found.maps.any()


class Branches(nn.Module):
    """Convolutions that are defined in another order than they are called, and concatenated."""

    def __init__(self) -> None:
        super().__init__()
        self.right, self.left = nn.Conv2d(3, 4, 3, padding=1), nn.Conv2d(3, 4, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cat([self.left(x), self.right(x)], dim=1).relu()


def test_branches_are_seen_together_and_pooling_is_left_outside() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.last = nn.Conv2d(8, 8, 3, padding=1)
            self.features = nn.Sequential(nn.Sequential(Branches(), nn.BatchNorm2d(8)), nn.MaxPool2d(2))
            self.head = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 3))
            self.late = False

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            maps = self.features(x)
            return self.head(self.last(maps) if self.late else maps)

    model = seeded(Net)
    assert pictures.class_activation(model, images()).layer == "features.0"
    model.late = True
    with model_untouched(model):
        assert pictures.class_activation(model, images()).layer == "last"


def test_a_convolution_that_is_not_run_or_has_no_places_is_passed_by() -> None:
    class Squeezing(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.features = nn.Conv2d(3, 8, 3)
            self.squeeze = nn.Conv2d(8, 8, 1)  # on pooled maps
            self.auxiliary = nn.Conv2d(8, 2, 1)  # in training only
            self.fc = nn.Linear(8, 3)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x = self.features(x)
            return self.fc((x * self.squeeze(x.mean((2, 3), keepdim=True)).sigmoid()).mean((2, 3)))

    assert pictures.class_activation(seeded(Squeezing), images()).layer == "features"


def test_an_auxiliary_head_and_the_scores_of_all_places_are_passed_by() -> None:
    """As segmenting models are built: scores of a smaller size, enlarged, beside those of a second head."""

    class Heads(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.backbone = nn.Conv2d(3, 8, 3, stride=2, padding=1)
            self.classifier = nn.Conv2d(8, 5, 1)
            self.aux_classifier = nn.Conv2d(8, 5, 1)

        def forward(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
            features = self.backbone(x).relu()
            heads = {"out": self.classifier(features), "aux": self.aux_classifier(features)}
            return {name: nn.functional.interpolate(each, x.shape[2:]) for name, each in heads.items()}

    assert pictures.class_activation(seeded(Heads), images()).layer == "backbone"


def test_where_norms_come_last_the_norm_before_the_last_attention_is_chosen() -> None:
    """Behind the last attention only the class token has a gradient."""
    model = seeded(lambda: Encoder(norm_first=False))  # type: ignore[arg-type]
    assert pictures.class_activation(model, images()).layer == "encoder.layers.0.norm2"
    named = pictures.class_activation(model, images(), "encoder.layers.1.norm1")
    assert not named.maps.any()
    assert named.note == "All gradients are zero: this layer does not change the score."


FORMS: list[dict[str, Any]] = [
    {},
    {"extra": 0},
    {"extra": 2},
    {"extra": 5},
    {"size": (16, 24)},
    {"size": (24, 16), "extra": 2},
    {"size": (18, 21)},
    {"batch_first": False},
]


@pytest.mark.parametrize("method", ["gradcam", "ablationcam"])
@pytest.mark.parametrize("form", FORMS, ids=str)
def test_tokens_are_laid_out_as_they_were_cut(form: dict[str, Any], method: str) -> None:
    model = seeded(lambda: Encoder(**form))  # type: ignore[arg-type]
    high, wide = form.get("size", (16, 16))
    given = torch.randn(2, 3, high, wide, generator=torch.Generator().manual_seed(3))
    extra = form.get("extra", 1)

    def by_hand(tokens: torch.Tensor) -> torch.Tensor:
        tokens = tokens if form.get("batch_first", True) else tokens.transpose(0, 1)
        return tokens[:, extra:].reshape(2, high // 4, wide // 4, 16).permute(0, 3, 1, 2)

    layer = "encoder.layers.1.norm1"
    found = pictures.class_activation(model, given, layer, target=1, method=method)
    assert found.raw.shape == (2, high // 4, wide // 4)
    if method == "gradcam":
        told = pictures.class_activation(model, given, layer, target=1, method=method, reshape=by_hand)
        np.testing.assert_array_equal(found.maps, told.maps)


@pytest.mark.parametrize(
    ("tokens", "size", "grid"),
    [
        (197, (224, 224), (14, 14)),  # ViT-B/16
        (198, (224, 224), (14, 14)),  # DeiT, with a distillation token
        (261, (224, 224), (16, 16)),  # DINOv2, with four registers
        (50, (224, 224), (7, 7)),  # ViT-B/32
        (49, (224, 224), (7, 7)),  # Swin, without a class token
        (577, (384, 384), (24, 24)),
        (1201, (480, 640), (30, 40)),
        (285, (224, 320), (14, 20)),
    ],
)
def test_the_grids_of_known_models_are_found(tokens: int, size: tuple[int, int], grid: tuple[int, int]) -> None:
    tensor = torch.arange(tokens).float().view(1, -1, 1).expand(1, -1, 3)
    found = grid_of(tensor, nn.Identity(), 1, size)
    assert found is not None
    laid_out = found.reshape(tensor)
    assert laid_out.shape == (1, 3, *grid)
    assert laid_out[0, 0, -1, -1] == tokens - 1 and laid_out[0, 0, 0, 1] == laid_out[0, 0, 0, 0] + 1


def test_channels_are_found_first_and_last() -> None:
    swin, cnn = torch.zeros(2, 7, 7, 96), torch.zeros(2, 96, 7, 7)
    for tensor in (swin, cnn):
        found = grid_of(tensor, nn.Identity(), 2, (224, 224))
        assert found is not None and found.reshape(tensor).shape == (2, 96, 7, 7)
    square = torch.zeros(2, 7, 7, 7)
    assert grid_of(square, nn.LayerNorm(7), 2, (224, 224)).channel_axis == 3  # type: ignore[union-attr]
    assert grid_of(square, nn.Conv2d(1, 1, 1), 2, (224, 224)).channel_axis == 1  # type: ignore[union-attr]
