"""Where other writers raise into the training, ours says what came, what it wanted, and where; once."""

from __future__ import annotations

import copy
import io
import math
import pickle
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.summaries.peers import accumulated
from torch_debugger import SummaryWriter

BAD_CALLS: dict[str, tuple[Callable[[Any], object], str]] = {
    "a picture without channels": (
        lambda w: w.add_image("p", torch.zeros(8, 9)),
        "add_image('p') at FILE:LINE wrote nothing: expected 3 dimensions for dataformats='CHW', got a shape "
        "of [8, 9]; for a grey picture say dataformats=\"HW\". The training goes on.",
    ),
    "several pictures as one": (
        lambda w: w.add_image("p", torch.zeros(2, 3, 8, 8)),
        "expected 3 dimensions for dataformats='CHW', got a shape of [2, 3, 8, 8]; for several pictures use "
        "add_images.",
    ),
    "two channels": (
        lambda w: w.add_image("p", torch.zeros(2, 8, 9)),
        "expected 1, 3 or 4 channels, got 2 in [height, width, channels] of [8, 9, 2]; is dataformats right? T",
    ),
    "no pixels": (lambda w: w.add_image("p", torch.zeros(3, 0, 9)), "got one without pixels: a shape of [0, "),
    "an unknown order": (lambda w: w.add_image("p", torch.zeros(3, 8, 8), dataformats="CHC"), "got 'CHC'"),
    "no gradient": (lambda w: w.add_histogram("h", None), "expected a tensor or an array, got None."),
    "a complex histogram": (
        lambda w: w.add_histogram("h", torch.zeros(3, dtype=torch.complex64)),
        "expected real numbers, got torch.complex64; hand over .abs(), or .real and .imag one by one.",
    ),
    "words as values": (lambda w: w.add_histogram("h", ["a"]), "expected numbers, got list of dtype <U1."),
    "an unknown rule": (lambda w: w.add_histogram("h", torch.ones(3), bins="many"), "'many' is not a valid"),
    "bins that fall": (lambda w: w.add_histogram("h", torch.ones(3), bins=[2.0, 1.0]), "monotonically"),
    "many numbers as one": (
        lambda w: w.add_scalar("loss", torch.ones(2, 3)),
        "add_scalar('loss') at FILE:LINE wrote nothing: expected one number, got 6 in a shape of [2, 3].",
    ),
    "no number": (lambda w: w.add_scalar("loss", None, 1), "expected a number, got None."),
    "a list as a number": (lambda w: w.add_scalar("loss", [1.0]), "expected one number, got a list of 1."),
    "a step by another name": (
        lambda w: w.add_scalar("loss", 1.0, step=3),
        "wrote nothing: there is no parameter step; the step is called global_step.",
    ),
    "nothing at all": (lambda w: w.add_scalar(), "add_scalar() at FILE:LINE wrote nothing: expected a number"),
    "curves in a list": (
        lambda w: w.add_scalars("both", [1, 2]),
        "expected numbers by name in a dictionary, got a list.",
    ),
    "a layout in a list": (
        lambda w: w.add_custom_scalars([1]),
        'expected {category: {title: ["Multiline" or "Margin", tags]}}, got [1].',
    ),
    "an embedding of nothing": (lambda w: w.add_embedding(None), "expected a tensor or an array, got None."),
    "a word as a number": (lambda w: w.add_scalar("loss", "low", 1), "could not convert string to float"),
    "a tensor without values": (lambda w: w.add_scalar("loss", torch.ones((), device="meta")), "meta"),
    "a missing argument": (lambda w: w.add_text("note"), "missing 1 required positional argument"),
    "hyperparameters in a list": (
        lambda w: w.add_hparams([1], {"accuracy": 1.0}),
        "expected hyperparameters by name in a dictionary, got list.",
    ),
    "too few labels": (
        lambda w: w.add_pr_curve("pr", torch.ones(3), torch.ones(4)),
        "expected a prediction for each label, got 4 for 3 labels.",
    ),
    "flat points": (
        lambda w: w.add_mesh("m", torch.ones(3, 2)),
        "expected vertices of shape [batch, points, 3], got [3, 2].",
    ),
    "too many channels of sound": (
        lambda w: w.add_audio("s", torch.ones(40, 4)),
        "with one or two channels, got [40, 4].",
    ),
    "two tags for a margin": (
        lambda w: w.add_custom_scalars_marginchart(["a", "b"]),
        "expected three tags for the margin chart 'untitled' (value, lower, upper), got 2.",
    ),
    "axes for a figure": (lambda w: w.add_figure("f", "axes"), "expected a matplotlib figure, got str;"),
    "fewer counts than limits": (
        lambda w: w.add_histogram_raw("h", 0, 1, 2, 3, 4, [1.0], [1.0, 2.0]),
        "expected as many counts as limits, got 2 and 1.",
    ),
    "OpenVINO": (lambda w: w.add_openvino_graph("net.xml"), "export the model to ONNX and use add_onnx_graph."),
    "a missing ONNX file": (lambda w: w.add_onnx_graph("/nowhere/net.onnx"), "add_onnx_graph"),
    "no film": (lambda w: w.add_video("v", torch.rand(1, 2, 3, 8, 8), fps=0), "expected fps above 0, got 0."),
}  # fmt: skip


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "__stderr__", stream)
    return stream


@pytest.mark.parametrize("name", BAD_CALLS)
def test_a_call_that_cannot_be_served_is_said_and_the_rest_is_written(
    name: str, tmp_path: Path, said: io.StringIO
) -> None:
    call, expected = BAD_CALLS[name]
    with SummaryWriter(tmp_path) as writer:
        call(writer)
        writer.add_scalar("after", 1.0, 1)

    here = f"{Path(__file__).name}:{call.__code__.co_firstlineno}"
    words = said.getvalue()
    for part in expected.replace("FILE:LINE", here).split(here):
        assert part in words
    assert words.startswith("torch-debugger: ")
    assert words.count("\n") == 1
    assert accumulated(tmp_path).Tags()["scalars"] == ["after"]


def test_one_line_of_a_script_is_named_once_and_counted(tmp_path: Path, said: io.StringIO) -> None:
    with SummaryWriter(tmp_path) as writer:
        for _ in range(50):
            writer.add_histogram("gradients", None)
        writer.add_histogram("other", None)

    lines = said.getvalue().splitlines()

    assert len(lines) == 3
    assert lines[0].startswith("torch-debugger: add_histogram('gradients') at ")
    assert lines[1].startswith("torch-debugger: add_histogram('other') at ")
    assert lines[2].endswith("wrote nothing 50 times in all.")


@pytest.mark.parametrize(
    "values",
    [
        torch.randn(50).bfloat16(),
        torch.randn(50).to(torch.float8_e5m2),
        torch.tensor([True, False]),
        torch.randn(5, 5).to_sparse(),
        torch.quantize_per_tensor(torch.randn(9), 0.1, 0, torch.qint8),
        [1, 2.5, 3],
        (torch.ones(2), torch.zeros(2)),
        3.5,
        np.float16(1.5),
        torch.randn(4).requires_grad_(),
        np.arange(4, dtype=">f8"),
    ],
)
def test_values_of_every_kind_are_taken(values: Any, tmp_path: Path, said: io.StringIO) -> None:
    with SummaryWriter(tmp_path) as writer:
        writer.add_histogram("h", values, 1)
        writer.add_tensor("t", values, 1)

    assert said.getvalue() == ""
    assert accumulated(tmp_path).Tags()["tensors"] == ["t"]
    assert accumulated(tmp_path).Tags()["histograms"] == ["h"]


def test_pictures_and_sounds_with_nan_are_written(tmp_path: Path, said: io.StringIO) -> None:
    with SummaryWriter(tmp_path) as writer:
        writer.add_image("p", torch.full((3, 4, 4), math.nan), 1)
        for step in range(3):
            writer.add_audio("s", torch.tensor([0.5, math.nan, 2.0, 0.0]), step)
        writer.add_image("whole", torch.full((3, 4, 4), 200, dtype=torch.int64), 1)

    assert said.getvalue() == (
        "torch-debugger: add_image('p'): 48 of 48 values are not within 0 and 1, as floats are expected to be: "
        "they are clipped, and black where NaN. Pictures of 0 to 255 are taken as uint8.\n"
        "torch-debugger: add_audio('s'): 2 of 4 samples are not within -1 and 1: they are clipped, and silent "
        "where NaN.\n"
    )
    assert accumulated(tmp_path).Tags()["images"] == ["p", "whole"]


def test_what_is_written_is_what_was_given_not_what_it_became(tmp_path: Path) -> None:
    pixels, points = torch.zeros(3, 4, 4, dtype=torch.uint8), torch.zeros(1, 3, 3)
    with SummaryWriter(tmp_path) as writer:
        writer.add_image("p", pixels, 1)
        writer.add_tensor("t", points, 1)
        writer.add_mesh("m", points, global_step=1)
        pixels += 200
        points += 5

    run = accumulated(tmp_path)
    from PIL import Image

    assert np.asarray(Image.open(io.BytesIO(run.Images("p")[0].encoded_image_string))).max() == 0
    assert b"\x00\x00\xa0@" not in run.Tensors("t")[0].tensor_proto.tensor_content
    assert b"\x00\x00\xa0@" not in run.Tensors("m_VERTEX")[0].tensor_proto.tensor_content


def test_what_a_signal_raises_is_not_ours_to_keep(tmp_path: Path) -> None:
    class Stop(Exception):
        pass

    class Slow:
        shape = ()

        def item(self) -> float:
            signal.raise_signal(signal.SIGALRM)
            return 0.0

    def handle(number: int, frame: object) -> None:
        raise Stop

    before = signal.signal(signal.SIGALRM, handle)
    try:
        with SummaryWriter(tmp_path) as writer, pytest.raises(Stop):
            writer.add_scalar("loss", Slow(), 1)
    finally:
        signal.signal(signal.SIGALRM, before)


def test_a_writer_can_be_copied_with_its_model_and_sent_to_another_process(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer:
        assert copy.deepcopy(writer) is writer
        elsewhere = pickle.loads(pickle.dumps(writer))
        elsewhere.add_scalar("elsewhere", 1.0, 1)
        elsewhere.close()

    assert accumulated(tmp_path).Tags()["scalars"] == ["elsewhere"]


def test_an_embedding_that_had_to_be_mended_is_said_once(tmp_path: Path, said: io.StringIO) -> None:
    with SummaryWriter(tmp_path) as writer:
        for step in range(2):
            writer.add_embedding(torch.eye(3), metadata=["a", "b"], global_step=step, tag="points")

    assert said.getvalue().startswith("torch-debugger: add_embedding('points'): the embedding `points` has 3 points")
    assert said.getvalue().count("\n") == 1
