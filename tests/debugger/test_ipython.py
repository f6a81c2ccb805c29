"""In IPython and notebooks: the explanation stands under the traceback of the cell, and the watch goes on."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from IPython.core.interactiveshell import InteractiveShell

from tests import preloaded
from tests.debugger.conftest import LIMIT_S

CELLS = """
import contextlib, io, json, sys
from IPython.core.interactiveshell import InteractiveShell

shell = InteractiveShell.instance()
shell.colors = "nocolor"
told = []
for cell in json.load(open(sys.argv[1])):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        result = shell.run_cell(cell)
    told.append([out.getvalue(), err.getvalue(), repr(result.result)])
listening = [str(each) for each in shell.events.callbacks["post_run_cell"] if "torch_debugger" in str(each)]
json.dump([told, listening], open(sys.argv[2], "w"))
"""

NET = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(8, 16)
        self.fc2 = nn.Linear(20, 2)
    def forward(self, x):
        return self.fc2(self.fc1(x))
model, good, x = Net(), nn.Linear(8, 2), torch.randn(4, 8)
"""
Told = list[tuple[str, str, str]]


@pytest.fixture(scope="module")
def cells(tmp_path_factory: pytest.TempPathFactory) -> tuple[Told, list[str]]:
    """One session of IPython in a process of its own: its cells, what each printed and gave."""
    folder: Path = tmp_path_factory.mktemp("ipython")
    (folder / "cells.json").write_text(
        json.dumps(
            [
                "import torch, torch_debugger\nfrom torch import nn",
                NET,
                "d = torch_debugger.Debugger()",
                "d.run(model(x))",
                "a_typo",
                "d.watching, len(d.findings)",
                "output = d.run(good(x))",
                "with torch_debugger.Debugger(model):\n    model(x)",
                "torch_debugger.Debugger().run(model, x)",
            ]
        )
    )
    done = preloaded.run(
        [sys.executable, "-c", CELLS, "cells.json", "told.json"],
        cwd=folder, capture_output=True, text=True, timeout=LIMIT_S, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    told, listening = json.loads((folder / "told.json").read_text())
    return [tuple(each) for each in told], listening


def test_a_crash_in_a_cell_is_explained_under_its_traceback(cells: tuple[Told, list[str]]) -> None:
    out, err, _ = cells[0][3]
    assert "RuntimeError: mat1 and mat2 shapes cannot be multiplied" in out
    assert err.startswith("error: shape-mismatch")
    assert "nn.Linear(16, 2)" in err
    assert "this session" not in err


def test_an_error_that_is_none_of_ours_gets_no_comment(cells: tuple[Told, list[str]]) -> None:
    out, err, _ = cells[0][4]
    assert "NameError" in out
    assert err == ""


def test_the_watch_goes_on_after_both(cells: tuple[Told, list[str]]) -> None:
    assert cells[0][5][2] == "(True, 0)"
    err = cells[0][6][1]
    assert "What good ran" in err
    assert "Nothing wrong found" in err


@pytest.mark.parametrize("cell", [7, 8], ids=["with", "run"])
def test_a_crash_inside_with_or_run_is_explained_once(cell: int, cells: tuple[Told, list[str]]) -> None:
    out, err, _ = cells[0][cell]
    assert "RuntimeError: mat1 and mat2 shapes cannot be multiplied" in out
    assert err.count("error: shape-mismatch") == 1


@pytest.mark.parametrize("cell", [3, 7, 8], ids=["plain", "with", "run"])
def test_our_frames_are_not_shown(cell: int, cells: tuple[Told, list[str]]) -> None:
    assert "/torch_debugger/" not in cells[0][cell][0]


def test_closed_debuggers_listen_to_no_cell(cells: tuple[Told, list[str]]) -> None:
    assert cells[1] == []


def test_an_imported_ipython_without_a_shell_is_no_shell() -> None:
    from torch_debugger import Debugger

    assert not InteractiveShell.initialized()
    Debugger().close()
