"""Runs small scripts under plain python and under `torch-debugger run`, with a session that needs no torch."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

STAND = Path(__file__).parent / "stand"
QUICK = [sys.executable, str(STAND / "quick.py")]
DEBUGGER = [sys.executable, "-m", "torch_debugger"]
LIMIT_S = 60  # only a hang takes this long

Write = Callable[..., Path]
Done = subprocess.CompletedProcess[str]


@pytest.fixture(autouse=True)
def stand(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    # Compiled once and not two hundred times, also where PYTHONDONTWRITEBYTECODE is set.
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    monkeypatch.setenv("PYTHONPYCACHEPREFIX", str(tmp_path_factory.getbasetemp() / "bytecode"))
    package = Path(__file__).parents[2]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(STAND), str(package)]))
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write_script(source: str, name: str = "train.py") -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(source), encoding="utf-8")
        return path

    return write_script


def run_plain(*words: str, stdin: str = "") -> Done:
    return _run([sys.executable, *words], stdin)


def run_watched(*words: str, stdin: str = "") -> Done:
    return _run([*DEBUGGER, "run", *words], stdin)


def run_quick(*words: str, stdin: str = "") -> Done:
    return _run([*QUICK, "run", *words], stdin)


def _run(command: list[str], stdin: str) -> Done:
    return subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=LIMIT_S, check=False)
