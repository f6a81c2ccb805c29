"""Meshes as three writers log them, and parts that do not fit each other."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorboardX
import torch
import torch.utils.tensorboard

import torch_debugger
from tests.runlog.peers import tensorboard_run
from tests.viewer.asking import ask
from torch_debugger.log.media import part_of
from torch_debugger.system.errors import DebuggerError
from torch_debugger.viewer.shown_runs import ShownRuns

WRITERS = [
    torch.utils.tensorboard.SummaryWriter,
    tensorboardX.SummaryWriter,
    torch_debugger.SummaryWriter,
]
CORNERS = torch.tensor([[[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], [[5.0, 5, 5], [6, 5, 5], [5, 6, 5], [5, 5, 6]]])
COLORS = torch.tensor([[[255, 0, 0], [0, 255, 0], [0, 0, 255], [7, 8, 9]]] * 2)
FACES = torch.tensor([[[0, 1, 2], [0, 1, 3]]] * 2)


def answered(folder: Path, **given: str) -> Any:
    return ask(ShownRuns({"": str(folder)}, of_others=True), "meshes", run=".", **given)


def numbers(text: str, kind: str) -> Any:
    return np.frombuffer(base64.b64decode(text), kind).reshape(-1, 3)


@pytest.fixture(params=WRITERS, ids=["torch", "tensorboardX", "ours"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    writer = request.param(str(tmp_path))
    for step in (0, 10, 20):
        writer.add_mesh("body_1", CORNERS + step, COLORS, FACES, global_step=step)
        writer.add_mesh("cloud", CORNERS[:1], global_step=step)
    writer.close()
    return tmp_path


def test_every_part_of_every_writer(folder: Path) -> None:
    listed = answered(folder)
    assert listed["unknown"] == []
    assert [(mesh["name"], mesh["parts"], mesh["steps"]) for mesh in listed["meshes"]] == [
        ("body_1", ["colors", "faces", "vertices"], [0, 10, 20]),
        ("cloud", ["vertices"], [0, 10, 20]),
    ]
    mesh = answered(folder, name="body_1", step="10", sample="1")

    assert (mesh["samples"], mesh["points"], mesh["faces"], mesh["remarks"]) == (2, 4, 2, [])
    assert (numbers(mesh["vertices"], "<f4") == CORNERS[1].numpy() + 10).all()
    assert (numbers(mesh["triangles"], "<u4") == FACES[1].numpy()).all()
    assert (numbers(mesh["colors"], "u1") == COLORS[1].numpy()).all()
    cloud = answered(folder, name="cloud", step="0")
    assert cloud["triangles"] is None and cloud["colors"] is None and cloud["points"] == 4


def test_the_same_events_as_tensorboard_finds(folder: Path) -> None:
    theirs = tensorboard_run(folder)
    listed = answered(folder)
    assert sum(len(mesh["parts"]) for mesh in listed["meshes"]) == len(theirs.Tags()["tensors"])


def test_parts_that_do_not_fit_are_left_out_and_said(tmp_path: Path) -> None:
    writer = torch_debugger.SummaryWriter(str(tmp_path))
    corners = CORNERS[:1].clone()
    corners[0, 1, 0] = float("nan")
    faces = torch.tensor([[[0, 1, 2], [0, 1, 9], [-1, 0, 1]]])
    writer.add_mesh("odd", corners, COLORS[:1, :3], faces, global_step=1)
    writer.close()
    mesh = answered(tmp_path, name="odd", step="1")

    assert mesh["faces"] == 1 and mesh["colors"] is None
    assert mesh["remarks"] == [
        "2 faces name points that are not there and are not drawn.",
        "There are 3 colors for 4 points, so none are shown.",
        "1 points with NaN or infinite coordinates are not drawn.",
    ]
    with pytest.raises(DebuggerError, match="no sample 5"):
        answered(tmp_path, name="odd", step="1", sample="5")
    with pytest.raises(DebuggerError, match="no mesh 'none'"):
        answered(tmp_path, name="none", step="1")


def test_very_large_clouds_are_thinned(tmp_path: Path) -> None:
    writer = torch_debugger.SummaryWriter(str(tmp_path))
    writer.add_mesh("large", torch.rand(1, 600_000, 3), global_step=0)
    writer.close()
    mesh = answered(tmp_path, name="large", step="0")
    assert mesh["points"] == 500_000
    assert mesh["remarks"] == ["Of 600,000 points 500,000 are drawn, evenly chosen."]


@pytest.mark.parametrize(
    ("tag", "content", "expected"),
    [
        ("a_VERTEX", b"", ("a", "vertices")),
        ("a_b_3", b"\xff", ("a_b", "colors")),
        ("a_other", b"", ("a", "")),
        ("whatever", b"\x12\x01m\x18\x02", ("m", "faces")),
    ],
)
def test_whose_part_a_tag_is(tag: str, content: bytes, expected: tuple[str, str]) -> None:
    assert part_of(tag, content) == expected
