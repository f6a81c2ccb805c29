"""Films: as GIF, without another library."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image, ImageSequence
from torch.utils.tensorboard._utils import _prepare_video

from tests.summaries.peers import accumulated
from torch_debugger import SummaryWriter
from torch_debugger.summaries.media import film_frames

CLIPS = torch.rand(5, 6, 3, 8, 10, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5])
def test_clips_lie_side_by_side_as_with_torch(count: int) -> None:
    theirs = (_prepare_video(CLIPS[:count].numpy()) * 255).clip(0, 255).astype(np.uint8)

    np.testing.assert_array_equal(film_frames(CLIPS[:count], "NTCHW", print), theirs)


def test_a_film_can_be_played(tmp_path: Path) -> None:
    bright = torch.linspace(0, 1, 6).reshape(1, 6, 1, 1, 1).expand(1, 6, 3, 8, 10)
    with SummaryWriter(tmp_path) as writer:
        writer.add_video("film", bright, 3, fps=10)

    (film,) = accumulated(tmp_path).Images("film")
    played = Image.open(io.BytesIO(film.encoded_image_string))
    greys = [int(np.asarray(frame.convert("L")).mean()) for frame in ImageSequence.Iterator(played)]

    assert (film.width, film.height, film.step) == (10, 8, 3)
    assert greys == [0, 51, 102, 153, 204, 255]
    assert played.info["duration"] == 100


@pytest.mark.parametrize(
    ("values", "dataformats"),
    [
        (CLIPS[0], "NTCHW"),
        (CLIPS[:1].permute(0, 1, 3, 4, 2), "NTHWC"),
        ((CLIPS[:1] * 255).byte(), "ntchw"),
        (CLIPS[:1, :, :1], "NTCHW"),
        (CLIPS[:1].numpy().astype(np.float64), "NTCHW"),
    ],
)
def test_a_film_may_come_in_several_forms(values: Any, dataformats: str) -> None:
    assert film_frames(values, dataformats, print).shape == (6, 8, 10, 3)
