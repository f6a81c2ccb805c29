"""Every kind of summary, compared with what torch's own writer keeps of the same call."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorboardX
import torch
from matplotlib.figure import Figure

from tests.summaries.peers import Call, ours_and_theirs

GENERATOR = torch.Generator().manual_seed(7)
PICTURE = torch.rand(3, 20, 30, generator=GENERATOR)
LABELS = torch.randint(0, 2, (500,), generator=GENERATOR)
SCORES = torch.rand(500, generator=GENERATOR)
POINTS = torch.rand(2, 5, 3, generator=GENERATOR)
SOUND = torch.rand(1, 4000, generator=GENERATOR) * 2.2 - 1.1


def figure() -> Figure:
    drawn = Figure(figsize=(2, 1))
    drawn.subplots().plot([1, 2, 1])
    return drawn


CALLS: dict[str, Call] = {
    "scalar": lambda w: w.add_scalar("loss", 0.25, 3),
    "scalar of a tensor": lambda w: w.add_scalar("loss", torch.tensor([0.25]), torch.tensor(3)),
    "scalar without a step": lambda w: w.add_scalar("loss", 4),
    "scalar of numpy": lambda w: w.add_scalar("loss", np.float32(0.5), np.int64(3)),
    "scalar in the new style": lambda w: w.add_scalar("loss", 0.25, 3, new_style=True),
    "scalar as a double": lambda w: w.add_scalar("a", 1e300, 3, new_style=True, double_precision=True),
    "infinite scalar": lambda w: w.add_scalar("loss", float("-inf"), 3),
    "scalars": lambda w: w.add_scalars("a/b", {"x": 1.0, "y": torch.tensor(2.0)}, 3),
    "image": lambda w: w.add_image("p", PICTURE, 3),
    "image of bytes": lambda w: w.add_image("p", (PICTURE * 255).byte(), 3),
    "image out of range": lambda w: w.add_image("p", PICTURE * 3 - 1, 3),
    "image of doubles": lambda w: w.add_image("p", PICTURE.double(), 3),
    "image of booleans": lambda w: w.add_image("p", PICTURE > 0.5, 3),
    "image, height first": lambda w: w.add_image("p", PICTURE.permute(1, 2, 0), 3, dataformats="HWC"),
    "image in grey": lambda w: w.add_image("p", PICTURE[0], 3, dataformats="HW"),
    "image, one channel": lambda w: w.add_image("p", PICTURE[:1], 3),
    "image, four channels": lambda w: w.add_image("p", PICTURE[[0, 1, 2, 0]], 3),
    "image of numpy, width first": lambda w: w.add_image("p", PICTURE.permute(2, 1, 0).numpy(), 3, None, "WHC"),
    "images": lambda w: w.add_images("p", PICTURE.repeat(10, 1, 1, 1), 3),
    "grey images": lambda w: w.add_images("p", PICTURE[None, :1], 3),
    "images, channels last": lambda w: w.add_images("p", PICTURE.permute(1, 2, 0)[None], dataformats="NHWC"),
    "boxes": lambda w: w.add_image_with_boxes("p", PICTURE, torch.tensor([[2.0, 3.0, 15.0, 12.0]]), 3),
    "boxes, larger": lambda w: w.add_image_with_boxes("p", PICTURE, np.array([[2, 3, 9, 9]]), 3, rescale=2),
    "boxes with words": lambda w: w.add_image_with_boxes(
        "p", PICTURE, torch.tensor([[2.0, 3.0, 25.0, 18.0]]), labels=["cat"]
    ),
    "figure": lambda w: w.add_figure("p", figure(), 3),
    "figures": lambda w: w.add_figure("p", [figure(), figure()], 3),
    "text": lambda w: w.add_text("note", "größer *than*", 3),
    "sound": lambda w: w.add_audio("s", SOUND, 3, sample_rate=8000),
    "PR curve": lambda w: w.add_pr_curve("pr", LABELS, SCORES, 3),
    "PR curve, few thresholds": lambda w: w.add_pr_curve("pr", LABELS, SCORES, 3, num_thresholds=10),
    "PR curve with weights": lambda w: w.add_pr_curve("pr", LABELS, SCORES, 3, weights=SCORES.numpy()),
    "PR curve from numbers": lambda w: w.add_pr_curve_raw(
        "pr", [9, 4], [5, 1], [0, 4], [0, 5], [0.6, 0.8], [1, 0.4], 3, num_thresholds=2
    ),
    "mesh": lambda w: w.add_mesh("m", POINTS, global_step=3),
    "mesh with colors and faces": lambda w: w.add_mesh(
        "m", POINTS, (POINTS * 255).int(), torch.tensor([[[0, 1, 2]], [[1, 2, 3]]]), {"camera": {"cls": "x"}}, 3
    ),
    "charts": lambda w: w.add_custom_scalars(
        {
            "a": {"one": ["Multiline", ["x", "y"]], "two": ["Margin", ["x", "y", "z"]]},
            "b": {"three": ["Multiline", ["x"]]},
        }
    ),
    "a chart of lines": lambda w: w.add_custom_scalars_multilinechart(["x", "y"], title="t"),
    "a chart of margins": lambda w: w.add_custom_scalars_marginchart(["x", "y", "z"], "c"),
    "tensor": lambda w: w.add_tensor("t", POINTS, 3),
    "tensor of integers": lambda w: w.add_tensor("t", LABELS, 3),
    "tensor of doubles": lambda w: w.add_tensor("t", POINTS.double(), 3),
    "tensor of booleans": lambda w: w.add_tensor("t", LABELS > 0, 3),
    "tensor without dimensions": lambda w: w.add_tensor("t", torch.tensor(3), 3),
    "histogram from numbers": lambda w: w.add_histogram_raw("h", 0, 3, 4, 6, 14, [1.0, 2.0, 4.0], [1, 2, 1], 3),
}  # fmt: skip


def test_nan_is_written_as_nan(tmp_path: Path) -> None:
    ours, theirs = ours_and_theirs(tmp_path, lambda w: w.add_scalar("loss", float("nan"), 3))

    assert ours[0][:-1] == theirs[0][:-1]
    assert np.isnan(ours[0][-1])


@pytest.mark.parametrize("name", CALLS)
def test_a_call_leaves_what_torch_would_leave(name: str, tmp_path: Path) -> None:
    ours, theirs = ours_and_theirs(tmp_path, CALLS[name])

    assert ours
    assert _rounded(ours) == _rounded(theirs)


@pytest.mark.parametrize(
    "call",
    [
        lambda w: w.add_scalar("loss", 0.5, 3, 12.0),
        lambda w: w.add_image("p", (PICTURE * 255).byte(), 3),
        lambda w: w.add_text("note", "hello", 3),
    ],
)
def test_a_call_leaves_what_tensorboardx_would_leave(call: Call, tmp_path: Path) -> None:
    ours, theirs = ours_and_theirs(tmp_path, call, tensorboardX.SummaryWriter)

    assert ours
    assert _rounded(ours) == _rounded(theirs)


def test_a_name_to_display_is_kept_as_with_tensorboardx(tmp_path: Path) -> None:
    ours, theirs = ours_and_theirs(
        tmp_path, lambda w: w.add_scalar("loss", 0.5, 3, None, "Loss", "of *all*"), tensorboardX.SummaryWriter
    )

    assert ours[0][6:8] == theirs[0][6:8] == ("Loss", "of *all*")


def _rounded(written: list[Any]) -> list[Any]:
    """PR curves are computed in double and kept in single precision: the last digit may differ."""
    return [
        tuple(
            np.round(part[2], 4).tolist() if isinstance(part, tuple) and part and part[0] == np.float32 else part
            for part in one
        )
        for one in written
    ]
