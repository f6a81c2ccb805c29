"""Class activation and attribution as they are seen; each of these pictures was looked at."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from tests.pictures.cam_models import ResidualNet
from tests.pictures.goldens import assert_as_looked_at
from tests.pictures.models import Recurrent, images, seeded, tokens
from tests.pictures.test_attribution import Series, Table, rows
from torch_debugger import pictures
from torch_debugger.pictures.image_grids import ShownImages

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


class DiscFinder(nn.Module):
    """Knows two classes, red and blue, each by its own channel: where it looks is known."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 2, 5, padding=2, stride=2)
        nn.init.zeros_(self.conv.bias)
        with torch.no_grad():
            self.conv.weight.copy_(torch.tensor([[1.0, -1.0, -1.0], [-1.0, -1.0, 1.0]])[:, :, None, None] / 25)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv(x).relu().mean((2, 3)) * 10


def discs(size: int = 48) -> torch.Tensor:
    """A red disc at the upper left and a blue one at the lower right, normalised as photographs are."""
    across = torch.arange(size).float()
    image = torch.full((3, size, size), 0.75) + 0.05 * torch.sin(across / 3)
    for channel, centre in ((0, size * 0.3), (2, size * 0.7)):
        inside = (across[:, None] - centre) ** 2 + (across - centre) ** 2 < (size / 6) ** 2
        image[:, inside] = 0.1
        image[channel, inside] = 0.9
    return ((image - torch.tensor(MEAN)[:, None, None]) / torch.tensor(STD)[:, None, None])[None]


def middle(heat: np.ndarray) -> tuple[float, float]:
    """Of the heat, as shares of the height and the width."""
    places = np.indices(heat.shape).reshape(2, -1) / heat.shape[0]
    down, across = places @ heat.ravel() / heat.sum()
    return float(down), float(across)


@pytest.mark.parametrize("method", ["gradcam", "layercam", "hirescam", "scorecam", "guided_gradcam"])
def test_the_heat_lies_where_the_class_is(method: str) -> None:
    found = pictures.class_activation(DiscFinder(), discs(), target=[0, 1], method=method)
    assert middle(found.maps[0]) == pytest.approx((0.3, 0.3), abs=0.08)
    assert middle(found.maps[1]) == pytest.approx((0.7, 0.7), abs=0.08)


def test_class_activation_looks_as_it_did() -> None:
    found = pictures.class_activation(
        DiscFinder(), discs(), target=[0, 1], labels=["red disc", "blue disc"], mean=MEAN, std=STD
    )
    assert found.overlays.shape == (2, 48, 48, 3) and found.names == ["red disc", "blue disc"]
    assert_as_looked_at(found, "class_activation")


def test_attribution_of_an_image_looks_as_it_did() -> None:
    found = pictures.integrated_gradients(
        DiscFinder(), discs(), target=[0, 1], labels={0: "red disc", 1: "blue disc"}, mean=MEAN, std=STD
    )
    assert_as_looked_at(found, "integrated_gradients_of_an_image")


def test_attribution_of_tokens_looks_as_it_did() -> None:
    words = [
        ["[CLS]", "the", "old", "cat", "sat", "on", "[SEP]"],
        ["[CLS]", "a", "$5", "bill", "was", "lost", "[SEP]"],
    ]
    found = pictures.input_x_gradient(seeded(Recurrent), tokens(), target=1, tokens=words, labels=["sad", "glad"])
    assert_as_looked_at(found, "attribution_of_tokens")


def test_attribution_of_a_table_looks_as_it_did() -> None:
    names = ["age", "height", "weight", "income", "distance to school"]
    found = pictures.integrated_gradients(seeded(Table), rows(), target=2, features=names)
    assert_as_looked_at(found, "attribution_of_a_table")


def test_attribution_of_a_series_looks_as_it_did() -> None:
    time = torch.arange(60).float()
    wave = torch.stack([(time / 5).sin(), ((time - 30) / 4).square().neg().exp() * 2])[None]
    assert_as_looked_at(pictures.occlusion(seeded(Series), wave, target=0, window=5), "attribution_of_a_series")


def test_many_rows_are_cut_and_counted() -> None:
    found = pictures.class_activation(seeded(ResidualNet), images(10), "layer3")
    assert len(found.maps) == 10
    assert found.figure().get_suptitle() == "Grad-CAM at layer3 (8 of 10 maps)"
    assert found.figure().axes[0].texts[0].get_text().startswith("image 0\nclass ")
    attributed = pictures.saliency(seeded(ResidualNet), images(10))
    assert attributed.figure().get_suptitle() == "Saliency (8 of 10 examples)"


def test_a_long_text_is_broken_into_lines_and_many_channels_become_a_map() -> None:
    long = torch.randint(20, (1, 200), generator=torch.Generator().manual_seed(3))
    picture = pictures.saliency(seeded(Recurrent), long)
    width, height = picture.figure().get_size_inches()
    assert width < 9 and height > 2
    drawn = pictures.saliency(
        nn.Sequential(nn.Conv1d(12, 3, 5), nn.Flatten(), nn.Linear(108, 2)), torch.rand(1, 12, 40)
    )
    assert drawn.figure().axes[0].get_ylabel() == "channel"


@pytest.mark.parametrize("form", ["channels first", "channels last", "bytes", "larger", "grey"])
def test_a_map_is_drawn_over_the_image_that_is_given(form: str) -> None:
    patches = torch.rand(1, 3, 4, 4, generator=torch.Generator().manual_seed(3))
    photograph = nn.functional.interpolate(patches, (48, 48), mode="bilinear")[0]
    given = {
        "channels first": photograph,
        "channels last": photograph.permute(1, 2, 0).numpy(),
        "bytes": (photograph * 255).byte(),
        "larger": photograph.repeat_interleave(3, 1).repeat_interleave(3, 2)[None],
        "grey": photograph[:1],
    }[form]
    found = pictures.GradCAM(DiscFinder(), "conv").visualize(discs(), given, target_class=0)
    cold = found.maps[0] == 0
    expected = photograph.permute(1, 2, 0).numpy()[cold]
    expected = expected[:, :1].repeat(3, axis=1) if form == "grey" else expected
    assert np.abs(found.overlays[0][cold] - expected).mean() < 0.01


def test_images_are_shown_as_they_were_before_normalisation() -> None:
    shown = ShownImages(discs(), MEAN, STD)[0]
    assert shown.shape == (48, 48, 3) and shown[14, 14] == pytest.approx([0.9, 0.1, 0.1])
    grey = ShownImages(torch.linspace(-3, 5, 16).view(1, 1, 4, 4))[0]
    assert grey.shape == (4, 4, 3) and grey.min() == 0 and grey.max() == 1
    assert np.isfinite(ShownImages(torch.full((1, 3, 4, 4), float("nan")))[0]).all()
