"""What add_custom_scalars and add_pr_curve have written, beside what TensorBoard's own plugins make of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorboardX
import torch.utils.tensorboard
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary, SummaryMetadata
from tensorboard.plugins.custom_scalar import layout_pb2
from tensorboard.plugins.pr_curve.pr_curves_plugin import PrCurvesPlugin
from tensorboard.util.tensor_util import make_ndarray, make_tensor_proto

import torch_debugger
from tests.archive.test_peers import write_events
from tests.runlog.peers import tensorboard_run
from torch_debugger.log.media import Margin, ScalarChart
from torch_debugger.log.run import Run

WRITERS = [torch.utils.tensorboard.SummaryWriter, tensorboardX.SummaryWriter, torch_debugger.SummaryWriter]
LAYOUT = {
    "Losses": {
        "all": ["Multiline", ["loss", "trade/.*"]],
        "band": ["Margin", ["loss", "trade/lo", "trade/hi"]],
    },
    "Ärger": {"none": ["Multiline", ["missing"]]},
}


@pytest.fixture(params=WRITERS, ids=["torch", "tensorboardX", "ours"])
def writer(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    return request.param(str(tmp_path))


def layout_of_theirs(folder: Path) -> Any:
    (event, *_) = tensorboard_run(folder).Tensors("custom_scalars__config__")
    layout = layout_pb2.Layout()
    layout.ParseFromString(make_ndarray(event.tensor_proto).item())
    return layout


def test_a_layout_is_read_as_tensorboard_reads_it(writer: Any, tmp_path: Path) -> None:
    writer.add_custom_scalars(LAYOUT)
    writer.close()

    categories, theirs = Run(tmp_path).scalar_categories, layout_of_theirs(tmp_path)

    assert [category.title for category in categories] == [each.title for each in theirs.category] == [*LAYOUT]
    for category, other in zip(categories, theirs.category, strict=True):
        assert [chart.title for chart in category.charts] == [chart.title for chart in other.chart]
        for chart, another in zip(category.charts, other.chart, strict=True):
            assert list(chart.patterns) == list(another.multiline.tag)
            margins = [Margin(each.value, each.lower, each.upper) for each in another.margin.series]
            assert list(chart.margins) == margins
    assert categories[0].charts[1].margins == (Margin("loss", "trade/lo", "trade/hi"),)


def test_charts_that_are_added_one_by_one_are_all_there(writer: Any, tmp_path: Path) -> None:
    writer.add_custom_scalars_multilinechart(["a", "b"], category="One", title="two lines")
    writer.add_custom_scalars_marginchart(["a", "lo", "hi"], category="One", title="a band")
    writer.close()

    (category,) = Run(tmp_path).scalar_categories

    assert [chart.title for chart in category.charts] == ["two lines", "a band"]


def test_a_category_that_is_closed_at_first(tmp_path: Path) -> None:
    layout = layout_pb2.Layout(category=[layout_pb2.Category(title="C", closed=True)])
    metadata = SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name="custom_scalars"))
    tensor = make_tensor_proto(layout.SerializeToString(), shape=())
    value = Summary.Value(tag="custom_scalars__config__", tensor=tensor, metadata=metadata)
    run = write_events(tmp_path, [Event(wall_time=1.0, summary=Summary(value=[value]))])

    assert [(each.title, each.closed) for each in run.scalar_categories] == [("C", True)]


def test_which_tags_belong_into_a_chart() -> None:
    tags = ["loss", "loss/a", "trade/hi", "a+b"]
    assert ScalarChart("", ("trade/.*", "loss")).tags_in(tags) == ["trade/hi", "loss", "loss/a"]
    assert ScalarChart("", ("loss$", "loss")).tags_in(tags) == ["loss", "loss/a"], "each once"
    assert ScalarChart("", ("a+b", "a+b)")).tags_in([*tags, "a+b)"]) == ["a+b)"], "one that is no pattern is a name"


def test_a_damaged_layout_is_none(tmp_path: Path) -> None:
    metadata = SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name="custom_scalars"))
    tensor = make_tensor_proto(b"\x12\xff\xff", shape=())
    value = Summary.Value(tag="custom_scalars__config__", tensor=tensor, metadata=metadata)
    run = write_events(tmp_path, [Event(wall_time=1.0, summary=Summary(value=[value]))])

    assert run.scalar_categories == []


def test_a_pr_curve_is_read_as_tensorboard_reads_it(writer: Any, tmp_path: Path) -> None:
    draw = np.random.default_rng(0)
    labels = draw.integers(0, 2, 300)
    for step in (1, 5):
        writer.add_pr_curve("cat", labels, np.clip(0.4 * labels + 0.5 * draw.uniform(size=300), 0, 1), step)
    writer.close()

    curves, theirs = Run(tmp_path).pr_curves("cat"), tensorboard_run(tmp_path).Tensors("cat")

    assert [curve.step for curve in curves] == [1, 5]
    for curve, event in zip(curves, theirs, strict=True):
        entry = PrCurvesPlugin._make_pr_entry(None, event.step, event.wall_time, make_ndarray(event.tensor_proto))
        assert curve.precision.tolist() == entry["precision"] and curve.recall.tolist() == entry["recall"]
        assert curve.thresholds.tolist() == pytest.approx(entry["thresholds"])
        assert curve.true_positives.astype(int).tolist() == entry["true_positives"]
    assert len(curves[0].recall) < 127, "where nothing is called positive there is no precision"


def test_average_precision_is_that_of_the_definition(tmp_path: Path) -> None:
    labels, scores = np.array([0, 0, 1, 1]), np.array([0.1, 0.4, 0.35, 0.8])
    with torch.utils.tensorboard.SummaryWriter(str(tmp_path)) as writer:
        writer.add_pr_curve("x", labels, scores, 1)

    (curve,) = Run(tmp_path).pr_curves("x")

    assert curve.average_precision == pytest.approx(0.8333, abs=1e-3)  # as in scikit-learn's own example
    assert curve.f1[curve.best] == pytest.approx(0.8)
    assert curve.precision[curve.best] == pytest.approx(2 / 3) and curve.recall[curve.best] == 1


def test_a_pr_curve_of_another_shape_is_left_out(tmp_path: Path) -> None:
    metadata = SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name="pr_curves"))
    value = Summary.Value(tag="x", tensor=make_tensor_proto(np.zeros((2, 3), np.float32)), metadata=metadata)
    run = write_events(tmp_path, [Event(wall_time=1.0, summary=Summary(value=[value]))])

    assert run.tags == {"pr_curves": ["x"]} and run.pr_curves("x") == []
