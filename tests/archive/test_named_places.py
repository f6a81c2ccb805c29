"""Folders that are given with a name, as TensorBoard's --logdir_spec takes them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.viewer.serving import make_run
from torch_debugger.cli.view import read_folders
from torch_debugger.log.object_stores import named_place, named_places
from torch_debugger.log.runs import open_one_run, open_run
from torch_debugger.system.errors import UsageError


def test_what_is_a_name_and_what_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "is:there").mkdir()
    (tmp_path / "runs").mkdir()
    cases = {
        "base:runs/a": ("base", "runs/a"),
        "my run:runs": ("my run", "runs"),
        "c:runs": ("c", "runs"),
        f"c:{tmp_path}/runs": ("c", f"{tmp_path}/runs"),
        "base:s3://bucket/x": ("base", "s3://bucket/x"),
        "base:/with:colon": ("base", "/with:colon"),
        "s3://bucket/x": (None, "s3://bucket/x"),
        "gs://bucket/x:y": (None, "gs://bucket/x:y"),
        "C:\\runs\\a": (None, "C:\\runs\\a"),
        "C:/runs/a": (None, "C:/runs/a"),
        "/with:colon": (None, "/with:colon"),
        "runs/a:b": (None, "runs/a:b"),
        "is:there": (None, "is:there"),
        "runs": (None, "runs"),
    }
    assert {said: named_place(said) for said in cases} == cases


def test_several_in_one_argument(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a", "b", "a,c"):
        (tmp_path / name).mkdir()
    assert named_places(["base:a,tuned:b"]) == [("base", "a"), ("tuned", "b")]
    assert named_places(["base:a", "b"]) == [("base", "a"), (None, "b")]
    assert named_places(["a,b"]) == [(None, "a"), (None, "b")]
    assert named_places(["a,c"]) == [(None, "a,c")], "a folder of that name"
    assert named_places(["not,there"]) == [(None, "not,there")], "the message names what was typed"


def test_the_page_calls_runs_by_the_names_they_are_given(tmp_path: Path) -> None:
    one, other = make_run(tmp_path / "a"), make_run(tmp_path / "b")
    assert read_folders([("base", str(one)), ("tuned", str(other))]) == {"base": str(one), "tuned": str(other)}
    assert read_folders([("base", str(tmp_path))]) == {"base": str(tmp_path)}
    assert read_folders([("base", str(one)), (None, str(other))]) == {"base": str(one), "b": str(other)}
    with pytest.raises(UsageError, match="Two folders are to be called base"):
        read_folders([("base", str(one)), ("base", str(other))])


def test_a_run_that_is_opened_by_a_name_is_called_so(tmp_path: Path) -> None:
    make_run(tmp_path / "above" / "a")
    run = open_run(f"base:{tmp_path}/above/a")
    assert (run.name, run.folder) == ("base", str(tmp_path / "above" / "a"))
    assert open_one_run(f"base:{tmp_path}/above").name == "base"
    assert open_one_run(f"{tmp_path}/above").name == "a"
