"""What we write, TensorBoard reads; what it writes, we read."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import tensorboardX
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.plugins.scalar.summary_v2 import scalar_pb
from tensorboard.summary.writer.event_file_writer import EventFileWriter
from tensorboard.util import tensor_util

from tests.runlog.logs import LAYERS, WEIGHTS, event_file, read, rows, scalars, small_run, write
from tests.runlog.peers import tensorboard_events, tensorboard_run
from torch_debugger.records import Scalars


def test_every_event_is_seen(tmp_path: Path) -> None:
    write(tmp_path, small_run())

    events = tensorboard_events(event_file(tmp_path))

    assert events[0].file_version == "brain.Event:2"
    assert [event.step for event in events[1:]] == [0, 1, 1, 2, 2, 2, 2, 3, 3, 300, 300, 0]


def test_curves_are_equal_nan_and_inf_included(tmp_path: Path) -> None:
    values = [0.5, float("nan"), float("inf"), -float("inf"), 1e-42, 3.0e38, -0.0]
    write(tmp_path, [Scalars(step * 1000, 5.0 + step, {"loss": value}) for step, value in enumerate(values)])

    curve = tensorboard_run(tmp_path).Scalars("loss")

    back = [point.value for point in curve]
    np.testing.assert_array_equal(np.float32(back), np.float32(values))
    assert math.copysign(1, back[-1]) == -1
    assert [point.step for point in curve] == [0, 1000, 2000, 3000, 4000, 5000, 6000]
    assert [point.wall_time for point in curve] == [5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0]


def test_standard_tags_are_plain_scalars(tmp_path: Path) -> None:
    write(tmp_path, [scalars(step, "loss", "lr/0", "grad_norm") for step in range(100)])

    run = tensorboard_run(tmp_path)

    assert run.Tags()["scalars"] == ["loss", "lr/0", "grad_norm"]
    assert [point.value for point in run.Scalars("lr/0")] == [step + 0.25 for step in range(100)]


def test_steps_of_any_size_are_equal(tmp_path: Path) -> None:
    steps = [-1, 0, 127, 128, 2**31, 2**35, 2**62]
    write(tmp_path, [scalars(step, "loss") for step in steps])

    assert [event.step for event in tensorboard_events(event_file(tmp_path))[1:]] == steps


def test_rows_are_tensors_with_their_heading(tmp_path: Path) -> None:
    written = [rows(1), rows(2, WEIGHTS), rows(3), rows(4)]
    write(tmp_path, written)

    run = tensorboard_run(tmp_path)

    tensors = [tensor_util.make_ndarray(point.tensor_proto) for point in run.Tensors("torch_debugger/rows/0")]
    for tensor, row in zip(tensors, [written[0], written[2], written[3]], strict=True):
        np.testing.assert_array_equal(tensor, row.values)
    plugin = run.SummaryMetadata("torch_debugger/rows/0").plugin_data
    assert plugin.plugin_name == "torch_debugger"
    lists = {"names": [*LAYERS.names], "columns": [*LAYERS.columns], "dtypes": [*LAYERS.dtypes]}
    assert json.loads(plugin.content) == {"kind": "activation", "root": "net", **lists}


def test_other_records_are_texts(tmp_path: Path) -> None:
    write(tmp_path, small_run())

    (end,) = tensorboard_run(tmp_path).Tensors("torch_debugger/record/EndFact")

    text = tensor_util.make_ndarray(end.tensor_proto).item()
    assert json.loads(text) == {"outcome": "finished", "steps": 300, "counted": "optimizer steps"}


def test_scalars_of_tensorboardx_in_the_same_folder_are_read(tmp_path: Path) -> None:
    write(tmp_path, [scalars(1, "loss")])
    with tensorboardX.SummaryWriter(str(tmp_path)) as theirs:
        theirs.add_scalar("user/accuracy", 0.5, 7, walltime=3.0)
        theirs.add_histogram("weights", np.zeros(10), 7)
        theirs.add_text("note", "hello", 7)

    records = read(tmp_path)

    assert Scalars(7, 3.0, {"user/accuracy": 0.5}) in records
    assert scalars(1, "loss") in records
    assert len(records) == 2


def test_scalars_in_the_newer_tensor_form_are_read(tmp_path: Path) -> None:
    theirs = EventFileWriter(str(tmp_path))
    for step, value in enumerate([0.0, 0.5, float("inf")]):
        theirs.add_event(Event(step=step, wall_time=9.0, summary=scalar_pb("accuracy", value)))
    theirs.close()

    assert read(tmp_path) == [Scalars(s, 9.0, {"accuracy": v}) for s, v in enumerate([0.0, 0.5, float("inf")])]


def test_scalars_of_tensorboard_itself_are_read(tmp_path: Path) -> None:
    theirs = EventFileWriter(str(tmp_path))
    values = [Summary.Value(tag="a", simple_value=1.0), Summary.Value(tag="b", simple_value=2.0)]
    theirs.add_event(Event(step=4, wall_time=9.0, summary=Summary(value=values)))
    theirs.close()

    assert read(tmp_path) == [Scalars(4, 9.0, {"a": 1.0, "b": 2.0})]
