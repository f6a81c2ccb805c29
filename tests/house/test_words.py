"""Habits a machine can hold: calm words, no paths of a developer's machine, files of one idea."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.house.rooms import PACKAGE, REPOSITORY, package_files

FILES = [pytest.param(path, id=path.relative_to(PACKAGE).as_posix()) for path in package_files()]
FOLDERS = ("torch_debugger", "tests", "zoo", "docs", "benchmarks", "tools", "examples")
TEXTS = {".py", ".md", ".txt", ".toml", ".svg", ".cfg", ".json"}
LOUD = re.compile(r"\w!(?:\s|$)|[\U0001f300-\U0001faff\u2600-\u27bf]")
# Written in two halves, so that this file does not find itself.
MACHINE_PATHS = re.compile("|".join(f"/{first}{second}/" for first, second in [("wo", "rk"), ("ro", "ot")]))
LONGEST_FILE = 250  # lines; most have about 100


def texts(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def written_files() -> list[Path]:
    inside = [path for folder in FOLDERS for path in (REPOSITORY / folder).rglob("*")]
    files = [*inside, *REPOSITORY.glob("*.md"), *REPOSITORY.glob("*.t*"), REPOSITORY / "Makefile"]
    return [path for path in files if path.is_file() and (path.suffix in TEXTS or path.name == "Makefile")]


@pytest.mark.parametrize("path", FILES)
def test_no_text_of_ours_shouts(path: Path) -> None:
    assert not [text for text in texts(path) if LOUD.search(text)]


def test_no_file_names_a_machine() -> None:
    guilty = [
        path
        for path in written_files()
        if MACHINE_PATHS.search(path.read_text(encoding="utf-8", errors="replace"))
    ]
    assert not guilty


@pytest.mark.parametrize("path", FILES)
def test_names_say_what_is_inside(path: Path) -> None:
    assert path.stem not in {"utils", "util", "helpers", "helper", "common", "misc", "manager", "tools"}


@pytest.mark.parametrize("path", FILES)
def test_one_idea_fits_on_a_few_screens(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").split("\n")) <= LONGEST_FILE


@pytest.mark.parametrize("path", FILES)
def test_every_file_says_what_it_is(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    if text.strip():
        assert ast.get_docstring(ast.parse(text))


def test_loud_words_are_heard() -> None:
    assert LOUD.search("Done!")
    assert LOUD.search("fire \U0001f525")
    assert not LOUD.search("a != b, {x!r}")
    assert MACHINE_PATHS.search("see /" + "work/main")
