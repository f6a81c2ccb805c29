"""Looks that print themselves where their result is not used, and only there."""

from __future__ import annotations

import code
import contextlib
import io
import sys
from typing import Any

import pytest
import torch
from torch import nn

import torch_debugger

CHECK = "check_gradients(model)"
BARE = (
    CHECK,
    "torch_debugger.check_gradients(model, loss=None)",
    "check_gradients(*[model])",
    "check_gradients(**{'model': model})",
    "if True:\n    check_gradients(model)",
    "with torch.no_grad():\n    check_gradients(model)",
    "for _ in range(1): check_gradients(model)",
    "try:\n    check_gradients(model)\nfinally:\n    pass",
    "def look():\n    check_gradients(model)\nlook()",
    "def look():\n    check_gradients(model)\n    return 3\nlook()",
    "class Look:\n    check_gradients(model)",
)
USED = (
    f"result = {CHECK}",
    f"a, b = {CHECK}, 1",
    f"assert {CHECK}",
    f"if {CHECK}: pass",
    f"for row in {CHECK}: pass",
    f"{CHECK}.ok",
    f"{CHECK}['weight']",
    f"len({CHECK})",
    f"str({CHECK})",
    f"[{CHECK}]",
    f"not {CHECK}",
    f"def look():\n    return {CHECK}\nlook()",
    f"(lambda: {CHECK})()",
    f"if (found := {CHECK}): pass",
    f"with contextlib.nullcontext({CHECK}): pass",
    f"def all_of():\n    yield {CHECK}\nlist(all_of())",
)


@pytest.fixture
def names() -> dict[str, Any]:
    model = nn.Linear(2, 2)
    model(torch.ones(3, 2)).sum().backward()  # type: ignore[no-untyped-call]
    return {
        "model": model, "torch": torch, "torch_debugger": torch_debugger, "contextlib": contextlib,
        "check_gradients": torch_debugger.check_gradients,
    }  # fmt: skip


def said_by(source: str, names: dict[str, Any]) -> str:
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(compile(source, "<script>", "exec"), dict(names))
    return said.getvalue()


def test_a_line_of_its_own_prints_the_table_once(names: dict[str, Any]) -> None:
    table = f"{torch_debugger.check_gradients(names['model'])}\n"
    wrong = [source for source in BARE if said_by(source, names) != table]
    assert not wrong and "2 parameters, nothing to worry about." in table


def test_a_result_that_is_used_is_not_printed(names: dict[str, Any]) -> None:
    assert [source for source in USED if said_by(source, names)] == []
    table = said_by(f"print({CHECK})", names)
    assert said_by(f"result = {CHECK}\nprint(result)", names) == table and table.count("nothing to worry about") == 1


def test_a_prompt_shows_it_once(names: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[Any] = []
    monkeypatch.setattr(sys, "displayhook", shown.append)
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        code.InteractiveInterpreter(names).runsource(CHECK)
    assert len(shown) == 1 and said.getvalue() == ""


def test_in_a_notebook_the_last_line_shows_itself(names: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    shell = pytest.importorskip("IPython.core.interactiveshell").InteractiveShell(user_ns=names)
    shell.run_cell(CHECK)
    assert capsys.readouterr().out.count("2 parameters, nothing to worry about.") == 1
    shell.run_cell(f"{CHECK}\n3")
    assert capsys.readouterr().out.count("2 parameters, nothing to worry about.") == 1


def test_every_look_by_hand_does_so(names: dict[str, Any]) -> None:
    for call, word in (
        ("torch_debugger.find_nan(model, torch.ones(2, 2))", "All finite"),
        ("torch_debugger.find_nan(model, torch.full((2, 2), float('nan')))", "The output became nan"),
        ("torch_debugger.activations(model, torch.ones(2, 2))", "(model)  float32 [2, 2]"),
        ("torch_debugger.gradients(model, torch.ones(2, 2), loss=torch.sum)", "gradients of parameters"),
        ("torch_debugger.describe(torch.ones(2))", "float32 [2]"),
        ("torch_debugger.describe({'x': torch.ones(2)})", "x  float32 [2]"),
        ("torch_debugger.graph(model(torch.ones(2, 2)).sum(), model=model)", "2  Sum"),
        ("torch_debugger.gradcheck(torch.tanh, torch.ones(2))", "tanh"),
    ):
        assert word in said_by(call, names), call
        assert said_by(f"result = {call}", names) == "", call
    assert said_by("torch_debugger.gradcheck(torch.tanh, torch.ones(2), raise_exception=True)", names) == ""
