from __future__ import annotations

from pathlib import Path

import pytest

from torch_debugger.records import Place
from torch_debugger.source.statements import assignment_before

SCRIPT = """\
def other():
    loss = 1
    return loss

def step(model, x, y):
    loss = criterion(model(x), y)
    loss = loss / 4
    loss.backward()

def given(loss):
    loss.backward()

total = mse(a, b)
total.backward()
"""


@pytest.mark.parametrize(("line", "name", "made"), [(8, "loss", 6), (14, "total", 13), (11, "loss", None)])
def test_the_line_that_computes_a_loss(tmp_path: Path, line: int, name: str, made: int | None) -> None:
    script = tmp_path / "train.py"
    script.write_text(SCRIPT)
    found = assignment_before(Place(str(script), line), name)
    assert (found.line if found else None) == made


def test_without_a_file_there_is_no_line() -> None:
    assert assignment_before(Place(), "loss") is None
