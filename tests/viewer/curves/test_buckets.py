"""Buckets against the slow, obvious way: a loop over every bucket."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from torch_debugger.viewer import curves as buckets
from torch_debugger.viewer.curves import BLOCK, Chosen, Index, choose, make_index, means

VALUES = st.one_of(
    st.floats(-1e6, 1e6),
    st.just(math.nan),
    st.just(math.inf),
    st.just(-math.inf),
    st.integers(-3, 3).map(float),
)


@st.composite
def curves(draw: st.DrawFn) -> Index:
    """Some hundred points from a few drawn ones; now and then with steps that repeat or go back."""
    drawn = draw(st.lists(VALUES, min_size=1, max_size=60))
    y = np.resize(np.array(drawn), draw(st.integers(1, 900)))
    y[:: draw(st.integers(2, 50))] += draw(st.floats(-10, 10))
    gaps = np.resize(np.array(draw(st.lists(st.integers(-1, 5), min_size=1, max_size=9))), len(y))
    return make_index(np.cumsum(gaps).astype(np.float64), y)


def kind(value: float) -> str:
    return "finite" if math.isfinite(value) else "nan" if math.isnan(value) else "+" if value > 0 else "-"


def check(index: Index, chosen: Chosen) -> None:
    places = set(chosen.places.tolist())
    for start, end in zip(chosen.edges[:-1].tolist(), chosen.edges[1:].tolist(), strict=True):
        assert {start, end - 1} <= places
        bucket = index.y[start:end].tolist()
        finite = [value for value in bucket if math.isfinite(value)]
        sent = [index.y[place] for place in range(start, end) if place in places]
        if finite:
            assert min(finite) in sent
            assert max(finite) in sent
        for odd in ("nan", "+", "-"):
            of_kind = [start + place for place, value in enumerate(bucket) if kind(value) == odd]
            if of_kind:
                assert of_kind[0] in places
                assert chosen.many.get(of_kind[0], 1) == len(of_kind)


@settings(max_examples=150, deadline=None)
@given(curves(), st.integers(2, 40), st.floats(0, 1), st.floats(0, 1), st.booleans())
def test_no_extreme_and_nothing_that_is_not_finite_is_lost(
    index: Index, width: int, one: float, other: float, log: bool
) -> None:
    low, high = np.quantile(index.x, sorted((one, other)))
    chosen = choose(index, float(low), float(high), width, log)
    inside = np.flatnonzero((index.x >= low) & (index.x <= high))
    assert (np.diff(chosen.places) > 0).all()
    if not len(chosen.edges):
        assert set(inside) <= set(chosen.places.tolist())
        return
    assert chosen.edges[0] <= inside[0]
    assert chosen.edges[-1] > inside[-1]
    assert len(chosen.edges) <= width + 1
    check(index, chosen)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 6), st.integers(0, 500), st.booleans())
def test_blocks_choose_as_points_do(seed: int, width: int, margin: int, log: bool) -> None:
    random = np.random.default_rng(seed)
    y = random.normal(size=width * BLOCK * 8 + 1000 + margin)
    y[random.integers(0, len(y), 20)] = random.choice([math.nan, math.inf, -math.inf], 20)
    index = make_index(np.arange(len(y), dtype=np.float64), y)
    chosen = choose(index, margin, len(y) - margin, width, log)
    assert not (chosen.edges[:-1] % BLOCK).any()
    check(index, chosen)
    x, averages = means(index, chosen)
    slow = [np.mean(part[np.isfinite(part)]) for part in np.split(y, chosen.edges)[1:-1]]
    assert averages == pytest.approx(slow[: len(averages)], rel=1e-9, abs=1e-12)
    assert (np.diff(x) > 0).all()


def test_means_of_buckets_of_points(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(buckets, "_BLOCKS_IN_A_BUCKET", 10**9)
    y = np.sin(np.arange(5000.0))
    y[::7] = math.nan
    index = make_index(np.arange(5000.0), y)
    chosen = choose(index, 0, 5000, 10)
    slow = [np.mean(part[np.isfinite(part)]) for part in np.split(y, chosen.edges[1:-1])]
    assert means(index, chosen)[1] == pytest.approx(slow)


def test_the_points_beside_the_range_are_sent() -> None:
    index = make_index(np.arange(10.0), np.arange(10.0))
    assert choose(index, 3.5, 5.5, 100).places.tolist() == [3, 4, 5, 6]
    assert choose(index, 100, 200, 100).places.tolist() == [9]


@pytest.mark.parametrize("values", [[], [math.nan], [1.0], [math.nan] * 500])
def test_a_curve_of_nothing_much(values: list[float]) -> None:
    index = make_index(np.arange(len(values), dtype=np.float64), np.array(values, np.float64))
    chosen = choose(index, -math.inf, math.inf, 20)
    assert len(chosen.places) == len(values) or chosen.many
    means(index, chosen)


def test_steps_that_go_back_are_put_in_order() -> None:
    index = make_index(np.array([0.0, 5, 2, math.nan, 2]), np.array([1.0, 2, 3, 4, 5]))
    assert index.x.tolist() == [0, 2, 2, 5]
    assert index.y.tolist() == [1, 3, 5, 2]
