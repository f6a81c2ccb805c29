"""Histograms: the buckets of torch's writer, and what becomes of values that have none."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as some
from hypothesis.extra import numpy as arrays
from torch.utils.tensorboard import SummaryWriter as TorchWriter

from tests.summaries.peers import accumulated, ours_and_theirs
from torch_debugger import SummaryWriter
from torch_debugger.log import writer as log_writer
from torch_debugger.log.histogram_buckets import counts_by_cell, default_edges, histogram_of, widest_edges
from torch_debugger.records import HistogramSummary
from torch_debugger.summaries.arguments import _counts, _measure_on_device, histogram_record

NORMAL = torch.randn(20_000, generator=torch.Generator().manual_seed(3))
DTYPES = [torch.float64, torch.float16, torch.int64, torch.int32, torch.int8, torch.uint8, torch.bool]


@pytest.mark.parametrize(
    "values",
    [
        NORMAL,
        NORMAL.numpy(),
        NORMAL.reshape(100, -1).t(),
        NORMAL[::3],
        NORMAL * 1e-15,
        NORMAL * 1e18,
        torch.zeros(9),
        torch.tensor(2.5),
        torch.tensor([0.0, -0.0, 1e-12, -1e-12, 1.0]),
        torch.tensor(default_edges()[:-1]),
        torch.tensor(default_edges()[:-1]).float(),
        *((NORMAL * 50).to(dtype) for dtype in DTYPES),
        torch.nn.Parameter(NORMAL),
    ],
)
def test_the_buckets_are_those_of_torch(values: Any, tmp_path: Path) -> None:
    ours, theirs = ours_and_theirs(tmp_path, lambda w: w.add_histogram("h", values, 3))

    assert ours == theirs


@pytest.mark.parametrize("bins", ["auto", "fd", "doane", "scott", "stone", "rice", "sturges", "sqrt", 12])
def test_the_bins_may_be_a_rule_of_numpy_or_a_number(bins: Any, tmp_path: Path) -> None:
    ours, theirs = ours_and_theirs(tmp_path, lambda w: w.add_histogram("h", NORMAL[:500], 3, bins))

    assert ours == theirs


@pytest.mark.parametrize("bins", [[-1.0, 0.0, 0.5, 2.0], np.linspace(-3, 3, 50)])
def test_the_bins_may_be_given(bins: Any, tmp_path: Path) -> None:
    ours, theirs = ours_and_theirs(tmp_path, lambda w: w.add_histogram("h", NORMAL, 3, bins))

    assert ours == theirs


@pytest.mark.parametrize("max_bins", [1, 7, 30, 1000, 5000])
def test_bins_are_joined_as_torch_joins_them(max_bins: int, tmp_path: Path) -> None:
    ours, theirs = ours_and_theirs(tmp_path, lambda w: w.add_histogram("h", NORMAL, 3, max_bins=max_bins))

    assert ours == theirs


def test_bfloat16_and_float8_are_counted_as_they_are(tmp_path: Path) -> None:
    """torch's writer makes float16 of the one, which overflows at 65504, and cannot do the other."""
    with SummaryWriter(tmp_path) as writer:
        writer.add_histogram("brain", torch.tensor([1.0, 70000.0], dtype=torch.bfloat16))
        writer.add_histogram("eight", NORMAL.to(torch.float8_e4m3fn))

    run = accumulated(tmp_path)

    assert run.Histograms("brain")[0].histogram_value.max == 70144.0
    assert sum(run.Histograms("eight")[0].histogram_value.bucket) == len(NORMAL)


def test_the_sums_are_those_of_torch(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path / "ours") as writer, TorchWriter(str(tmp_path / "theirs")) as theirs:
        for one in (writer, theirs):
            one.add_histogram("h", NORMAL)

    ours, expected = (accumulated(tmp_path / who).Histograms("h")[0].histogram_value for who in ("ours", "theirs"))

    assert (ours.sum, ours.sum_squares) == (expected.sum, expected.sum_squares)


def test_where_the_log_has_no_room_the_caller_counts_and_nothing_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_writer, "_MUCH_BYTES", 300_000)
    with SummaryWriter(tmp_path) as writer:
        for step in range(40):
            writer.add_histogram("h", NORMAL, step)

    histograms = [point.histogram_value for point in accumulated(tmp_path).Histograms("h")]
    assert len(histograms) == 40
    assert len({tuple(one.bucket) for one in histograms}) == 1


@pytest.mark.parametrize("bins", ["tensorflow", "auto", 12, [-1.0, 0.0, 2.0]])
@pytest.mark.parametrize("spoilt", [NORMAL, torch.cat([NORMAL, torch.tensor([math.nan, math.inf])]), NORMAL[:0]])
def test_a_device_counts_as_the_host_does(bins: Any, spoilt: torch.Tensor) -> None:
    host = histogram_record((0, 0.0), "h", spoilt.double(), bins, None, lambda size: False)
    device = histogram_of(_measure_on_device(spoilt.double(), bins), 0, 0.0, "h", None)

    assert isinstance(host, HistogramSummary)
    np.testing.assert_array_equal(device.limits, host.limits)
    np.testing.assert_array_equal(device.counts, host.counts)
    assert (device.minimum, device.maximum, device.count) == (host.minimum, host.maximum, host.count)
    assert (device.nan, device.inf) == (host.nan, host.inf)
    assert device.squares == pytest.approx(host.squares)


@settings(max_examples=60, deadline=None)
@given(some.one_of(
    arrays.arrays(np.float32, 50, elements=some.floats(width=32, allow_nan=False, allow_infinity=False)),
    arrays.arrays(np.float64, 50, elements=some.floats(allow_nan=False, allow_infinity=False)),
    arrays.arrays(np.float64, 50, elements=some.sampled_from(default_edges().tolist())),
))  # fmt: skip
def test_cells_count_as_the_edges_do(values: np.ndarray) -> None:  # type: ignore[type-arg]
    expected, _ = np.histogram(values.astype(np.float64), widest_edges())

    np.testing.assert_array_equal(counts_by_cell(values), expected)
    np.testing.assert_array_equal(counts_by_cell(np.tile(values, 30)), expected * 30)
    np.testing.assert_array_equal(_counts(torch.from_numpy(values).double(), widest_edges()), expected)


def test_nan_and_inf_are_counted_beside_the_histogram(tmp_path: Path) -> None:
    nan, inf = math.nan, math.inf
    with SummaryWriter(tmp_path) as writer:
        writer.add_histogram("w", torch.tensor([1.0, 2.0]), 0)
        writer.add_histogram("w", torch.tensor([nan, 1.0, -inf, inf, 2.0]), 1)
        writer.add_histogram("w", torch.tensor([1.0, 2.0]), 2)

    run = accumulated(tmp_path)

    assert [(point.step, point.value) for point in run.Scalars("w/nan")] == [(1, 1.0)]
    assert [(point.step, point.value) for point in run.Scalars("w/inf")] == [(1, 2.0)]
    histograms = [point.histogram_value for point in run.Histograms("w")]
    assert [(one.min, one.max, one.num, sum(one.bucket)) for one in histograms] == [(1.0, 2.0, 2.0, 2.0)] * 3


@pytest.mark.parametrize(
    "values",
    [torch.full((3,), math.nan), torch.full((3,), math.inf), torch.empty(0), np.empty((0, 4)), []],
)
@pytest.mark.parametrize("bins", ["tensorflow", "auto", 5])
def test_nothing_finite_gives_an_empty_histogram(values: Any, bins: Any, tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer:
        writer.add_histogram("w", values, 0, bins)

    (point,) = accumulated(tmp_path).Histograms("w")

    assert point.histogram_value.num == 0
    assert sum(point.histogram_value.bucket) == 0


def test_values_beyond_the_largest_bin_are_counted(tmp_path: Path) -> None:
    """torch's writer raises where all are."""
    with SummaryWriter(tmp_path) as writer:
        writer.add_histogram("w", torch.tensor([1e30, -2e30, 1e30]), 0)

    (point,) = accumulated(tmp_path).Histograms("w")

    assert (point.histogram_value.min, point.histogram_value.max) == pytest.approx((-2e30, 1e30))
    assert sum(point.histogram_value.bucket) == 3
    assert point.histogram_value.sum_squares == pytest.approx(6e60)


def test_a_rule_that_asks_for_too_many_bins_gives_way(tmp_path: Path) -> None:
    """One value far from the others: numpy would need more memory than there is."""
    with SummaryWriter(tmp_path) as writer:
        writer.add_histogram("w", torch.cat([NORMAL, torch.tensor([1e15])]), 0, "auto")

    (point,) = accumulated(tmp_path).Histograms("w")

    assert sum(point.histogram_value.bucket) == len(NORMAL) + 1
