"""Images climbed for a part of a model: which part, what is left behind, and what is said when it cannot be."""

from __future__ import annotations

import io
import sys
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

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
from torch_debugger import pictures
from torch_debugger.system.errors import UsageError


class Behind(nn.Module):
    """Counts how often the part behind `first` runs; catches what its own first part raises."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, 4, 3)
        self.fc = nn.Linear(4 * 14 * 14, 2)
        self.seen: list[int] = []

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        try:
            x = self.first(x)
        except Exception:
            x = x.new_zeros(1, 4, 14, 14)
        self.seen.append(1)
        return self.fc(x.flatten(1))


@pytest.mark.parametrize(
    ("maker", "layer", "asked"),
    [
        (Convolutional, "conv2", {"channels": range(3)}),
        (Convolutional, "relu", {"channel": 5}),
        (Convolutional, "", {"logit": [0, 3]}),
        (Convolutional, "bn1", {"unit": (2, 8, 8)}),
        (Convolutional, "conv1", {"unit": 2}),
        (Convolutional, "conv1", {}),
        (VisionTransformer, "encoder.layers.1", {"channel": 15}),
        (VisionTransformer, "encoder.layers.0.linear1", {"unit": (16, 31)}),
        (VisionTransformer, "head", {"logit": 1}),
        (Segmenting, "up", {"channels": [0, 7]}),
        (Segmenting, "", {"logit": 4}),
    ],
)
def test_nothing_is_left_on_the_model(maker: type[nn.Module], layer: str, asked: dict[str, Any]) -> None:
    model, given = seeded(maker).train(), images()
    trainable = [parameter.requires_grad for parameter in model.parameters()]
    with model_untouched(model, given):
        found = pictures.maximize(model, layer, like=given, steps=2, **asked)
    assert [parameter.requires_grad for parameter in model.parameters()] == trainable
    count = len(found.arrays["activations"])
    assert found.arrays["images"].shape == (count, *given.shape[1:])
    assert found.png().startswith(b"\x89PNG")


def test_the_activation_that_is_told_is_the_models_own() -> None:
    model = seeded(Convolutional).eval()
    found = pictures.maximize(model, "conv2", channels=[3, 7], like=images(), steps=3)
    outputs: list[torch.Tensor] = []
    with model.conv2.register_forward_hook(lambda module, given, output: outputs.append(output)):  # type: ignore[union-attr]
        model(torch.tensor(found.arrays["images"]))
    by_hand = [outputs[0][0, 3].max().item(), outputs[0][1, 7].max().item()]
    assert np.allclose(found.arrays["activations"], by_hand, rtol=1e-5)


def test_climbing_beats_noise() -> None:
    found = pictures.maximize(seeded(Convolutional), "conv2", channels=range(12), like=images(), steps=40)
    assert (found.arrays["activations"] > found.arrays["noise"]).all()


def test_the_same_seed_gives_the_same_images_alone_or_in_company() -> None:
    model = seeded(Convolutional)
    torch.manual_seed(1)
    three = pictures.maximize(model, "conv2", channels=[1, 2, 3], like=images(), steps=3).arrays["images"]
    torch.manual_seed(2)
    one = pictures.maximize(model, "conv2", channel=2, like=images(), steps=3).arrays["images"]
    other = pictures.maximize(model, "conv2", channel=2, like=images(), steps=3, seed=1).arrays["images"]
    assert np.allclose(three[1], one[0], atol=1e-5)
    assert not np.allclose(one, other, atol=0.1)


def test_what_lies_behind_the_layer_does_not_run() -> None:
    model = Behind()
    runs: list[int] = []
    handle = model.fc.register_forward_hook(lambda *_: runs.append(1))
    pictures.maximize(model, "first", channel=0, input_size=(3, 16, 16), steps=5)
    handle.remove()
    assert runs == [1], "once, to see how often the layer is called"
    assert model.seen == []


def test_an_image_may_be_larger_than_what_lies_behind_the_layer_takes() -> None:
    found = pictures.maximize(Behind(), "first", channel=0, input_size=(3, 40, 24), steps=1)
    assert found.arrays["images"].shape == (1, 3, 40, 24)


def test_values_stay_in_the_range_of_what_was_given() -> None:
    given = images().clamp(-1, 2)
    climbed = pictures.maximize(seeded(Convolutional), "conv1", like=given, steps=20).arrays["images"]
    assert climbed.min() >= -1 and climbed.max() <= 2
    climbed = pictures.maximize(seeded(Convolutional), "conv1", like=given, steps=9, value_range=(0, 1))
    assert climbed.arrays["images"].min() >= 0 and climbed.arrays["images"].max() <= 1


def test_a_signal_a_series_a_vector_and_a_volume_are_climbed_too() -> None:
    signal = nn.Sequential(nn.Conv1d(2, 4, 5), nn.ReLU(), nn.Conv1d(4, 4, 5))
    assert pictures.maximize(signal, "2", channel=1, input_size=(2, 64), steps=2).arrays["images"].shape == (
        1,
        2,
        64,
    )
    series = nn.LSTM(3, 5, batch_first=True)
    found = pictures.maximize(series, "", channels=[0, 4], like=torch.randn(2, 20, 3), steps=2)
    assert found.arrays["images"].shape == (2, 3, 20), "channels in front, then time"
    vector = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 2))
    assert pictures.maximize(vector, logit=1, like=torch.randn(4, 6), steps=2).arrays["images"].shape == (1, 6)
    volume = nn.Sequential(nn.Conv3d(1, 3, 3), nn.ReLU())
    assert pictures.maximize(volume, "0", channel=0, input_size=(1, 6, 8, 8), steps=2).png()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
def test_weights_of_any_precision(dtype: torch.dtype) -> None:
    found = pictures.maximize(seeded(Convolutional).to(dtype), "conv2", channel=0, input_size=(3, 16, 16), steps=2)
    assert np.isfinite(found.arrays["activations"]).all()


def test_wrappers_channels_last_and_inference_mode() -> None:
    model, given = seeded(Convolutional), images()
    plain = pictures.maximize(model, "conv2", channel=1, like=given, steps=2).arrays["images"]
    compiled = torch.compile(model)
    wrapped = [nn.DataParallel(model), compiled, seeded(Convolutional).to(memory_format=torch.channels_last)]
    for each in wrapped:
        assert np.allclose(
            pictures.maximize(each, "conv2", channel=1, like=given, steps=2).arrays["images"], plain, atol=1e-3
        )
    with torch.inference_mode():
        inside = pictures.maximize(model, "conv2", channel=1, like=given.clone(), steps=2).arrays["images"]
    assert np.allclose(inside, plain)


def test_other_inputs_stay_as_they_were_given() -> None:
    class Masked(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = nn.Conv2d(3, 4, 3, padding=1)

        def forward(self, pixel_values: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
            assert len(mask) == len(pixel_values) and mask.dtype == torch.bool
            return self.conv(pixel_values) * mask

    given = {"pixel_values": images(), "mask": torch.ones(2, 1, 1, 1, dtype=torch.bool)}
    found = pictures.maximize(Masked(), "conv", channels=range(4), like=given, steps=2)
    assert found.arrays["images"].shape == (4, 3, 16, 16)


def test_one_image_without_a_batch_and_bytes_are_taken() -> None:
    model = nn.Sequential(nn.Conv2d(3, 4, 3))
    assert pictures.maximize(model, "0", channel=0, like=images()[0], steps=1).arrays["images"].shape == (
        1,
        3,
        16,
        16,
    )
    pixels = (images().clamp(0, 1) * 255).to(torch.uint8)
    assert pictures.maximize(model, "0", channel=0, like=pixels, steps=1).arrays["images"].max() > 2


def test_a_silent_channel_is_woken_and_a_dead_one_is_said() -> None:
    model = nn.Sequential(nn.Conv2d(3, 3, 3), nn.ReLU())
    with torch.no_grad():
        model[0].weight[:] = 0.0  # type: ignore[index, operator]
        model[0].weight[0] = 0.3  # type: ignore[index, operator]
        model[0].weight[1, :, :, 0], model[0].weight[1, :, :, 2] = -0.3, 0.3  # type: ignore[index, operator]
        model[0].bias[:] = torch.tensor([0.0, -8.0, -1.0])  # type: ignore[index]
    found = pictures.maximize(model, "1", channels=range(3), input_size=(3, 16, 16), steps=60)
    assert found.arrays["noise"][1] == 0 < found.arrays["activations"][1]
    titles = [axes.get_title() for axes in found.figure().axes]
    assert titles[2] == "channel 2\nalways 0: dead"
    assert titles[1].endswith("(noise 0)")


REFUSED = [
    (Convolutional, "conv9", {}, r"no layer `conv9` in this model\. There is `conv2`, `conv1`"),
    (Convolutional, "conv2", {"channel": 12}, r"`conv2` has 12 channels, 0 to 11: there is no channel 12"),
    (Convolutional, "", {"logit": 4}, r"the model's output has 4 logits, 0 to 3: there is no logit 4"),
    (Convolutional, "conv2", {"unit": (1, 2)}, r"gives \[12, 8, 8\] for one example, so a unit has 3 numbers"),
    (Convolutional, "conv2", {"unit": (1, 2, 8)}, r"gives \[12, 8, 8\] .*: there is no unit 1, 2, 8"),
    (Convolutional, "conv2", {"unit": 1, "channel": 1}, "give one of `unit`, `channel`"),
    (Convolutional, "conv2", {"channels": []}, "there is no channel to look for"),
    (Convolutional, "conv1", {"input_size": (3, 0)}, "input_size is that of one example"),
    (Convolutional, "conv1", {"like": "a cat"}, "expected `like` to be a batch .* but got str"),
    (Recurrent, "lstm", {"input_size": (7,)}, r"takes whole numbers \(tokens\).*top_examples"),
    (Language, "head", {"like": tokens()}, r"takes whole numbers \(tokens\).*top_examples"),
    (
        VisionTransformer,
        "norm",
        {"input_size": (3, 64, 64)},
        r"size \(3, 64, 64\): RuntimeError: .* Give like=",
    ),
]


@pytest.mark.parametrize(("make", "layer", "asked", "sentence"), REFUSED)
def test_what_cannot_be_climbed_is_said(
    make: type[nn.Module], layer: str, asked: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(UsageError, match=sentence):
        pictures.maximize(seeded(make), layer, **{"input_size": (3, 16, 16), "steps": 1} | asked)


def test_a_layer_that_is_never_called_and_one_without_a_gradient_are_said() -> None:
    class Odd(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.unused, self.conv = nn.Linear(2, 2), nn.Conv2d(3, 3, 3)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.conv(x.detach().round())

    with pytest.raises(UsageError, match="layer `unused` is not called"):
        pictures.maximize(Odd(), "unused", input_size=(3, 8, 8), steps=1)
    with pytest.raises(UsageError, match=r"no gradient leads from layer `conv` to the input: argmax, \.detach"):
        pictures.maximize(Odd(), "conv", channel=0, input_size=(3, 8, 8), steps=1)


def test_an_exception_of_the_users_own_passes_through() -> None:
    class Broken(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        pictures.maximize(Broken(), logit=0, like=images(), steps=1)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("stream", [io.StringIO, Terminal])
def test_a_bar_shows_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch, stream: type[io.StringIO]) -> None:
    told = stream()
    monkeypatch.setattr(sys, "stderr", told)
    monkeypatch.setenv("TERM", "xterm")
    model = seeded(Convolutional)
    with model_untouched(model):
        pictures.maximize(model, "conv1", channel=0, input_size=(3, 16, 16), steps=3)
    assert bool(told.getvalue()) == (stream is Terminal)


def test_channels_of_an_image_look_as_they_were_looked_at() -> None:
    picture = pictures.maximize(seeded(Convolutional), "relu", channels=range(6), like=images(), steps=60)
    assert_as_looked_at(picture, "maximize_channels")


def test_channels_of_a_signal_look_as_they_were_looked_at() -> None:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Conv1d(2, 8, 9), nn.ReLU(), nn.Conv1d(8, 8, 9))
    picture = pictures.maximize(model, "2", channels=range(4), input_size=(2, 96), steps=60)
    assert_as_looked_at(picture, "maximize_signal")


def test_units_are_named_as_for_top_examples() -> None:
    def images_of(*asked: Any, **named: Any) -> Any:
        found = pictures.maximize(seeded(Convolutional), "conv2", *asked, like=images(), steps=2, **named)
        return found.arrays["images"]

    channel = images_of(channel=4)
    assert np.array_equal(images_of(4), channel) and np.array_equal(images_of(unit=4), channel)
    assert np.array_equal(images_of(channel=-8), channel)
    assert np.array_equal(images_of(channel=[4, 5]), images_of(channels=range(4, 6)))
    both, alone = images_of(unit=[(4, 1, 1), (5, 2, 2)]), images_of((4, 1, 1))
    assert np.array_equal(images_of(unit=[(4, 1, 1), (5, 2, 2)]), both)
    # Convolutions without oneDNN round a batch of two otherwise than each alone: an ulp or two of values up to
    # 3.5 after two steps (5e-7 seen). Another unit's image is 4.9 away.
    assert np.abs(both[0] - alone[0]).max() < 1e-5 < 0.1 < np.abs(both[1] - alone[0]).max()


def test_like_may_be_a_batch_with_labels_or_its_loader() -> None:
    given = images()
    labels = torch.arange(len(given))
    loader = DataLoader(TensorDataset(given, labels), batch_size=len(given))
    plain = pictures.maximize(seeded(Convolutional), "conv1", 0, like=given, steps=1).arrays["images"]
    for like in ((given, labels), [given, labels], loader, [(given, labels)], TensorDataset(given, labels)):
        found = pictures.maximize(seeded(Convolutional), "conv1", 0, like=like, steps=1)
        assert np.array_equal(found.arrays["images"], plain)


def test_an_input_that_a_tokens_model_refuses_before_its_embedding_is_explained() -> None:
    class Viewing(Language):
        def forward(self, ids: torch.Tensor) -> torch.Tensor:
            return super().forward(ids.view(-1, 7))  # as Hugging Face's GPT-2 does

    with pytest.raises(UsageError, match=r"takes whole numbers \(tokens\).*top_examples"):
        pictures.maximize(seeded(Viewing), "head", 3)
