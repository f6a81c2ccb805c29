"""`%load_ext torch_debugger` in a real IPython shell: told under the traceback, where torch was involved."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests import preloaded
from tests.debugger.test_ipython import CELLS, NET

Told = dict[str, tuple[str, str, str]]
SESSION = {
    "import": "import torch\nfrom torch import nn",
    "net": NET,
    "before": "model(x)",
    "load": "%load_ext torch_debugger",
    "crash": "model(x)",
    "typo": "a_typo",
    "typo with tensors": "modle(x)",
    "key": "settings = {}\nsettings['lr']",
    "plain function": "def plain():\n    return [][3]\nplain()",
    "tensors around": "settings['lr'] if x is None else [][3]",
    "unknown": "torch.arange(3).frobnicate(x) if False else torch.nn.functional.pad(x, (1,))",
    "syntax": "def (",
    "stopped": "raise KeyboardInterrupt",
    "with": "import torch_debugger\nwith torch_debugger.explaining():\n    model(x)",
    "debugger": "d = torch_debugger.Debugger()\nmodel(x)",
    "close": "d.close()",
    "typo in debugger": "with torch_debugger.Debugger():\n    a_typo",
    "again": "%reload_ext torch_debugger\nmodel(x)",
    "unload": "%unload_ext torch_debugger",
    "after": "model(x)",
}


@pytest.fixture(scope="module")
def cells(tmp_path_factory: pytest.TempPathFactory) -> Told:
    folder: Path = tmp_path_factory.mktemp("extension")
    (folder / "cells.json").write_text(json.dumps(list(SESSION.values())))
    done = preloaded.run(
        [sys.executable, "-c", CELLS, "cells.json", "told.json"],
        cwd=folder, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    told, listening = json.loads((folder / "told.json").read_text())
    assert listening == []
    return dict(zip(SESSION, map(tuple, told), strict=True))


@pytest.mark.parametrize("cell", ["crash", "with", "debugger", "again"])
def test_a_crash_is_explained_once(cell: str, cells: Told) -> None:
    out, err, _ = cells[cell]
    assert "RuntimeError: mat1 and mat2 shapes cannot be multiplied" in out
    assert err.count("error: shape-mismatch") == 1
    assert "nn.Linear(16, 2)" in err
    assert "/torch_debugger/" not in out


@pytest.mark.parametrize("cell", ["before", "after"])
def test_nothing_is_said_where_it_is_not_loaded(cell: str, cells: Told) -> None:
    assert "RuntimeError: mat1" in cells[cell][0]
    assert cells[cell][1] == ""


@pytest.mark.parametrize("cell", ["load", "unload", "close"])
def test_coming_and_going_is_silent(cell: str, cells: Told) -> None:
    assert cells[cell][:2] == ("", "")


@pytest.mark.parametrize(
    "cell", ["typo", "typo with tensors", "key", "plain function", "syntax", "stopped", "typo in debugger"]
)
def test_what_has_nothing_to_do_with_torch_gets_no_comment(cell: str, cells: Told) -> None:
    assert cells[cell][0] != ""
    assert cells[cell][1] == ""


@pytest.mark.parametrize("cell", ["unknown", "tensors around"])
def test_the_general_form_where_torch_was_involved(cell: str, cells: Told) -> None:
    out, err, _ = cells[cell]
    assert "Error" in out
    assert err.startswith("error: ")
