"""Runs below a folder: found without opening anything, and read when asked."""

from __future__ import annotations

import builtins
import os
from pathlib import Path

import pytest

import torch_debugger
from tests.runlog.logs import scalars, write
from torch_debugger.log.curves import find_loss_tag
from torch_debugger.log.runs import runs
from torch_debugger.system.errors import DebuggerError


def touch(folder: Path, changed: float = 1e9) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "events.out.tfevents.1"
    path.write_bytes(b"")
    os.utime(path, (changed, changed))


def test_runs_by_name_and_by_number(tmp_path: Path) -> None:
    for name in ("b", "a", "deep/er"):
        write(tmp_path / name, [scalars(1, "loss")])
    (tmp_path / "no run").mkdir()
    found = torch_debugger.runs(tmp_path)

    assert found.names == ["a", "b", "deep/er"] and len(found) == 3
    assert found["deep/er"].scalars("loss").steps.tolist() == [1]
    assert found[0] is found["a"] and [run.name for run in found[1:]] == ["b", "deep/er"]
    assert "a" in found and "c" not in found
    with pytest.raises(KeyError, match=r"There is no run 'c' in .* There are 'a', 'b', 'deep/er'\."):
        found["c"]


def test_the_folder_itself_can_be_the_run(tmp_path: Path) -> None:
    write(tmp_path, [scalars(1, "loss")])
    assert runs(tmp_path).names == ["."]


def test_a_folder_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(DebuggerError, match=r"There is no folder '.*none' to look for runs in\."):
        runs(tmp_path / "none")


def test_links_in_a_circle_end(tmp_path: Path) -> None:
    touch(tmp_path / "a")
    (tmp_path / "a" / "again").symlink_to(tmp_path)
    (tmp_path / "b").symlink_to(tmp_path / "a")
    elsewhere = tmp_path.parent / f"{tmp_path.name}-elsewhere"
    touch(elsewhere)
    (tmp_path / "linked").symlink_to(elsewhere)

    assert runs(tmp_path).names == ["a", "linked"]


def test_ten_thousand_runs_are_listed_without_opening_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(10_000):
        folder = tmp_path / f"run{number:05}"
        folder.mkdir()
        (folder / "events.out.tfevents.1").touch()
    opened: list[object] = []
    monkeypatch.setattr(builtins, "open", lambda *given, **options: opened.append(given))

    found = runs(tmp_path)
    text = repr(found)

    assert len(found) == 10_000 and opened == []
    assert text.startswith("10,000 runs in ") and text.endswith("and 9,980 older")
    assert found[9_999].name == "run09999"


def test_the_newest_are_shown_first_and_safely(tmp_path: Path) -> None:
    touch(tmp_path / "old", 1e9)
    touch(tmp_path / "<b>new\x1b[31m", 1.1e9)
    found = runs(tmp_path)

    assert [line.split("  ")[1] for line in repr(found).splitlines()[1:]] == ["'<b>new\\x1b[31m'", "'old'"]
    assert "&lt;b&gt;new" in found._repr_html_() and "<b>" not in found._repr_html_()
    assert "\x1b" not in found._repr_html_()


def test_an_empty_folder_has_no_runs(tmp_path: Path) -> None:
    assert repr(runs(tmp_path)) == f"0 runs in {str(tmp_path)!r}"


@pytest.mark.parametrize(
    ("tags", "loss"),
    [
        (["acc", "loss/aux", "loss"], "loss"),
        (["val_loss", "train_loss", "train_loss_epoch"], "train_loss"),
        (["Loss/test", "Loss/train"], "Loss/train"),
        (["accuracy", "validation/loss"], "validation/loss"),
        (["glossary"], "glossary"),
        (["lr"], None),
    ],
)
def test_the_tag_of_the_loss(tags: list[str], loss: str | None) -> None:
    assert find_loss_tag(tags) == loss
