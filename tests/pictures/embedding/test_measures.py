"""The numbers about features agree with the slow, obvious way, and with examples that everybody knows."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from torch_debugger.pictures.embedding_features import measured, separation
from torch_debugger.pictures.embedding_plots import principal_components


def drawn(*shape: int) -> NDArray[np.float64]:
    return np.random.default_rng(4).normal(size=shape)


@pytest.mark.parametrize("shape", [(40, 7), (9, 30), (1100, 1010), (2, 3)])
def test_principal_components_are_those_of_the_covariance(shape: tuple[int, int]) -> None:
    """The third form is large enough for the randomised way."""
    stretched = drawn(*shape) * 30 / np.arange(1, shape[1] + 1)
    found = principal_components(stretched, 2)
    values, vectors = np.linalg.eigh(np.cov(stretched.T))
    expected = (stretched - stretched.mean(0)) @ vectors[:, ::-1][:, :2]
    scale = np.abs(expected).max()
    np.testing.assert_allclose(np.abs(found.points), np.abs(expected), atol=1e-3 * scale)
    np.testing.assert_allclose(found.shares, values[::-1][:2] / values.sum(), atol=1e-4)


def test_the_sign_of_a_component_is_fixed() -> None:
    """The same points in another order would otherwise be mirrored now and then."""
    rows = drawn(50, 5)
    order = np.random.default_rng(1).permutation(50)
    np.testing.assert_allclose(
        principal_components(rows, 2).points[order], principal_components(rows[order], 2).points, atol=1e-9
    )


def test_dimensions_that_are_used() -> None:
    corners = np.vstack([np.eye(4), -np.eye(4)])
    wide = np.hstack([corners, np.zeros((8, 6))])  # four directions alike, six that are dead
    numbers = measured(wide, None)
    assert numbers.effective_dimensions == pytest.approx(4)
    assert numbers.dimensions_for_90 == 4
    assert numbers.dead_share == pytest.approx(0.6)
    assert measured(np.outer(np.arange(9.0), np.ones(5)), None).effective_dimensions == pytest.approx(1)


def test_the_mean_cosine_of_all_pairs() -> None:
    rows = drawn(12, 5) + 1
    units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    pairs = [units[a] @ units[b] for a in range(12) for b in range(12) if a != b]
    assert measured(rows, None).mean_cosine == pytest.approx(np.mean(pairs))


def test_a_collapsed_layer_shows() -> None:
    collapsed = np.tile([1.0, 2.0, 3.0], (20, 1))
    numbers = measured(collapsed, [0, 1] * 10)
    assert numbers.mean_cosine == pytest.approx(1) and numbers.dead_share == 1
    assert numbers.effective_dimensions == 0 and numbers.dimensions_for_90 == 0
    assert numbers.separation == pytest.approx(0, abs=1e-6)


def test_separation_agrees_with_the_slow_way() -> None:
    rows, classes = drawn(30, 4), np.arange(30) % 3
    rows[classes == 1] += 3
    scores = []
    for place, row in enumerate(rows):
        others = [each for each in range(30) if each != place]
        means = [rows[[each for each in others if classes[each] == kind]].mean(0) for kind in range(3)]
        away = [float(np.linalg.norm(row - mean)) for mean in means]
        inside = away.pop(classes[place])
        scores.append((min(away) - inside) / max(min(away), inside))
    assert separation(rows, classes.tolist()) == pytest.approx(np.mean(scores))


def test_separation_tells_parted_from_mixed() -> None:
    classes = ["a", "b"] * 50
    apart = drawn(100, 3) + np.array([[0.0], [50.0]] * 50)
    assert separation(apart, classes) == pytest.approx(1, abs=0.1)
    assert separation(drawn(100, 3), classes) == pytest.approx(0, abs=0.2)
    assert separation(apart, list(range(100))) is None  # no two of a kind


def test_it_says_it_in_words() -> None:
    assert str(measured(np.vstack([np.eye(3), -np.eye(3)]), ["a", "b", "c"] * 2)) == (
        "6 points of 3 features: 3.0 effective dimensions, 90 % of the variance in 3\n"
        "mean cosine of two points -0.20, 0% of the features are constant, separation of classes -0.50"
    )
