"""How a line reaches an object: `self.optimizer` in a method, the variable where there is one; and what fills
the variable that a call is given."""

from __future__ import annotations

import linecache
from pathlib import Path

import pytest

from torch_debugger.records import Place
from torch_debugger.source.assignments import filling_of_argument
from torch_debugger.source.calls import written_as

TRAINER = """\
class Trainer:
    def __init__(self, model):
        self.optimizer = SGD(model.parameters())

    def step(self, loss):
        loss.backward()
        self.optimizer.step()

    def only_backward(self, loss):
        loss.backward()

    def by_hand(self, loss, optimizer):
        loss.backward()
        optimizer.step()


def apart(state, loss):
    loss.backward()
    state.optimizer.step()


parts = [*a.parameters(), *b.parameters()]
optimizer = SGD(parts, lr=0.1)
loss.backward()
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "trainer.py"
    path.write_text(TRAINER)
    linecache.checkcache(str(path))
    return str(path)


WRITTEN = {6: "self.optimizer", 10: "self.optimizer", 13: "optimizer", 18: "state.optimizer", 24: "optimizer"}


@pytest.mark.parametrize(("line", "written"), WRITTEN.items())
def test_the_name_that_a_line_can_use(file: str, line: int, written: str) -> None:
    assert written_as(Place(file, line), "optimizer") == written


def test_the_statement_that_fills_the_first_argument(file: str) -> None:
    found = filling_of_argument(Place(file, 23))
    assert found is not None and (found.line, found.code) == (22, "parts = [*a.parameters(), *b.parameters()]")
    assert filling_of_argument(Place(file, 3)) is None
