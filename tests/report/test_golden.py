"""Whole reports compared as text. WRITE_GOLDEN=1 writes them anew; then read the difference."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path

import pytest
from rich.console import Console

from tests.report.results import all_results, write_script
from torch_debugger.report.json_and_markdown import render_markdown, to_json
from torch_debugger.report.result import RunResult
from torch_debugger.report.terminal import render_terminal

GOLDEN = Path(__file__).parent / "golden"
NAMES = ["verdict", "healthy", "healthy_with_note", "crash", "killed", "no_torch", "hostile"]


@pytest.fixture
def results(tmp_path: Path) -> dict[str, RunResult]:
    write_script(tmp_path)
    return all_results(tmp_path)


def compare(name: str, text: str) -> None:
    path = GOLDEN / name
    if os.environ.get("WRITE_GOLDEN"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


def terminal_text(result: RunResult, width: int) -> str:
    stream = io.StringIO()
    render_terminal(result, Console(file=stream, width=width))
    return stream.getvalue()


def test_names_are_all_results(results: dict[str, RunResult]) -> None:
    assert list(results) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_terminal(results: dict[str, RunResult], name: str) -> None:
    compare(f"{name}.txt", terminal_text(results[name], 90))


@pytest.mark.parametrize("name", ["verdict", "hostile"])
def test_narrow_terminal(results: dict[str, RunResult], name: str) -> None:
    compare(f"{name}_60.txt", terminal_text(results[name], 60))


@pytest.mark.parametrize("name", NAMES)
def test_markdown(results: dict[str, RunResult], name: str) -> None:
    compare(f"{name}.md", render_markdown(results[name]))


@pytest.mark.parametrize("name", NAMES)
def test_json(results: dict[str, RunResult], name: str) -> None:
    text = json.dumps(to_json(results[name]), indent=1, allow_nan=False) + "\n"
    compare(f"{name}.json", text)
