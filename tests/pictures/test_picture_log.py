"""A picture goes to any SummaryWriter, or into the log of the run that is watched."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from torch.utils.tensorboard import SummaryWriter as TorchWriter

from tests import preloaded
from tests.pictures.test_picture import four_tiles
from torch_debugger import Debugger, Run, SummaryWriter
from torch_debugger.system.errors import UsageError

WRITERS: list[Any] = [SummaryWriter, TorchWriter]


def tensorboard_x(folder: str) -> Any:
    return pytest.importorskip("tensorboardX", reason="optional: a third writer").SummaryWriter(folder)


def read_back(folder: Path, tag: str) -> tuple[int, np.ndarray[Any, Any]]:
    """With TensorBoard's own loader."""
    events = EventAccumulator(str(folder)).Reload()
    (image,) = events.Images(tag)
    return image.step, np.asarray(Image.open(io.BytesIO(image.encoded_image_string)).convert("RGB"))


@pytest.mark.parametrize("make", [*WRITERS, tensorboard_x], ids=["ours", "torch", "tensorboardX"])
def test_each_writer_takes_it_and_tensorboard_shows_its_pixels(tmp_path: Path, make: Callable[[str], Any]) -> None:
    writer = make(str(tmp_path))
    four_tiles().log(writer, "tiles", 7)
    writer.close()
    step, pixels = read_back(tmp_path, "tiles")
    assert step == 7
    assert np.array_equal(pixels, four_tiles().pixels())


def test_without_a_log_it_says_what_to_pass() -> None:
    with pytest.raises(UsageError, match=r"pass a SummaryWriter, as in picture\.log\(writer, tag, step\)"):
        four_tiles().log()


def test_a_debugger_without_a_log_says_so() -> None:
    with Debugger(), pytest.raises(UsageError, match=r"keeps no log: give it one with Debugger\(log_dir"):
        four_tiles().log()


def test_in_a_debuggers_run_it_goes_to_its_log(tmp_path: Path) -> None:
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with Debugger(log_dir=tmp_path):
        for _ in range(2):
            optimizer.zero_grad()
            model(torch.ones(4, 2)).sum().backward()
            optimizer.step()
        four_tiles().log(tag="tiles")
    (picture,) = Run(tmp_path).pictures("tiles")
    assert picture.step == 3  # the step under way
    assert read_back(tmp_path, "tiles")[0] == 3
    with pytest.raises(UsageError, match="there is no log"):
        four_tiles().log()


SCRIPT = """
import torch
from torch_debugger import pictures
model = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.Flatten(), torch.nn.Linear(144, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(3):
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(model(torch.randn(4, 3, 8, 8)), torch.tensor([0, 1, 0, 1])).backward()
    pictures.filters(model, most=1).log(tag="filters")
    optimizer.step()
pictures.filters(model).log()
"""


def test_under_run_it_goes_to_the_log_of_the_run(tmp_path: Path) -> None:
    script, folder = tmp_path / "train.py", tmp_path / "log"
    script.write_text(SCRIPT)
    command = [sys.executable, "-m", "torch_debugger", "run", "--log-dir", str(folder), str(script)]
    finished = preloaded.run(command, capture_output=True, text=True, timeout=300)
    assert finished.returncode == 0, finished.stderr
    run = Run(folder)
    assert [picture.step for picture in run.pictures("filters")] == [1, 2, 3]
    assert len(run.tags["pictures"]) == 2
    assert run.damage == []
