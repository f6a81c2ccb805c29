"""How activations and weights are spread."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from tests.pictures.everyday_wrappers import WAYS, Ways
from tests.pictures.goldens import assert_as_looked_at
from tests.pictures.models import Convolutional, Language, Recurrent, VisionTransformer, images, seeded, tokens
from tests.untouched_models import model_untouched
from torch_debugger.pictures import activation_histograms, weight_histograms
from torch_debugger.pictures.histograms import measure_spread
from torch_debugger.system.errors import UsageError


def titles(picture: Any) -> list[str]:
    return [axes.get_title(loc="left") for axes in picture.figure().axes]


def notes(picture: Any) -> list[str]:
    return [text.get_text() for axes in picture.figure().axes for text in axes.texts]


def test_activations_are_as_they_were_looked_at() -> None:
    model = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 8), nn.Sigmoid())
    draw = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for weight in model.parameters():
            weight.copy_(torch.randn(weight.shape, generator=draw) * 0.3)
        model[2].weight *= 6
        model[4].weight[0] = float("nan")
    x = torch.randn(64, 16, generator=draw)
    assert_as_looked_at(activation_histograms(model, x), "activation_histograms")


@pytest.mark.parametrize("way", WAYS)
def test_counts_are_those_of_numpy_and_nothing_is_left(way: Ways) -> None:
    model, x = seeded(Convolutional), images(4)
    wrapped = way(model)
    x = x.to(model.conv1.weight.dtype)
    with model_untouched(model, x):
        arrays = activation_histograms(wrapped, x, "conv1").arrays
    seen: list[torch.Tensor] = []
    handle = model.conv1.register_forward_hook(lambda module, given, output: seen.append(output.detach()))
    model.eval()(x)
    handle.remove()
    edges = arrays["conv1: edges"]
    expected = np.histogram(seen[0].double().numpy(), edges)[0]
    assert np.abs(arrays["conv1: counts"] - expected).sum() <= 2 + 0.002 * expected.sum()  # at the edges
    assert arrays["conv1: counts"].sum() == seen[0].numel()


def test_they_come_in_the_order_of_the_calls_and_a_layer_called_twice_twice() -> None:
    picture = activation_histograms(seeded(Convolutional), images())
    assert [title.split("\n")[0] for title in titles(picture)] == [
        "conv1", "bn1", "relu", "conv2", "relu#2", "drop", "fc",
    ]  # fmt: skip


def test_zeros_are_told_and_have_no_bar() -> None:
    model = nn.Sequential(nn.ReLU())
    x = torch.tensor([[-1.0, -2.0, -3.0, 1.0, 2.0, 4.0, 8.0, 0.0]])
    picture = activation_histograms(model, x)
    assert "50 % zero" in titles(picture)[0]
    assert picture.arrays["0: counts"].sum() == 4


@pytest.mark.parametrize(
    ("module", "values", "share"),
    [
        (nn.Sigmoid(), [-9.0, 0.0, 9.0, 1.0], "50 % saturated"),
        (nn.Tanh(), [-9.0, 0.0, 9.0, 9.0], "75 % saturated"),
        (nn.ReLU6(), [7.0, 1.0, 2.0, 3.0], "25 % saturated"),
        (nn.Hardtanh(-2, 2), [-3.0, 0.0, 1.0, 5.0], "50 % saturated"),
    ],
)
def test_saturated_values_are_told(module: nn.Module, values: list[float], share: str) -> None:
    assert share in titles(activation_histograms(nn.Sequential(module), torch.tensor([values])))[0]


def test_what_is_not_finite_is_counted() -> None:
    x = torch.tensor([[1.0, float("nan"), float("inf"), float("-inf"), 2.0]])
    picture = activation_histograms(nn.Sequential(nn.Identity()), x)
    assert notes(picture) == ["1 NaN, 2 Inf"]
    assert picture.arrays["0: counts"].sum() == 2
    nothing = activation_histograms(nn.Sequential(nn.Identity()), torch.full((3,), float("nan")))
    assert titles(nothing) == ["0\nnothing finite"]


def test_a_long_model_shows_some_of_its_layers_evenly() -> None:
    model = nn.Sequential(*[nn.Linear(4, 4) for _ in range(300)])
    picture = activation_histograms(model, torch.randn(2, 4), most=10)
    assert "(10 of 300, evenly chosen)" in picture.title
    shown = [int(title.split("\n")[0]) for title in titles(picture)]
    assert shown[0] == 0 and shown[-1] == 299 and len(shown) == 10
    assert len(picture.arrays) == 600


@pytest.mark.parametrize("kind", [VisionTransformer, Recurrent, Language])
def test_other_kinds_of_models(kind: type[nn.Module]) -> None:
    model = seeded(kind)
    x = images() if kind is VisionTransformer else tokens()
    with model_untouched(model):
        assert activation_histograms(model, x, most=6).png(dpi=40)


def test_weights_are_counted_without_biases_unless_asked_for() -> None:
    model = seeded(Recurrent)
    weights = [title.split("\n")[0] for title in titles(weight_histograms(model))]
    assert weights == ["embedding.weight", "lstm.weight_ih_l0", "lstm.weight_hh_l0", "fc.weight"]
    assert len(titles(weight_histograms(model, biases=True))) == 7
    assert len(titles(weight_histograms(model, "fc", biases=True))) == 2
    counts = weight_histograms(model).arrays["fc.weight: counts"]
    assert counts.sum() == model.fc.weight.numel()


def test_layers_are_given_by_path_class_or_module_and_hold_others() -> None:
    model = seeded(Recurrent)
    of_lstm = [title.split("\n")[0] for title in titles(weight_histograms(model, model.lstm))]
    assert of_lstm == ["lstm.weight_ih_l0", "lstm.weight_hh_l0"]
    assert len(titles(weight_histograms(model, [nn.LSTM, model.fc]))) == 3
    assert len(titles(weight_histograms(nn.Sequential(model), "0"))) == 4
    with pytest.raises(UsageError, match="the Linear given as layer is no part of this model"):
        weight_histograms(model, nn.Linear(2, 2))


def test_large_tensors_are_counted_in_parts() -> None:
    values = torch.randn(2**22 + 1000)
    spread = measure_spread(values)
    assert spread.counts.sum() == values.numel()
    assert abs(int(spread.counts.sum()) - int(np.histogram(values.numpy(), spread.edges)[0].sum())) == 0


@pytest.mark.parametrize("values", [torch.tensor([3]), torch.zeros(4), torch.tensor([True, False]), torch.ones(5) * -2])
def test_constants_integers_and_truths_have_bars(values: torch.Tensor) -> None:
    spread = measure_spread(values)
    assert spread.edges[0] < spread.edges[-1]
    assert spread.counts.sum() == (values.numel() if not spread.hides_zeros else int(values.count_nonzero()))


def test_what_cannot_be_shown_is_said() -> None:
    with pytest.raises(UsageError, match=r"no layer `conv7`"):
        activation_histograms(seeded(Convolutional), images(), "conv7")
    with pytest.raises(UsageError, match=r"expected a sample to look at, but the input is empty: \[0, 3, 16, 16\]"):
        activation_histograms(seeded(Convolutional), images()[:0])
    with pytest.raises(UsageError, match=r"no layer was given: name one by its path"):
        activation_histograms(seeded(Convolutional), images(), [])
    with pytest.raises(UsageError, match=r"no weights in these layers"):
        weight_histograms(nn.ReLU())
    with pytest.raises(UsageError, match=r"most= .* at least 1, not 0"):
        weight_histograms(seeded(Convolutional), most=0)


def test_values_near_the_end_of_what_a_dtype_holds_are_counted() -> None:
    for values in (torch.tensor([3e38, -3e38, 1.0]), torch.tensor([1e300, -1e300, 1.0], dtype=torch.float64)):
        assert measure_spread(values).counts.sum() == 3


def test_a_tensor_without_values_is_said_to_have_none() -> None:
    assert titles(weight_histograms(nn.Linear(3, 3, device="meta"))) == ["weight\nno values"]
