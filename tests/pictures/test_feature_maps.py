"""What layers give for an input, as images."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from tests.pictures.everyday_wrappers import WAYS, Ways
from tests.pictures.goldens import assert_as_looked_at
from tests.pictures.models import (
    Convolutional,
    Language,
    Recurrent,
    Segmenting,
    VisionTransformer,
    images,
    seeded,
    tokens,
)
from tests.untouched_models import model_untouched
from torch_debugger.pictures import feature_maps
from torch_debugger.system.errors import UsageError


def by_a_bare_hook(model: nn.Module, x: Any, path: str) -> torch.Tensor:
    """The slow obvious way: a copy of what comes first, in evaluation mode."""
    seen: list[torch.Tensor] = []
    handle = model.get_submodule(path).register_forward_hook(
        lambda module, given, output: seen.append(output.detach().clone())
    )
    with torch.no_grad():
        model.eval()(x)
    handle.remove()
    return seen[-1]


def blob() -> torch.Tensor:
    y, x = torch.meshgrid(torch.linspace(-1, 1, 24), torch.linspace(-1, 1, 24), indexing="ij")
    return torch.stack([torch.exp(-4 * ((x - shift) ** 2 + y**2)) for shift in (-0.4, 0.0, 0.4)])[None]


def test_maps_of_two_layers_are_as_they_were_looked_at() -> None:
    model = seeded(Convolutional)
    with torch.no_grad():
        model.conv2.bias[3] = -100.0  # dead behind its ReLU
    assert_as_looked_at(feature_maps(model, blob(), ["conv1", "relu"]), "feature_maps")


@pytest.mark.parametrize("way", WAYS)
def test_they_are_what_a_hook_sees_and_nothing_is_left(way: Ways) -> None:
    model, x = seeded(Convolutional), images(3)
    wrapped = way(model)
    x = x.to(model.conv1.weight.dtype)
    with model_untouched(model, x):
        picture = feature_maps(wrapped, x, ["conv1", "conv2"], sample=[0, 2])
    for path in ("conv1", "conv2"):
        expected = by_a_bare_hook(model, x, path)[[0, 2]]
        assert np.allclose(picture.arrays[path], expected.double(), atol=1e-6)


def test_a_relu_in_place_behind_it_does_not_reach_the_map() -> None:
    picture = feature_maps(seeded(Convolutional), images(), "conv2")
    assert (picture.arrays["conv2"] < 0).any()


def test_one_image_without_a_batch_is_taken() -> None:
    """As many scripts give it: model(image.unsqueeze(0)) is what they mean."""
    one, several = images()[0], images()
    model = seeded(Convolutional)
    assert np.allclose(
        feature_maps(model, one, "conv1").arrays["conv1"],
        feature_maps(model, several, "conv1").arrays["conv1"],
        atol=1e-6,
    )


def test_the_strongest_come_first_where_there_are_more() -> None:
    model = nn.Sequential(nn.Conv2d(1, 50, 1, bias=False))
    with torch.no_grad():
        model[0].weight[:, 0, 0, 0] = torch.arange(50) / 100
        model[0].weight[7] = -3.0
    picture = feature_maps(model, torch.ones(1, 1, 4, 4), "0", most=3)
    assert "the 3 strongest" in headings(picture)[0]
    assert labels(picture) == ["7", "49", "48"]


def texts(picture: Any) -> list[str]:
    return [text.get_text() for axes in picture.figure().axes for text in axes.texts]


def headings(picture: Any) -> list[str]:
    return [text for text in texts(picture) if "sample" in text and "`" in text]


def labels(picture: Any) -> list[str]:
    return [text.split()[0] for text in texts(picture) if text and text[0].isdigit()]


def test_a_dead_map_is_called_so() -> None:
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU())
    with torch.no_grad():
        model[0].bias[2] = -100.0
    picture = feature_maps(model, images(), "1")
    assert "1 dead: zero everywhere" in headings(picture)[0]
    assert "2 dead" in texts(picture)


def test_what_is_not_finite_is_said() -> None:
    model = nn.Sequential(nn.Conv2d(3, 4, 3))
    with torch.no_grad():
        model[0].bias[1] = float("inf")
    assert "1 NaN or Inf" in texts(feature_maps(model, images(), "0"))


def test_tokens_of_a_vision_transformer_are_shown_at_their_patches() -> None:
    model, x = seeded(VisionTransformer), images()
    picture = feature_maps(model, x, "encoder.layers.0.linear1")
    expected = by_a_bare_hook(model, x, "encoder.layers.0.linear1")[0, 1:].reshape(4, 4, 32).permute(2, 0, 1)
    assert np.allclose(picture.arrays["encoder.layers.0.linear1"][0], expected, atol=1e-6)
    assert "tokens as places, without the first 1 token" in headings(picture)[0]


class _Windows(nn.Module):
    """As Swin has it: [N, H, W, C] between its blocks."""

    def __init__(self) -> None:
        super().__init__()
        self.patch = nn.Conv2d(3, 10, 4, stride=4)
        self.block = nn.LayerNorm(10)
        self.head = nn.Linear(10, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.block(self.patch(x).permute(0, 2, 3, 1)).mean((1, 2)))


def test_channels_that_come_last_are_found() -> None:
    picture = feature_maps(seeded(_Windows), images(), "block")
    assert picture.arrays["block"].shape == (1, 10, 4, 4)


def test_patches_of_an_image_that_is_no_square_are_placed() -> None:
    model = nn.Sequential(nn.Conv2d(3, 6, 4, stride=4), nn.Flatten(2), _Turn(), nn.Linear(6, 5))
    picture = feature_maps(model, torch.randn(1, 3, 16, 32), "3")
    assert picture.arrays["3"].shape == (1, 5, 4, 8)


class _Turn(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.transpose(1, 2)


@pytest.mark.parametrize(
    ("kind", "path", "shape"),
    [
        (Recurrent, "lstm", (2, 12, 7)),
        (Recurrent, "fc", (2, 3)),
        (Language, "blocks.1", (2, 16, 7)),
        (Language, "head", (2, 20, 7)),
    ],
)
def test_sequence_models_give_unit_by_time(kind: type[nn.Module], path: str, shape: tuple[int, ...]) -> None:
    model = seeded(kind)
    with model_untouched(model):
        picture = feature_maps(model, tokens(), path, sample=[0, 1])
    assert picture.arrays[path].shape == shape
    assert picture.png(dpi=40)


def test_layers_that_take_the_time_first_are_turned() -> None:
    layer = nn.LSTM(4, 6)
    x = torch.randn(9, 2, 4)
    expected = layer(x)[0][:, 1].T.detach()
    assert np.allclose(feature_maps(layer, x, "", sample=1).arrays[""][0], expected, atol=1e-6)
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8), 1, enable_nested_tensor=False)
    assert feature_maps(encoder, x, "layers.0").arrays["layers.0"].shape == (1, 4, 9)


class _Packed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gru = nn.GRU(4, 6, batch_first=True)

    def forward(self, x: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        return self.gru(packed)[1][-1]


def test_packed_sequences_are_unpacked_and_keywords_are_taken() -> None:
    given = {"x": torch.randn(3, 5, 4), "lengths": torch.tensor([5, 2, 3])}
    maps = feature_maps(_Packed(), given, "gru", sample=1).arrays["gru"]
    assert maps.shape == (1, 6, 5)
    assert (maps[0, :, 2:] == 0).all() and (maps[0, :, :2] != 0).all()


def test_volumes_show_their_middle() -> None:
    model = nn.Sequential(nn.Conv3d(1, 4, 3, padding=1))
    picture = feature_maps(model, torch.randn(1, 1, 5, 8, 8), "0")
    assert picture.arrays["0"].shape == (1, 4, 8, 8)
    assert "slice 2 of 5" in headings(picture)[0]


def test_maps_and_rows_can_stand_together() -> None:
    assert feature_maps(seeded(Convolutional), images(), ["relu", "fc"]).png(dpi=40)
    assert feature_maps(seeded(Segmenting), images(), nn.Conv2d).arrays["out"].shape == (1, 5, 16, 16)


def test_inside_inference_mode_and_with_inference_tensors() -> None:
    model = seeded(Convolutional)
    with torch.inference_mode():
        x = images()
        assert feature_maps(model, x, "conv1").arrays["conv1"].shape == (1, 8, 16, 16)


def test_a_module_itself_names_its_layer() -> None:
    model = seeded(Convolutional)
    assert list(feature_maps(model, images(), [model.conv2, "conv1"]).arrays) == ["conv1", "conv2"]


def test_what_cannot_be_shown_is_said() -> None:
    model = seeded(Convolutional)
    with pytest.raises(UsageError, match=r"no layer `conv9` .* `conv1`"):
        feature_maps(model, images(), "conv9")
    with pytest.raises(UsageError, match=r"there is no sample 5: the layer gave 2, 0 to 1"):
        feature_maps(model, images(), "conv1", sample=5)
    with pytest.raises(UsageError, match=r"is no part of this model"):
        feature_maps(model, images(), nn.Conv2d(1, 1, 1))
    with pytest.raises(UsageError, match=r"`4` gives one number for each sample"):
        feature_maps(nn.Sequential(*[nn.Linear(1, 1)] * 4, nn.Linear(1, 1)), torch.ones(3, 1), "4")
    with pytest.raises(UsageError, match=r"the model is on meta, where weights have no values"):
        feature_maps(nn.Conv2d(3, 4, 3, device="meta"), images(), "")
    with pytest.raises(UsageError, match=r"too many for one picture"):
        feature_maps(nn.Sequential(*[nn.Conv2d(3, 3, 1) for _ in range(50)]), images(), "*")


class _Skipping(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.used, self.unused = nn.Linear(2, 2), nn.Linear(2, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.used(x)


def test_a_layer_that_was_not_called_is_said_but_a_pattern_may_leave_some_out() -> None:
    with pytest.raises(UsageError, match="layer `unused` was not called"):
        feature_maps(_Skipping(), torch.ones(1, 2), ["used", "unused"])
    assert list(feature_maps(_Skipping(), torch.ones(1, 2), "*used").arrays) == ["used"]


def test_the_users_own_exception_passes_and_leaves_nothing() -> None:
    model = seeded(Convolutional)
    with model_untouched(model), pytest.raises(RuntimeError, match="channels"):
        feature_maps(model, images(channels=5), "conv1")
