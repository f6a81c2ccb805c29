"""Attribution: captum's numbers, for images, series, tables and tokens, leaving nothing behind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from captum import attr
from captum.attr._core.noise_tunnel import NoiseTunnel
from torch import nn

from tests.pictures.cam_models import ResidualNet
from tests.pictures.models import (
    Convolutional,
    Language,
    Recurrent,
    VisionTransformer,
    images,
    seeded,
    tokens,
)
from tests.untouched_models import model_untouched
from torch_debugger import pictures
from torch_debugger.system.errors import UsageError

pytestmark = pytest.mark.filterwarnings("ignore:Input Tensor 0 did not already require gradients")
AGREEMENT = 1e-4  # of the largest attribution
FUNCTIONS = [
    pictures.saliency,
    pictures.input_x_gradient,
    pictures.integrated_gradients,
    pictures.smoothgrad,
    pictures.occlusion,
]


def assert_agreeing(found: Any, expected: Any) -> None:
    expected = np.asarray(expected)
    largest = np.abs(expected).max()
    assert found.shape == expected.shape and largest > 0
    assert np.abs(found - expected).max() <= AGREEMENT * largest


class Series(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv1d(2, 8, 5)
        self.fc = nn.Linear(8, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.fc(self.conv(x).tanh().mean(2))


class Table(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, 4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x)


def series() -> torch.Tensor:
    return torch.randn(2, 2, 40, generator=torch.Generator().manual_seed(3))


def rows() -> torch.Tensor:
    return torch.randn(2, 5, generator=torch.Generator().manual_seed(3))


NUMBERS: list[tuple[type[nn.Module], Callable[[], torch.Tensor]]] = [
    (Convolutional, images), (ResidualNet, images), (VisionTransformer, images),
    (Series, series), (Table, rows),
]  # fmt: skip


@pytest.mark.parametrize(("maker", "given"), NUMBERS)
def test_gradients_are_those_of_captum(maker: type[nn.Module], given: Callable[[], torch.Tensor]) -> None:
    model, peer, x = seeded(maker).train(), seeded(maker).eval(), given()
    expected = attr.Saliency(peer).attribute(x, target=[1, 2]).numpy()
    assert_agreeing(pictures.saliency(model, x, target=[1, 2]).attributions, expected)
    expected = attr.Saliency(peer).attribute(x, target=[1, 2], abs=False).numpy()
    signed = pictures.saliency(model, x, target=[1, 2], absolute=False)
    assert_agreeing(signed.attributions, expected)
    expected = attr.InputXGradient(peer).attribute(x, target=[1, 2]).detach().numpy()
    found = pictures.input_x_gradient(model, x, target=[1, 2]).attributions
    assert_agreeing(found, expected)


def _baseline(maker: type[nn.Module], x: torch.Tensor) -> float | torch.Tensor:
    """The places that a max pooling chooses from are equal on an even image. Where captum's batch of 40 and our
    7 take convolutions that round differently (NNPACK serves large batches only), another of them gets the
    gradient: both are right, and differ by 1e-2 in the methods that look at the baseline itself."""
    if maker is not Convolutional:
        return 0.3
    return 0.3 + 0.1 * torch.randn(x[:1].shape, generator=torch.Generator().manual_seed(4))


@pytest.mark.parametrize(
    "method", ["gausslegendre", "riemann_left", "riemann_right", "riemann_middle", "riemann_trapezoid"]
)
@pytest.mark.parametrize(("maker", "given"), NUMBERS)
def test_integrated_gradients_are_those_of_captum(
    maker: type[nn.Module], given: Callable[[], torch.Tensor], method: str
) -> None:
    model, peer, x = seeded(maker).train(), seeded(maker).eval(), given()
    baseline = _baseline(maker, x)
    expected, gap = attr.IntegratedGradients(peer).attribute(
        x, baseline, target=1, n_steps=20, method=method, return_convergence_delta=True
    )
    found = pictures.integrated_gradients(model, x, target=1, baseline=baseline, steps=20, method=method, batch_size=7)
    assert_agreeing(found.attributions, expected.detach().numpy())
    np.testing.assert_allclose(found.gap, gap.detach().numpy(), atol=1e-5)


def test_attributions_sum_up_to_the_score_and_the_gap_is_told() -> None:
    model, x = seeded(Table).eval(), rows()
    found = pictures.integrated_gradients(model, x)
    at_zero = model(torch.zeros(1, 5))[0, found.targets].detach().numpy()
    np.testing.assert_allclose(found.attributions.sum(1), found.scores - at_zero, atol=1e-4)
    assert found.note == "Their sum misses the score's change from the baseline by less than 0.01 %."
    coarse = pictures.integrated_gradients(model, x, steps=2, method="riemann_left")
    assert coarse.note.endswith("take more than 2 steps.")


@pytest.mark.parametrize("absolute", [True, False])
@pytest.mark.parametrize(("maker", "given"), NUMBERS[:3])
def test_smoothgrad_is_that_of_captum_given_the_same_noise(
    maker: type[nn.Module],
    given: Callable[[], torch.Tensor],
    absolute: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    x, drawn = given(), torch.Generator().manual_seed(4)
    noise = torch.cat([torch.randn(6, *x.shape[1:], generator=drawn) * 0.2 for _ in x])
    with_noise = staticmethod(lambda value, stdev, count: value.repeat_interleave(count, dim=0) + noise)
    monkeypatch.setattr(NoiseTunnel, "_add_noise_to_input", with_noise)
    tunnel = attr.NoiseTunnel(attr.Saliency(seeded(maker).eval()))
    expected = tunnel.attribute(x, nt_samples=6, stdevs=0.2, target=1, abs=absolute).numpy()
    found = pictures.smoothgrad(
        seeded(maker), x, target=1, samples=6, stdev=0.2, seed=4, absolute=absolute, batch_size=4
    )
    assert_agreeing(found.attributions, expected)


def test_smoothgrad_draws_from_a_generator_of_its_own() -> None:
    model, x = seeded(Table), rows()
    first, again = pictures.smoothgrad(model, x), pictures.smoothgrad(model, x)
    np.testing.assert_array_equal(first.attributions, again.attributions)
    assert not np.array_equal(first.attributions, pictures.smoothgrad(model, x, seed=1).attributions)


@pytest.mark.parametrize(
    ("maker", "given", "window", "stride"),
    [
        (Convolutional, images, (3, 5, 4), (3, 2, 3)),
        (Convolutional, images, (1, 4, 4), (1, 4, 4)),
        (VisionTransformer, images, (3, 16, 7), (3, 1, 5)),
        (Series, series, (2, 7), (2, 3)),
        (Table, rows, (2,), (1,)),
    ],
)
def test_occlusion_is_that_of_captum(
    maker: type[nn.Module], given: Callable[[], torch.Tensor], window: Any, stride: Any
) -> None:
    x = given()
    expected = attr.Occlusion(seeded(maker).eval()).attribute(x, window, strides=stride, target=[1, 0], baselines=0.4)
    found = pictures.occlusion(
        seeded(maker), x, target=[1, 0], window=window, stride=stride, baseline=0.4, batch_size=5
    )
    assert_agreeing(found.attributions, expected.numpy())


def test_a_window_is_given_for_all_places_or_for_each_axis() -> None:
    model, x = seeded(Convolutional), images()
    whole = pictures.occlusion(model, x, target=1, window=(3, 4, 4), stride=(3, 2, 2)).attributions
    np.testing.assert_array_equal(pictures.occlusion(model, x, target=1, window=4).attributions, whole)
    by_axis = pictures.occlusion(model, x, target=1, window=(4, 4), stride=2).attributions
    np.testing.assert_array_equal(by_axis, whole)


@pytest.mark.parametrize("maker", [Recurrent, Language])
def test_tokens_are_attributed_through_their_embedding_as_in_captum(maker: type[nn.Module]) -> None:
    peer, ids = seeded(maker).eval(), tokens()
    target: Any = 1 if maker is Recurrent else (6, 1)
    layered = attr.LayerIntegratedGradients(peer, peer.embedding)
    expected = layered.attribute(ids, torch.zeros_like(ids), target=target, n_steps=20).detach().numpy()
    found = pictures.integrated_gradients(seeded(maker), ids, target=target, baseline=0, steps=20)
    assert_agreeing(found.raw, expected)
    assert_agreeing(found.attributions, expected.sum(-1))
    expected = attr.LayerGradientXActivation(peer, peer.embedding).attribute(ids, target=target).detach()
    by_gradient = pictures.input_x_gradient(seeded(maker), ids, target=target, layer="embedding")
    assert_agreeing(by_gradient.raw, expected.numpy())
    expected = attr.Occlusion(peer).attribute(ids, (1,), target=target, baselines=5)
    occluded = pictures.occlusion(seeded(maker), ids, target=target, baseline=5)
    assert_agreeing(occluded.attributions, expected.numpy())


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize(
    ("maker", "given"), [(Convolutional, images), (Recurrent, tokens), (Language, tokens), (Table, rows)]
)
def test_every_attribution_leaves_every_model_as_it_was(
    function: Any, maker: type[nn.Module], given: Callable[[], torch.Tensor]
) -> None:
    model, x = seeded(maker).train(), given()
    with model_untouched(model, x), torch.no_grad():
        found = function(model, x)
    assert found.attributions.shape == tuple(x.shape) and found.attributions.dtype == np.float32
    assert np.isfinite(found.attributions).all() and found.attributions.any()
    assert all(parameter.requires_grad for parameter in model.parameters())


@pytest.mark.parametrize("function", FUNCTIONS)
def test_other_inputs_follow_their_examples(function: Any) -> None:
    class Two(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.image, self.table = seeded(Convolutional), nn.Linear(3, 4)

        def forward(self, image: torch.Tensor, table: torch.Tensor, scale: float = 1.0) -> dict[str, torch.Tensor]:
            image.mul_(1.0)  # it may write into what it is given
            return {"logits": self.image(image) * self.table(table).sigmoid() * scale}

    model, x, table = seeded(Two), images(), torch.randn(2, 3)
    both = function(model, {"image": x, "table": table, "scale": 2.0}, target=[1, 2])
    for example, target in enumerate([1, 2]):
        alone = (x[example : example + 1], table[example : example + 1], 2.0)
        if function is not pictures.smoothgrad or example == 0:  # the second example has other noise
            found = function(model, alone, target=target)
            np.testing.assert_allclose(found.attributions[0], both.attributions[example], atol=1e-6)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_half_precision_and_inference_tensors_are_attributed(function: Any) -> None:
    plain = function(seeded(Convolutional), images(), target=1).attributions
    half = function(seeded(Convolutional).bfloat16(), images().bfloat16(), target=1).attributions
    with torch.inference_mode():
        given = images()
    within = function(nn.DataParallel(seeded(Convolutional)), given, target=1).attributions
    np.testing.assert_allclose(within, plain, atol=1e-6)
    assert half.dtype == np.float32 and np.corrcoef(half.ravel(), plain.ravel())[0, 1] > 0.75


def test_several_targets_are_attributed_each() -> None:
    model, x = seeded(Table), rows()
    found = pictures.integrated_gradients(model, x, target=[[0, 3], [2]])
    assert found.examples == [0, 0, 1] and found.targets == [0, 3, 2]
    alone = pictures.integrated_gradients(model, x[:1], target=3)
    np.testing.assert_allclose(found.attributions[1], alone.attributions[0], atol=1e-6)


def test_the_top_token_of_the_last_position_is_explained() -> None:
    model, ids = seeded(Language).eval(), tokens()
    found = pictures.saliency(model, ids)
    assert found.targets == [(6, int(best)) for best in model(ids)[:, -1].argmax(1)]
    np.testing.assert_array_equal(
        found.attributions, pictures.saliency(model, ids, target=[t[1] for t in found.targets]).attributions
    )


def test_what_cannot_be_attributed_is_told() -> None:
    model, ids = seeded(Recurrent), tokens()
    with pytest.raises(UsageError, match=r"input is of torch\.uint8, which has no gradient.* images\.float\(\)"):
        pictures.saliency(seeded(Convolutional), images().byte())
    with pytest.raises(UsageError, match=r"no layer `embeddings` in this model\. There is `embedding`"):
        pictures.saliency(model, ids, layer="embeddings")
    with pytest.raises(
        UsageError, match=r"layer `fc` gave \[2, 3\] for tokens of \[2, 7\]: expected a layer that embeds"
    ):
        pictures.saliency(model, ids, layer="fc")
    with pytest.raises(UsageError, match="the input holds numbers already"):
        pictures.saliency(seeded(Convolutional), images(), layer="conv1")
    with pytest.raises(UsageError, match=r"tokens= has \[1, 1\] words, but the input holds 2 x 7 tokens"):
        pictures.saliency(model, ids, tokens=["a"])
    with pytest.raises(UsageError, match="baseline holds token 50, but layer `embedding` knows 0 to 19"):
        pictures.integrated_gradients(model, ids, baseline=50)
    with pytest.raises(UsageError, match=r"the baseline is \[5\] and does not fit the input, \[2, 3, 16, 16\]"):
        pictures.integrated_gradients(seeded(Convolutional), images(), baseline=torch.zeros(5))
    with pytest.raises(UsageError, match="no method 'simpson' to integrate by"):
        pictures.integrated_gradients(model, ids, method="simpson")
    with pytest.raises(UsageError, match=r"window of \[3, 20, 20\] with a stride of .* does not cover"):
        pictures.occlusion(seeded(Convolutional), images(), window=20)
    given = images()
    given[1] = float("nan")
    for function in FUNCTIONS:
        with pytest.raises(UsageError, match="score for example 1 is NaN or Inf: there is nothing to explain"):
            function(seeded(Convolutional), given)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_wrong_keyword_is_told_by_the_function_that_was_called_before_the_model_runs(function: Any) -> None:
    def refuse(*given: Any) -> None:
        raise AssertionError("the model ran")

    model = seeded(Table)
    model.register_forward_pre_hook(refuse)
    said = rf"^{function.__name__}\(\) got an unexpected keyword argument 'targets'; for the drawing it takes"
    with pytest.raises(TypeError, match=said):
        function(model, torch.ones(2, 6), targets=3)


class Cut(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = seeded(Table)

    @torch.no_grad()
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.inner(x)


@pytest.mark.parametrize("function", FUNCTIONS[:4])
def test_a_score_without_a_gradient_is_told_and_occlusion_needs_none(function: Any) -> None:
    with pytest.raises(UsageError, match=r"cannot be differentiated with respect to the input: .*torch\.no_grad\(\)"):
        function(Cut(), rows())
    expected = pictures.occlusion(seeded(Table), rows()).attributions
    np.testing.assert_array_equal(pictures.occlusion(Cut(), rows()).attributions, expected)


def test_a_score_that_does_not_move_is_said_in_the_note() -> None:
    model = seeded(Table)
    nn.init.zeros_(model.layers[2].weight)
    found = pictures.saliency(model, rows())
    assert found.note == "All attributions are zero: the score does not change here."
    assert found.png().startswith(b"\x89PNG")
