"""What moves tensors on some machines only: a base class, another file, a transform, a collate object."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from torch_debugger.source import files as sources
from torch_debugger.trials.unmoved_tensors import function_may_move, object_may_move

HELPERS = """\
def place(row):
    if USE:
        return row.cuda()
    return row

def halved(row):
    return row / 2

class Base:
    def __getitem__(self, index):
        return place(self.rows[index])
"""
SCRIPT = """\
from places import Base, halved, place

class Rows(Base):
    rows = [1.0]

class Through:
    def __init__(self, transform):
        self.transform = transform
    def __getitem__(self, index):
        return self.transform(index)

class Placing:
    def __call__(self, row):
        return prepared(row)

class Halving:
    def __call__(self, row):
        return halved(row)

def prepared(row):
    return place(row)

def plain(row):
    return halved(row)
"""


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(tmp_path))
    files = []
    for name, text in (("places", HELPERS), ("moving_script", SCRIPT)):
        file = tmp_path / f"{name}.py"
        file.write_text(text)
        files.append(str(file))
        spec = importlib.util.spec_from_file_location(name, file)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, name, module)
        spec.loader.exec_module(module)
    monkeypatch.setattr(sources, "user_files", lambda: files)
    return module


def test_who_may_move_a_row(script: Any) -> None:
    assert object_may_move(script.Rows())
    assert object_may_move(script.Through(script.Placing()))
    assert object_may_move(script.Through(script.prepared))
    assert function_may_move(script.Placing()) and function_may_move(script.prepared)
    assert not object_may_move(script.Through(script.Halving()))
    assert not object_may_move(script.Through(script.plain))
    assert not function_may_move(script.plain)
