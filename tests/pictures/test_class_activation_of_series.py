"""Class activation of series: the numbers of the same model built for images of one row."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from tests.pictures.goldens import assert_as_looked_at
from tests.pictures.models import Convolutional, seeded
from tests.untouched_models import model_untouched
from torch_debugger import pictures
from torch_debugger.pictures.gradcam_methods import METHODS
from torch_debugger.system.errors import UsageError


class Waves(nn.Module):
    """Two blocks, a norm between them and one behind the pooling, which knows no places."""

    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv1d(2, 6, 5, padding=2), nn.BatchNorm1d(6), nn.ReLU(), nn.Conv1d(6, 8, 5, 2, 2), nn.ReLU()
        )
        self.norm = nn.BatchNorm1d(8)
        self.head = nn.Linear(8, 4)
        nn.init.normal_(self.features[1].running_mean, std=0.2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.norm(self.features(x).mean(2)))


class OfOneRow(nn.Module):
    """The same weights for images."""

    def __init__(self, waves: Waves) -> None:
        super().__init__()
        norm = nn.BatchNorm2d(6)
        norm.load_state_dict(waves.features[1].state_dict())
        first, last = waves.features[0], waves.features[3]
        self.features = nn.Sequential(self.widened(first), norm, nn.ReLU(), self.widened(last), nn.ReLU())
        self.norm, self.head = waves.norm, waves.head

    @staticmethod
    def widened(one: Any) -> nn.Conv2d:
        size, stride, padding = (1, one.kernel_size[0]), (1, one.stride[0]), (0, one.padding[0])
        made = nn.Conv2d(one.in_channels, one.out_channels, size, stride, padding)
        made.weight.data, made.bias.data = one.weight.data.unsqueeze(2), one.bias.data
        return made

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.norm(self.features(x).mean((2, 3))))


def waves(count: int = 3, places: int = 48) -> torch.Tensor:
    return torch.randn(count, 2, places, generator=torch.Generator().manual_seed(3))


@pytest.mark.parametrize("method", METHODS)
def test_maps_are_those_of_the_same_model_for_images_of_one_row(method: str) -> None:
    model, given = seeded(Waves).eval(), waves()
    with model_untouched(model, given):
        found = pictures.class_activation(model, given, target=2, method=method)
    twin = pictures.class_activation(OfOneRow(model).eval(), given.unsqueeze(2), target=2, method=method)
    assert found.maps.shape == (3, 48) and found.layer == twin.layer
    np.testing.assert_allclose(found.maps, twin.maps[:, 0], atol=2e-6)
    np.testing.assert_allclose(found.raw, twin.raw.squeeze(-2), atol=2e-6)
    np.testing.assert_allclose(found.scores, twin.scores, rtol=1e-5)


def test_a_single_series_and_a_layer_by_its_name_are_taken() -> None:
    model, given = seeded(Waves), waves()
    one = pictures.gradcam(model, given[1], "features.0", target=0)
    assert one.maps.shape == (1, 48)
    np.testing.assert_allclose(one.maps[0], pictures.gradcam(model, given, "features.0", target=0).maps[1], atol=1e-6)
    heat = pictures.GradCAM(model, "features").generate_cam(given[:1], target_class=1)
    assert heat.shape == (48,)


class Attending(nn.Module):
    """As models of sound: convolutions, then a transformer with its channels last."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv1d(2, 8, 4, stride=4)
        self.layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        self.head = nn.Linear(8, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.layer(self.conv(x).transpose(1, 2)).mean(1))


def test_layers_with_their_channels_last_are_seen_along_the_series() -> None:
    model, given = seeded(Attending).eval(), waves()
    last = pictures.gradcam(model, given, "layer", target=1)
    moved = pictures.gradcam(model, given, "layer", target=1, reshape=lambda each: each.transpose(1, 2))
    assert last.raw.shape == (3, 12)
    np.testing.assert_array_equal(last.maps, moved.maps)


def test_what_does_not_fit_a_series_is_told() -> None:
    model = seeded(Waves)
    with pytest.raises(UsageError, match=r"expected series, \[examples, channels, places\], but got \[3, 48\]"):
        pictures.gradcam(model, waves()[:, 0])
    with pytest.raises(UsageError, match=r"layer `head` gives \[3, 4\], without places of the series: expected"):
        pictures.gradcam(model, waves(), "head")
    with pytest.raises(UsageError, match="mean=, std=, background= are for images, but the input is a series"):
        pictures.gradcam(model, waves(), mean=(0.5,), std=(0.5,))
    with pytest.raises(UsageError, match="overlays are made of images"):
        pictures.gradcam(model, waves()).overlays  # noqa: B018
    with pytest.raises(UsageError, match=r"expected images, \[images, channels, height, width\], but got \[1, 2\]"):
        pictures.gradcam(seeded(Convolutional), torch.ones(1, 2))


class BumpFinder(nn.Module):
    """Knows one class by a bump upwards and another by one downwards: where it looks is known."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv1d(2, 2, 7, padding=3, bias=False)
        with torch.no_grad():
            self.conv.weight.zero_()
            self.conv.weight[0, 1], self.conv.weight[1, 1] = 1 / 7, -1 / 7

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv(x).relu().mean(2) * 10


def test_the_heat_lies_where_the_bump_is_and_is_as_it_was_looked_at() -> None:
    time = torch.arange(80).float()
    bumps = ((time - 20) / 4).square().neg().exp() - ((time - 60) / 4).square().neg().exp()
    given = torch.stack([0.3 * (time / 3).sin(), bumps])[None]
    found = pictures.gradcam(BumpFinder(), given, target=[0, 1], labels=["upwards", "downwards"])
    assert [int(heat.argmax()) for heat in found.maps] == [20, 60]
    assert_as_looked_at(found, "class_activation_of_a_series")
