"""Rollout and flow agree with the slow, obvious way."""

from __future__ import annotations

import io
import itertools

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from tests.pictures.goldens import assert_as_looked_at
from tests.pictures.models import Language, VisionTransformer, images, seeded, tokens
from tests.untouched_models import model_untouched
from torch_debugger import pictures
from torch_debugger.pictures.attention_across_layers import max_flow
from torch_debugger.pictures.token_grids import patches_of
from torch_debugger.system.errors import UsageError


def layers(count: int, size: int, batch: int = 2, heads: int = 3) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(count)
    return [(torch.randn(batch, heads, size, size, generator=generator) * 2).softmax(-1) for _ in range(count)]


def slow_rollout(weights: list[torch.Tensor], sample: int, how: str) -> NDArray[np.float64]:
    size = weights[0].shape[-1]
    rolled = np.eye(size)
    for layer in weights:
        heads = layer[sample].double().numpy()
        together = np.zeros((size, size))
        for out, looked_at in itertools.product(range(size), range(size)):
            column = heads[:, out, looked_at]
            together[out, looked_at] = column.max() if how == "max" else sum(column) / len(column)
            together[out, looked_at] += out == looked_at
        rolled = (together / together.sum(1, keepdims=True) if how == "mean" else _half(heads, together)) @ rolled
    return rolled


def _half(heads: NDArray[np.float64], with_identity: NDArray[np.float64]) -> NDArray[np.float64]:
    """Half the residual, half the attention, before the rows are made to sum to 1."""
    mixed = with_identity / 2
    return mixed / mixed.sum(1, keepdims=True)


@pytest.mark.parametrize("how", ["mean", "max"])
def test_rollout_is_the_product_of_the_layers(how: str) -> None:
    given = layers(3, 4)
    seen = pictures.attention_rollout(given, heads=how)
    np.testing.assert_allclose(seen.rollout[1], slow_rollout(given, 1, how), atol=1e-6)
    np.testing.assert_allclose(seen.rollout.sum(-1), 1, atol=1e-12)
    assert seen.maps is None and seen.layers == ("layer 0", "layer 1", "layer 2")


def smallest_cut(capacities: NDArray[np.float64], source: int, sink: int) -> float:
    """The least that must be cut to part them: what the greatest flow is equal to, tried in every way."""
    count, size = capacities.shape[:2]
    free = [(level, node) for level in range(1, count) for node in range(size)]
    least = np.inf
    for sides in itertools.product((False, True), repeat=len(free)):
        with_source = {place for place, side in zip(free, sides, strict=True) if side} | {(count, source)}
        with_source |= {(0, node) for node in range(size) if node != sink}
        cut = sum(
            capacities[level - 1, node, below]
            for level, node in with_source
            if level
            for below in range(size)
            if (level - 1, below) not in with_source
        )
        least = min(least, cut)
    return least


@pytest.mark.parametrize(("count", "size"), [(1, 3), (2, 4), (3, 4), (4, 3)])
def test_the_greatest_flow_is_the_smallest_cut(count: int, size: int) -> None:
    for seed in range(3):
        drawn = np.random.default_rng(seed).random((count, size, size)) ** 4
        capacities = drawn / drawn.sum(-1, keepdims=True)
        for source, sink in ((0, 0), (1, 2)):
            expected = smallest_cut(capacities, source, sink)
            assert max_flow(capacities, source, sink) == pytest.approx(expected, abs=1e-5)


def test_a_flow_is_taken_back_where_that_lets_more_pass() -> None:
    """The widest path first goes where only another can end: without going back 1.0 would be all."""
    capacities = np.zeros((3, 2, 2))
    capacities[2] = [[1.0, 0.9], [0, 0]]  # both nodes are reached,
    capacities[1] = [[0.8, 1.0], [0.0, 0.9]]  # the second one leads only to the second,
    capacities[0] = [[0.8, 0.0], [1.0, 0.0]]  # which takes 1.0
    assert max_flow(capacities, 0, 0) == pytest.approx(1.8)


def test_what_a_class_token_sees_lies_over_the_image() -> None:
    model, given = seeded(VisionTransformer), images(size=16)
    with model_untouched(model, given):
        seen = pictures.attention_rollout(model, given, sample=1)
    assert seen.maps is not None
    np.testing.assert_array_equal(seen.maps[1].ravel(), seen.rollout[1, 0, 1:])
    assert_as_looked_at(seen, "attention_rollout")


def test_the_flow_to_a_class_token() -> None:
    model, given = seeded(VisionTransformer), images(size=16)
    with model_untouched(model, given):
        seen = pictures.attention_flow(model, given, heads="max")
    assert seen.map is not None and seen.map.shape == (4, 4)
    assert (seen.flow > 0).all() and (seen.flow <= 1 + 1e-9).all()
    assert seen.png()


def test_the_flow_to_a_word() -> None:
    seen = pictures.attention_flow(seeded(Language), tokens(), output=2, tokens=list("abcdefg"))
    assert (seen.flow[:3] > 0).all() and (seen.flow[3:] == 0).all()  # a causal model does not see what comes
    assert seen.png()


@pytest.mark.parametrize(
    ("count", "size", "found"),
    [(197, (224, 224), (1, 14, 14)), (201, (224, 224), (5, 14, 14)), (64, (32, 32), (0, 8, 8)),
     (33, (16, 32), (1, 4, 8)), (3, (32, 32), None), (41, (32, 32), (5, 6, 6))],
)  # fmt: skip
def test_patches_of_an_image(count: int, size: tuple[int, int], found: tuple[int, int, int] | None) -> None:
    assert patches_of(count, torch.zeros(1, 3, *size)) == found


def test_what_cannot_be_is_said() -> None:
    with pytest.raises(
        UsageError, match=r"the same tokens look at themselves, but `layer 0` is 4 by 4.*`layer 1` is 5 by 5"
    ):
        pictures.attention_rollout([layers(1, 4)[0], layers(1, 5)[0]])
    with pytest.raises(UsageError, match=r"12 layers of 100 tokens would take too long.*at most 4,000,000"):
        pictures.attention_flow(layers(12, 100, batch=1, heads=1))
    with pytest.raises(UsageError, match=r"output=4 was asked for, but there are 4 tokens"):
        pictures.attention_flow(layers(2, 4), output=4)
    with pytest.raises(UsageError, match=r"sample=2 was asked for, but the batch has 2"):
        pictures.attention_rollout(layers(2, 4), sample=2)


def test_a_layer_that_looks_from_some_tokens_to_others_is_not_compared_with_itself() -> None:
    crossing = [torch.rand(1, 2, 6, 3).softmax(-1)]
    with pytest.raises(UsageError, match=r"themselves, but `attention` is 6 by 3 for 1 example: choose others"):
        pictures.attention_rollout(crossing)


def test_a_long_title_is_whole() -> None:
    figure = pictures.attention_rollout(layers(2, 4)).figure()
    figure.savefig(io.BytesIO(), format="png")
    title = figure._suptitle  # type: ignore[attr-defined]
    assert title.get_text().replace("\n", " ").endswith("mean of heads, example 0 of 2")
    assert title.get_window_extent().x1 <= figure.bbox.x1
