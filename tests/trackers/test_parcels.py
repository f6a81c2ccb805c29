"""What a tracker is sent: every point once, settings without secrets, layers within bounds."""

from __future__ import annotations

import itertools
import math

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import fakes
from tests.trackers.runs import LOSSES, ending, records
from torch_debugger.integrations.tracker_data import LayerSeries, Packer, Parcel, StepValues
from torch_debugger.records import Record, Table, TensorRows


def packed(given: list[Record]) -> Parcel:
    packer = Packer()
    for record in given:
        packer.see(record)
    return packer.take()


def test_every_number_of_a_step_goes_in_one_point() -> None:
    points = packed([fakes.scalars(1, loss=2.0), fakes.scalars(1, {"lr/0": 0.1}), fakes.scalars(2, loss=1.0)]).points
    assert [(point.step, point.values) for point in points] == [
        (1, {"loss": 2.0, "lr/0": 0.1}),
        (2, {"loss": 1.0}),
    ]


def test_a_number_that_comes_twice_at_a_step_is_kept_twice() -> None:
    points = packed([fakes.scalars(1, loss=2.0), fakes.scalars(1, loss=3.0)]).points
    assert [point.values["loss"] for point in points] == [2.0, 3.0]


def test_nan_and_infinity_are_sent_and_settings_are_kept_apart() -> None:
    parcel = packed(records())
    sent = [point.values["loss"] for point in parcel.points if "loss" in point.values]
    numpy.testing.assert_array_equal(sent, LOSSES)
    assert parcel.hparams == {"lr": 0.1, "name": "resnet", "amp": True}
    assert parcel.facts["net/parameters"] == 32 and parcel.facts["run/torch"] == "2.13.0"
    assert parcel.facts["run/command"] == "python train.py --api-key '***'"


def test_the_script_s_arguments_and_its_text_are_not_sent() -> None:
    assert "hush-hush" not in repr(packed(records()))


@pytest.mark.parametrize("count", [0, 1, 999, 1000, 1001, 1500, 2000, 12_345])
def test_more_points_than_a_tracker_can_take_are_thinned_evenly_and_counted(count: int) -> None:
    parcel = packed(fakes.losses([0.5] * count))
    left_out = parcel.thin(1000)
    steps = [point.step for point in parcel.points]
    assert len(steps) + left_out == count and len(steps) <= 1001
    assert steps[:1] + steps[-1:] == ([1, count] if count else [])
    assert len({later - earlier for earlier, later in itertools.pairwise(steps[:-1])}) <= 1
    assert left_out == 0 or len(steps) >= 500


def test_what_was_taken_is_not_sent_again() -> None:
    packer = Packer()
    packer.see(fakes.scalars(1, loss=2.0))
    assert packer.take().points and not packer.has_points and packer.take() == Parcel()


@given(st.lists(st.tuples(st.integers(0, 3), st.dictionaries(st.sampled_from("abc"), st.floats(allow_nan=False)))))
def test_no_point_is_lost_or_made_up(given: list[tuple[int, dict[str, float]]]) -> None:
    points = packed([fakes.scalars(step, values) for step, values in given]).points
    assert [(point.step, item) for point in points for item in point.values.items()] == [
        (step, item) for step, values in given for item in values.items()
    ]


def test_tables_become_the_telling_series_of_each_tensor() -> None:
    rows = fakes.rows(2, "activation", ("mean", "std", "zeros"), {"net.0": [9, 0.5, 0.1], "net.1": [9, math.nan, 1]})
    assert {key: round(value, 6) for key, value in LayerSeries().values(rows).items()} == {
        "activation_std/net.0": 0.5,
        "activation_zeros/net.0": 0.1,
        "activation_zeros/net.1": 1.0,
    }


def test_a_model_with_very_many_layers_gives_its_spread_instead() -> None:
    table = Table("update", "optimizer", tuple(f"net.{index}" for index in range(1001)), ("ratio",))
    column = numpy.arange(1001, dtype=numpy.float32).reshape(-1, 1)
    column[7] = math.nan
    values = LayerSeries().values(TensorRows(3, table, column))
    assert values == {
        "update_ratio of optimizer/lowest": 0.0,
        "update_ratio of optimizer/median": 500.5,
        "update_ratio of optimizer/highest": 1000.0,
    }
    nothing = LayerSeries().values(TensorRows(3, table, numpy.full_like(column, math.nan)))
    assert nothing == {}


def test_all_tables_together_stay_within_some_hundred_series() -> None:
    series, keys = LayerSeries(), set()
    for number in range(20):
        names = {f"net{number}.{index}": [1.0, 0.0] for index in range(40)}
        for step in range(2):
            keys |= series.values(fakes.rows(step, "activation", ("std", "zeros"), names, root=f"net{number}")).keys()
    assert 200 < len(keys) < 450


def test_a_table_of_another_kind_is_left_in_the_log() -> None:
    assert packed([fakes.rows(1, "range", ("max",), {"net": [1.0]})]).points == []


def test_an_ending_tells_the_verdict_and_a_table_of_findings() -> None:
    told = ending()
    assert told.summary["verdict"].startswith("missing-zero-grad: Gradients are never cleared")  # type: ignore[union-attr]
    assert (told.summary["outcome"], told.summary["errors"], told.summary["warnings"]) == ("finished", 1, 0)
    assert told.rows[0][:3] == ["error", "TD101", "missing-zero-grad"] and "train.py:31" in told.rows[0]
    assert (told.exit_code, ending(7, "stopped").exit_code) == (0, 7)


def test_a_point_knows_when_it_was() -> None:
    assert packed(records()).points[0] == StepValues(1, 1_700_000_000.1, {"loss": 2.0, "lr/0": 0.1})
