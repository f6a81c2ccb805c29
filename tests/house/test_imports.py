"""The map of the house holds: imports point down, and no torch lies below the wall."""

from __future__ import annotations

import graphlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.rooms import (
    MAY_IMPORT,
    NO_TORCH,
    PACKAGE,
    ROWS,
    imported_rooms,
    imports,
    name_of,
    package_files,
    room_of,
)


def test_every_room_has_its_place_on_the_map() -> None:
    new = {room_of(path) for path in package_files()} - set(MAY_IMPORT)
    assert not new, "new rooms: give them a place in tests/house/rooms.py"


def test_imports_are_written_with_their_whole_name() -> None:
    relative = {name_of(path): name for path in package_files() for name in imports(path) if name.startswith(".")}
    assert not relative


def test_imports_point_down() -> None:
    forbidden = {name_of(path): rooms for path in package_files() if (rooms := not_allowed(path))}
    assert not forbidden


def not_allowed(path: Path) -> set[str]:
    room = room_of(path)
    return imported_rooms(path) - MAY_IMPORT.get(room, set()) - {room}


def test_the_map_is_small() -> None:
    assert len(ROWS) <= 16
    assert not [rooms for rooms, others in ROWS if others >= set(MAY_IMPORT) - rooms - {FRONT}], "imports everything"


def test_no_torch_below_the_wall() -> None:
    guilty = [
        name_of(path)
        for path in package_files()
        if room_of(path) in NO_TORCH and "torch" in {name.split(".")[0] for name in imports(path)}
    ]
    assert not guilty


def test_the_map_can_be_broken(tmp_path: Path) -> None:
    """The tests above can fail: an upward import, a torch import and a relative one are all seen."""
    culprit, friend, third = tmp_path / "culprit.py", tmp_path / "friend.py", tmp_path / "third.py"
    culprit.write_text("def f():\n    import torch.nn\n    from torch_debugger.runner.session import Session\n")
    assert imported_rooms(culprit) == {"runner"}
    assert "torch.nn" in imports(culprit)
    friend.write_text("from torch_debugger import Debugger\n")
    assert imported_rooms(friend) == {"__init__"}
    third.write_text(
        "match x:\n    case 1:\n        try:\n            pass\n        except OSError:\n            import a\n"
        "        else:\n            import b\n        finally:\n            from .c import d\n"
        "for y in x:\n    pass\nelse:\n    from . import e\n"
    )
    assert imports(third) == {"a", "b", ".c.d", "..e"}


# In one interpreter: each program tells what it has loaded beyond those before it.
PROGRAM = """
import json, sys
told, before = [], set()
for program in json.load(sys.stdin):
    exec(program, {})
    now = {name.partition(".")[0] for name in sys.modules}
    told.append(sorted(now - before))
    before = now
print(json.dumps(told))
"""
FRONT_DOOR = "the front door"
COMMAND_LINE = "the command line"  # all verbs and the whole catalog: the parent of `torch-debugger run`
SOMETHING_OF_TORCHS = "import sys\nsys.modules['torch.nn'] = sys"


FRONT = "__init__"  # its lazy names lead everywhere; what others take from it needs nothing else


def from_below() -> list[str]:
    """The rooms, each after those that it may import: its files are the first of its own to be loaded."""
    below = {room: others - {FRONT} for room, others in MAY_IMPORT.items()}
    return list(graphlib.TopologicalSorter(below).static_order())


def test_the_map_has_no_circle() -> None:
    """With imports that point down, no room then depends on which other was loaded first."""
    assert set(from_below()) == set(MAY_IMPORT)


def importing(room: str) -> str:
    """Code that imports every file of a room."""
    files = [path for path in package_files() if room_of(path) == room]
    names = [path.relative_to(PACKAGE.parent).with_suffix("").as_posix().replace("/", ".") for path in files]
    return "\n".join(f"import {name.removesuffix('.__init__')}" for name in names)


@pytest.fixture(scope="module")
def loaded() -> dict[str, set[str]]:
    """The top-level modules that a fresh interpreter loads for each of these, one after the other."""
    programs = {
        FRONT_DOOR: "import torch_debugger",
        **{room: importing(room) for room in from_below() if room in NO_TORCH},
        COMMAND_LINE: f"{importing('cli')}\nfrom torch_debugger.checks.catalog import catalog\ncatalog()",
        SOMETHING_OF_TORCHS: SOMETHING_OF_TORCHS,
    }
    finished = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        input=json.dumps(list(programs.values())),
        capture_output=True,
        text=True,
        check=False,
        cwd=PACKAGE.parent,
    )
    assert finished.returncode == 0, finished.stderr
    return {name: set(names) for name, names in zip(programs, json.loads(finished.stdout), strict=True)}


def test_the_judging_rooms_load_without_torch(loaded: dict[str, set[str]]) -> None:
    assert set(loaded) >= NO_TORCH
    assert not [room for room in loaded if room in NO_TORCH and "torch" in loaded[room]]


def test_the_command_line_loads_without_torch(loaded: dict[str, set[str]]) -> None:
    assert "torch" not in loaded[COMMAND_LINE]


def test_the_front_door_is_light(loaded: dict[str, set[str]]) -> None:
    assert "torch_debugger" in loaded[FRONT_DOOR]
    assert not {"torch", "numpy", "rich"} & loaded[FRONT_DOOR]


def test_what_a_program_loads_is_seen(loaded: dict[str, set[str]]) -> None:
    """The tests above can fail."""
    assert loaded[SOMETHING_OF_TORCHS] == {"torch"}
