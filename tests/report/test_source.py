from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests import fakes
from torch_debugger.records import Place
from torch_debugger.report.text import excerpt, shown_path

CODE = "def forward(self, x):\n    x = self.fc1(x)\n\tx = self.fc2(x)\n    return x\n"


def texts(place: Place, folder: Path) -> list[tuple[int, str, bool]]:
    return [(line.number, line.text, line.marked) for line in excerpt(place, str(folder))]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "train.py").write_text(CODE)
    return tmp_path


def test_the_line_with_its_neighbours(folder: Path) -> None:
    assert texts(fakes.place(2), folder) == [
        (1, "def forward(self, x):", False),
        (2, "    x = self.fc1(x)", True),
        (3, "    x = self.fc2(x)", False),
        (4, "    return x", False),
    ]


def test_an_absolute_path_needs_no_folder(folder: Path) -> None:
    assert len(excerpt(fakes.place(1, file=str(folder / "train.py")), None)) == 3


def test_a_file_edited_since_shows_the_line_that_ran(folder: Path) -> None:
    assert texts(fakes.place(2, code="x = self.old(x)"), folder) == [(2, "x = self.old(x)", True)]


def test_a_missing_file_shows_the_line_that_ran(folder: Path) -> None:
    assert texts(fakes.place(7, file="gone.py", code="y = 1"), folder) == [(7, "y = 1", True)]
    assert texts(fakes.place(7, file="gone.py"), folder) == []


@pytest.mark.parametrize("line", [0, -3, 99])
def test_a_line_outside_the_file(folder: Path, line: int) -> None:
    assert texts(fakes.place(line), folder) == []


def test_a_place_without_a_line(folder: Path) -> None:
    assert excerpt(Place(file="train.py"), str(folder)) == []
    assert excerpt(Place(module="net.fc1"), str(folder)) == []


def test_a_pipe_is_not_waited_for(folder: Path) -> None:
    os.mkfifo(folder / "pipe.py")
    assert texts(fakes.place(1, file="pipe.py", code="x = 1"), folder) == [(1, "x = 1", True)]


def test_a_folder_a_null_character_and_bytes_that_are_no_text(folder: Path) -> None:
    (folder / "bytes.py").write_bytes(b"x = '\xff\xfe'\n")
    assert excerpt(fakes.place(1, file="."), str(folder)) == []
    assert excerpt(fakes.place(1, file="a\0b"), str(folder)) == []
    assert texts(fakes.place(1, file="bytes.py"), folder) == [(1, "x = '\ufffd\ufffd'", True)]


def test_paths_are_shown_as_the_user_would_type_them() -> None:
    assert shown_path("/home/user/project/models/net.py", "/home/user/project") == "models/net.py"
    assert shown_path("/home/user/other.py", "/home/user/project") == "/home/user/other.py"
    assert shown_path("train.py", "/home/user/project") == "train.py"
    assert shown_path("/home/user/train.py", None) == "/home/user/train.py"
