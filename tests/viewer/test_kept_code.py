from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from torch_debugger.records import Edit, Place
from torch_debugger.viewer.verdict import KeptCode, kept_code

SCRIPT = ["import torch", "", "for x in data:", "    loss = f(x)", "    loss.backward()", "    step()"]


def shown(code: KeptCode, place: Place, edit: Edit | None = None) -> list[tuple[object, object]]:
    return [(line["number"], line["text"]) for line in code.excerpt(place, edit) if line["marked"]]


def test_a_line_of_the_script_comes_with_its_neighbours() -> None:
    code = KeptCode("/home/me", "/home/me/train.py", SCRIPT)

    lines = code.excerpt(Place("train.py", 5))

    assert [line["number"] for line in lines] == [1, 2, 3, 4, 5, 6]
    assert shown(code, Place("/home/me/train.py", 5)) == [(5, "    loss.backward()")]


def test_of_another_file_only_what_the_log_holds_is_shown(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("password\n")
    code = KeptCode(str(tmp_path), known={(str(tmp_path / "net.py"), 3): "self.fc = Linear(1, 2)"})

    assert code.excerpt(Place("secret.txt", 1)) == []
    assert shown(code, Place("net.py", 3)) == [(3, "self.fc = Linear(1, 2)")]


def test_an_edit_knows_the_line_that_it_changes() -> None:
    code = KeptCode("/home/me")
    edit = Edit("net.py", 7, "    b()", "    a()\n    b()")

    assert shown(code, Place("net.py", 7), edit) == [(7, "b()")]
    assert code.excerpt(Place("net.py", 8), edit) == []


def test_a_line_that_is_another_one_in_the_script_stands_alone() -> None:
    code = KeptCode("/home/me", "/home/me/train.py", SCRIPT, {("/home/me/train.py", 4): "loss = g(x)"})

    assert [line["text"] for line in code.excerpt(Place("train.py", 4))] == ["loss = g(x)"]


def test_how_far_a_line_stands_from_the_left() -> None:
    code = KeptCode("/home/me", "/home/me/train.py", SCRIPT)

    assert [code.indent("train.py", line) for line in (1, 5, 7)] == ["", "    ", ""]
    assert code.indent("other.py", 5) == ""


def test_no_line_no_excerpt() -> None:
    code = KeptCode("/home/me", "/home/me/train.py", SCRIPT)

    assert code.excerpt(Place("train.py")) == []
    assert code.excerpt(Place(module="net.fc1")) == []
    assert code.excerpt(Place("train.py", 99)) == []


def test_a_script_started_by_a_relative_path_is_known_by_it() -> None:
    around = SimpleNamespace(script="train.py", source="\n".join(SCRIPT))
    facts = SimpleNamespace(surroundings=around, run=SimpleNamespace(folder="/home/me"))
    run: Any = SimpleNamespace(facts=facts, records=lambda *kinds: [])

    assert [line["number"] for line in kept_code(run).excerpt(Place("train.py", 5))] == [1, 2, 3, 4, 5, 6]
