"""The map of the house holds: imports point down, and no torch lies below the wall."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.rooms import (
    DOORS,
    MAY_IMPORT,
    NO_TORCH,
    PACKAGE,
    imported_rooms,
    imports,
    package_files,
    room_of,
)

FILES = [pytest.param(path, id=path.relative_to(PACKAGE).as_posix()) for path in package_files()]


@pytest.mark.parametrize("path", FILES)
def test_imports_point_down(path: Path) -> None:
    room = room_of(path)
    if room in DOORS:
        return
    assert room in MAY_IMPORT, f"{room} is a new room: give it a place in tests/house/rooms.py"
    forbidden = imported_rooms(path) - MAY_IMPORT[room] - {room}
    assert not forbidden, f"{room} may not import {', '.join(sorted(forbidden))}"


@pytest.mark.parametrize("path", FILES)
def test_no_torch_below_the_wall(path: Path) -> None:
    if room_of(path) in NO_TORCH:
        assert "torch" not in {name.split(".")[0] for name in imports(path)}


def test_the_map_can_be_broken(tmp_path: Path) -> None:
    """The two tests above can fail: an upward import and a torch import are both seen."""
    culprit = tmp_path / "culprit.py"
    culprit.write_text("def f():\n    import torch.nn\n    from torch_debugger.session import Session\n")
    assert imported_rooms(culprit) == {"session"}
    assert "torch.nn" in set(imports(culprit))
    culprit.write_text("from torch_debugger import Debugger\n")
    assert imported_rooms(culprit) == {"__init__"}


def loaded_by(code: str) -> set[str]:
    """The top-level modules a fresh interpreter holds after running `code`."""
    program = f"{code}\nimport sys\nprint(*sorted({{name.split('.')[0] for name in sys.modules}}))"
    finished = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(finished.stdout.split())


def importing(room: str) -> str:
    """Code that imports every file of a room."""
    files = sorted((PACKAGE / room).rglob("*.py")) if (PACKAGE / room).is_dir() else [PACKAGE / f"{room}.py"]
    names = [path.relative_to(PACKAGE.parent).with_suffix("").as_posix().replace("/", ".") for path in files]
    return "\n".join(f"import {name.removesuffix('.__init__')}" for name in names)


@pytest.mark.parametrize("room", sorted(NO_TORCH - {"_version"}))
def test_the_judging_rooms_load_without_torch(room: str) -> None:
    assert "torch" not in loaded_by(importing(room))


def test_the_command_line_loads_without_torch() -> None:
    """The parent of `torch-debugger run`, all verbs and the whole catalog."""
    code = f"{importing('cli')}\nfrom torch_debugger.checks.catalog import catalog\ncatalog()"
    assert "torch" not in loaded_by(code)


def test_the_front_door_is_light() -> None:
    assert not {"torch", "numpy", "rich"} & loaded_by("import torch_debugger")


def test_a_fresh_interpreter_can_show_torch() -> None:
    """The tests above can fail: what a program loads is seen."""
    assert "numpy" in loaded_by("import numpy")
