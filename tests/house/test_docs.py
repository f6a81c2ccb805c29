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


def test_the_page_of_checks_is_up_to_date() -> None:
    tool = make_docs()
    assert tool.DOCUMENT.read_text(encoding="utf-8") == tool.document(), "run `make docs`"
