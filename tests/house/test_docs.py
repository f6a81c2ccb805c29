from __future__ import annotations

import importlib.util
from types import ModuleType

from tests.house.rooms import REPOSITORY


def make_docs() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_docs", REPOSITORY / "tools" / "make_docs.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_pages_of_checks_are_up_to_date() -> None:
    tool = make_docs()
    pages = {file.name: file.read_text(encoding="utf-8") for file in tool.FOLDER.glob("*.md")}
    assert pages == tool.documents(), "run `make docs`"
