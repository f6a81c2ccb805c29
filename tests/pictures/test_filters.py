"""The weights of a layer as images."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from tests.pictures.everyday_wrappers import WAYS, Ways
from tests.pictures.goldens import assert_as_looked_at
from tests.pictures.models import Convolutional, Recurrent, VisionTransformer, seeded
from tests.untouched_models import model_untouched
from torch_debugger.pictures import filters
from torch_debugger.system.errors import UsageError


def gabors(count: int = 24, size: int = 11) -> nn.Module:
    """What the first layer of a trained network looks like; one filter dead, one with a NaN."""
    draw = torch.Generator().manual_seed(1)
    y, x = torch.meshgrid(torch.linspace(-1, 1, size), torch.linspace(-1, 1, size), indexing="ij")
    convolution = nn.Conv2d(3, count, size)
    for place in range(count):
        turn, waves, *phases, strength = torch.rand(6, generator=draw).tolist()
        along = x * np.cos(3 * turn) + y * np.sin(3 * turn)
        colours = [torch.cos((3 + 6 * waves) * along + 3 * phase) for phase in phases]
        with torch.no_grad():
            convolution.weight[place] = torch.stack(colours) * torch.exp(-2 * (x**2 + y**2)) * strength
    with torch.no_grad():
        convolution.weight[5] = 0.0
        convolution.weight[6, 0, 0, 0] = float("nan")
    return nn.Sequential(convolution)


def test_filters_in_colour_are_as_they_were_looked_at() -> None:
    assert_as_looked_at(filters(gabors()), "filters_rgb")


@pytest.mark.parametrize("way", WAYS)
def test_they_hold_the_weights_whatever_the_model_is_wrapped_in(way: Ways) -> None:
    model = seeded(Convolutional)
    expected = model.conv1.weight.detach()
    wrapped = way(model)
    with model_untouched(model):
        picture = filters(wrapped, "conv1")
    assert np.allclose(picture.arrays["filters"], expected.float(), atol=1e-2)
    assert picture.png()


EVERY_KIND = [
    (nn.Conv1d(1, 5, 9), (5, 1, 9)),
    (nn.Conv1d(4, 5, 9), (5, 4, 9)),
    (nn.Conv2d(1, 5, 31), (5, 1, 31, 31)),
    (nn.Conv2d(8, 5, 1), (5, 8, 1, 1)),
    (nn.Conv2d(6, 6, 3, groups=6), (6, 1, 3, 3)),
    (nn.Conv2d(6, 4, 3, groups=2), (4, 3, 3, 3)),
    (nn.Conv2d(3, 96, 7), (64, 3, 7, 7)),
    (nn.Conv2d(100, 4, 3), (4, 64, 3, 3)),
    (nn.Conv3d(1, 5, 3), (5, 1, 3, 3, 3)),
    (nn.Conv3d(3, 5, (2, 5, 5)), (5, 3, 2, 5, 5)),
    (nn.Conv3d(4, 5, 3), (5, 4, 3, 3, 3)),
    (nn.ConvTranspose1d(4, 2, 3), (4, 2, 3)),
    (nn.ConvTranspose2d(8, 3, 4), (8, 3, 4, 4)),
    (nn.ConvTranspose3d(2, 2, 3), (2, 2, 3, 3, 3)),
]


@pytest.mark.parametrize(("layer", "shape"), EVERY_KIND, ids=[str(layer) for layer, _ in EVERY_KIND])
@pytest.mark.parametrize("per", ["filter", "layer"])
def test_every_kind_of_convolution_is_drawn(layer: nn.Module, shape: tuple[int, ...], per: str) -> None:
    picture = filters(nn.Sequential(layer), per=per)
    assert picture.arrays["filters"].shape == shape
    assert picture.png(dpi=40)


def test_three_channels_of_a_group_are_no_colours() -> None:
    """They are three of many: drawn one by one, which takes another form than tiles in colour."""
    weights = torch.randn(4, 3, 5, 5)
    in_groups, in_colour = nn.Conv2d(6, 4, 5, groups=2), nn.Conv2d(3, 4, 5)
    with torch.no_grad():
        in_groups.weight.copy_(weights)
        in_colour.weight.copy_(weights)
    assert filters(in_groups).pixels(40).shape != filters(in_colour).pixels(40).shape


def test_on_one_scale_a_weak_filter_is_pale_and_on_its_own_it_is_not() -> None:
    model = nn.Conv2d(1, 2, 3)
    with torch.no_grad():
        model.weight[0], model.weight[1] = torch.full((1, 3, 3), 1.0), torch.full((1, 3, 3), 0.01)
    together, alone = (filters(model, per=per).pixels(50) for per in ("layer", "filter"))
    red = [int(((pixels[..., 0] > 80) & (pixels[..., 2] < 60)).sum()) for pixels in (together, alone)]
    assert red[1] > 1.8 * red[0] > 0


@pytest.mark.parametrize("most", [1, 2, 7])
def test_only_as_many_filters_as_asked_for_and_all_of_their_channels(most: int) -> None:
    for path, channels in (("conv1", 3), ("conv2", 8)):
        picture = filters(seeded(Convolutional), path, most=most)
        assert picture.arrays["filters"].shape[:2] == (most, channels)
        assert picture.png(dpi=40)


def test_chosen_channels_are_shown_alone() -> None:
    picture = filters(seeded(Convolutional), "conv2", channels=[5, -1])
    model = seeded(Convolutional)
    assert np.allclose(picture.arrays["filters"], model.conv2.weight.detach()[:, [5, 7]])
    assert "each 2 of 8 x 3 x 3" in picture.title


def test_a_linear_layer_that_reads_images_is_shown_as_such() -> None:
    model = nn.Sequential(nn.Flatten(), nn.Linear(3 * 8 * 8, 6), nn.Linear(6, 2))
    rows = model[1].weight.detach()
    assert np.allclose(filters(model, shape=(3, 8, 8)).arrays["filters"], rows.reshape(6, 3, 8, 8))
    last = filters(model, "1", shape=(8, 8, 3)).arrays["filters"]
    assert np.allclose(last, rows.reshape(6, 8, 8, 3).permute(0, 3, 1, 2))


def test_a_layer_whose_weight_is_reckoned_is_read_without_a_trace() -> None:
    """Spectral norm moves its vectors when the weight is asked for in training mode."""
    model = nn.Sequential(nn.utils.parametrizations.spectral_norm(nn.Conv2d(3, 4, 3))).train()
    with model_untouched(model):
        assert filters(model).arrays["filters"].shape == (4, 3, 3, 3)


def test_patch_embeddings_are_found() -> None:
    assert filters(seeded(VisionTransformer)).title.startswith("Filters of `patch` (Conv2d): 16, each 3 x 4 x 4")


def test_what_cannot_be_shown_is_said() -> None:
    model = seeded(Convolutional)
    for arguments, words in [
        (("conv3",), r"no layer `conv3` .* `conv1`"),
        (("bn1",), r"`bn1` is a BatchNorm2d, which has no filters"),
        (("fc",), r"`fc` reads 12 numbers: say what image they are"),
    ]:
        with pytest.raises(UsageError, match=words):
            filters(model, *arguments)
    with pytest.raises(UsageError, match=r"this model has no convolution\. To see what `fc` reads"):
        filters(seeded(Recurrent))
    with pytest.raises(UsageError, match=r"shape=\(2, 5\) has 10 numbers, but `fc` reads 12"):
        filters(model, "fc", shape=(2, 5))
    with pytest.raises(UsageError, match=r"channels 0 to 2; there is no 3"):
        filters(model, "conv1", channels=3)
    with pytest.raises(UsageError, match='per= is "filter"'):
        filters(model, per="all")
    with pytest.raises(UsageError, match=r"which has no filters\. It holds `0\.conv1`, `0\.conv2`"):
        filters(nn.Sequential(model), "0")
    with pytest.raises(UsageError, match="the model is on the meta device"):
        filters(nn.Conv2d(3, 4, 3, device="meta"))
