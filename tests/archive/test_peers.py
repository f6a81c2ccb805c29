"""What other tools wrote is read as TensorBoard reads it, and what TensorBoard would drop is there as well."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorboardX
import torch.utils.tensorboard
from PIL import Image
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary, SummaryMetadata
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.util.tensor_util import make_tensor_proto

from tests.runlog.peers import tensorboard_run
from torch_debugger.log.run import Run
from torch_debugger.log.tfrecord import frame

WRITERS = [torch.utils.tensorboard.SummaryWriter, tensorboardX.SummaryWriter]


@pytest.fixture(params=WRITERS, ids=["torch", "tensorboardX"])
def writer(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    return request.param(str(tmp_path))


def write_events(folder: Path, events: list[Event]) -> Run:
    first = Event(wall_time=1.0, file_version="brain.Event:2")
    payloads = [event.SerializeToString() for event in [first, *events]]
    (folder / "events.out.tfevents.1").write_bytes(frame(payloads))
    return Run(folder)


def test_every_scalar_of_another_writer(writer: Any, tmp_path: Path) -> None:
    for step in range(3000):
        writer.add_scalar("loss", 1 / (step + 1), step)
        writer.add_scalar("acc", step, step)
        if step % 100 == 0:
            writer.add_scalar("eval/loss", -step, step)
    writer.close()

    run, theirs = Run(tmp_path), tensorboard_run(tmp_path)

    assert run.tags["scalars"] == ["loss", "acc", "eval/loss"]
    for tag in run.tags["scalars"]:
        curve, points = run.scalars(tag), theirs.Scalars(tag)
        assert curve.steps.tolist() == [point.step for point in points]
        assert curve.values.tolist() == [point.value for point in points]
        assert curve.times.tolist() == [point.wall_time for point in points]
    assert curve.steps.dtype == np.int64 and curve.values.dtype == curve.times.dtype == np.float64
    assert run.steps == 2999 and run.status == "unknown" and run.verdict is None and not run.damage


def test_histograms_of_another_writer(writer: Any, tmp_path: Path) -> None:
    values = np.random.default_rng(0).normal(size=500)
    writer.add_histogram("weights", values, 7)
    writer.close()

    (histogram,) = Run(tmp_path).histograms("weights")

    assert histogram.step == 7
    assert histogram.counts.sum() == 500
    assert (histogram.lefts <= histogram.rights).all()
    assert histogram.lefts[0] == pytest.approx(values.min()) and histogram.rights[-1] == pytest.approx(values.max())
    edges = zip(histogram.lefts, histogram.rights, strict=True)
    inside = [((values > left) & (values <= right)).sum() for left, right in edges]
    assert sum(inside) >= 499  # the least value stands on the first edge


def test_pictures_and_texts_of_another_writer(writer: Any, tmp_path: Path) -> None:
    pixels = np.random.default_rng(0).random((3, 6, 8))
    writer.add_image("digits", pixels, 3)
    writer.add_text("note", "größer", 4)
    writer.close()
    run = Run(tmp_path)

    (picture,) = run.pictures("digits")
    assert (picture.step, picture.width, picture.height) == (3, 8, 6)
    assert Image.open(io.BytesIO(picture.data)).size == (8, 6)
    (tag,) = run.tags["texts"]
    (text,) = run.texts(tag)
    assert (text.step, text.text) == (4, "größer")


def test_sounds_of_another_writer(tmp_path: Path) -> None:
    with torch.utils.tensorboard.SummaryWriter(str(tmp_path)) as writer:
        writer.add_audio("beep", torch.zeros(1, 50), 5)

    (sound,) = Run(tmp_path).sounds("beep")

    assert sound.step == 5 and sound.data[:4] == b"RIFF" and sound.kind == "audio/wav"


def test_hyperparameters_of_another_writer(writer: Any, tmp_path: Path) -> None:
    writer.add_hparams({"lr": 0.1, "name": "adam"}, {"best": 1.5})
    writer.close()

    (folder,) = (path for path in tmp_path.iterdir() if path.is_dir())
    run = Run(folder)

    assert run.hparams == {"lr": 0.1, "name": "adam"}
    assert run.scalars("best").values.tolist() == [1.5]


def test_a_restart_takes_back_what_it_writes_again(tmp_path: Path) -> None:
    for purge in (None, 5):
        writer = torch.utils.tensorboard.SummaryWriter(str(tmp_path), purge_step=purge, filename_suffix=f".{purge}")
        for step in range(purge or 0, 8):
            writer.add_scalar("loss", step + (purge or 0), step)
            writer.add_histogram("weights", np.ones(3), step)
        writer.close()
    files = sorted(tmp_path.iterdir(), key=lambda path: path.name.endswith(".5"))
    for number, path in enumerate(files):
        path.rename(tmp_path / f"events.out.tfevents.{number}")

    run, theirs = Run(tmp_path), tensorboard_run(tmp_path)

    assert run.scalars("loss").steps.tolist() == [0, 1, 2, 3, 4, 5, 6, 7]
    assert run.scalars("loss").values.tolist() == [point.value for point in theirs.Scalars("loss")]
    assert [histogram.step for histogram in run.histograms("weights")] == [0, 1, 2, 3, 4, 5, 6, 7]


def test_steps_that_repeat_or_go_back_without_a_mark_are_kept(tmp_path: Path) -> None:
    with torch.utils.tensorboard.SummaryWriter(str(tmp_path)) as writer:
        for step in [0, 1, 2, 3, 2, 3, 3, 4]:
            writer.add_scalar("loss", step, step)

    assert Run(tmp_path).scalars("loss").steps.tolist() == [0, 1, 2, 3, 2, 3, 3, 4]


@pytest.mark.parametrize("count", [1, 30], ids=["alone", "in columns"])
@pytest.mark.parametrize(
    "tensor",
    [
        make_tensor_proto(np.float32(2.5)),
        make_tensor_proto(np.float64(2.5)),
        make_tensor_proto(np.float16(2.5)),
        make_tensor_proto(np.array([2.5], np.float32)),
        TensorProto(dtype=1, float_val=[2.5]),
        TensorProto(dtype=2, double_val=[2.5]),
        TensorProto(dtype=1, tensor_content=np.float32(2.5).tobytes()),
        TensorProto(dtype=14, half_val=[0x4020]),
        TensorProto(dtype=19, tensor_content=np.float16(2.5).tobytes()),
    ],
)
def test_scalars_in_any_kind_of_tensor(tmp_path: Path, tensor: TensorProto, count: int) -> None:
    metadata = SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name="scalars"))
    value = Summary.Value(tag="loss", tensor=tensor, metadata=metadata)
    events = [Event(wall_time=2.0, step=step, summary=Summary(value=[value])) for step in range(count)]

    curve = write_events(tmp_path, events).scalars("loss")

    assert curve.values.tolist() == [2.5] * count
    assert curve.steps.tolist() == list(range(count))


@pytest.mark.parametrize("kind", [np.int32, np.int64, np.uint8, np.bool_, np.int8, np.uint32, np.uint64])
def test_whole_numbers_in_tensors(tmp_path: Path, kind: type) -> None:
    metadata = SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name="scalars"))
    value = Summary.Value(tag="count", tensor=make_tensor_proto(kind(1)), metadata=metadata)

    run = write_events(tmp_path, [Event(step=1, summary=Summary(value=[value]))])

    assert run.scalars("count").values.tolist() == [1.0]


def test_tensors_of_other_plugins_are_no_scalars(tmp_path: Path) -> None:
    metadata = SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name="pr_curves"))
    value = Summary.Value(tag="curve", tensor=make_tensor_proto(np.float32(1)), metadata=metadata)
    later = Summary.Value(tag="curve", tensor=make_tensor_proto(np.float32(2)))  # the metadata came before
    events = [Event(step=step, summary=Summary(value=[each])) for step, each in enumerate([value] + [later] * 20)]

    assert write_events(tmp_path, events).tags == {"pr_curves": ["curve"]}


def test_newer_histograms_and_pictures(tmp_path: Path) -> None:
    buckets = np.array([[0.0, 1.0, 3.0], [1.0, 2.0, 4.0]])
    png = io.BytesIO()
    Image.new("RGB", (4, 2)).save(png, "PNG")
    made = {"histograms": make_tensor_proto(buckets), "images": make_tensor_proto([b"4", b"2", png.getvalue()])}
    values = [
        Summary.Value(tag=name, tensor=tensor, metadata=SummaryMetadata(plugin_data={"plugin_name": name}))
        for name, tensor in made.items()
    ]

    run = write_events(tmp_path, [Event(step=9, summary=Summary(value=values))])

    (histogram,) = run.histograms("histograms")
    assert histogram.lefts.tolist() == [0, 1] and histogram.rights.tolist() == [1, 2]
    assert histogram.counts.tolist() == [3, 4]
    (picture,) = run.pictures("images")
    assert (picture.width, picture.height, picture.data) == (4, 2, png.getvalue())


def test_pandas_gets_every_point(tmp_path: Path) -> None:
    with torch.utils.tensorboard.SummaryWriter(str(tmp_path)) as writer:
        for step in [0, 1, 1]:
            writer.add_scalar("loss", step / 2, step)
        writer.add_scalar("acc", float("nan"), 1)

    frame = Run(tmp_path).to_pandas()

    assert frame.columns.tolist() == ["tag", "step", "value", "time"]
    assert frame.tag.tolist() == ["loss", "loss", "loss", "acc"]
    assert frame.step.tolist() == [0, 1, 1, 1]
    assert frame.value.isna().tolist() == [False, False, False, True]
    assert Run(tmp_path).to_pandas("acc").tag.tolist() == ["acc"]
