"""Runs small scripts under plain python and under `torch-debugger run`, with a session that needs no torch.

Most are run in forks of a process that has everything imported (tests/preloaded.py). Where it matters that
the script's interpreter is a fresh one, the parent alone is such a fork (FRESH); where the parent's matters as
well, both are real (DEBUGGER).
"""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import preloaded

STAND = Path(__file__).parent / "stand"
QUICK = [sys.executable, str(STAND / "quick.py")]
STANDING = [sys.executable, str(STAND / "standing.py")]
FRESH = [sys.executable, str(STAND / "fresh.py")]
FRESH_QUICK = [sys.executable, str(STAND / "fresh_quick.py")]
DEBUGGER = [sys.executable, "-m", "torch_debugger"]
LIMIT_S = 300  # only a hang takes this long

Write = Callable[..., Path]
Done = subprocess.CompletedProcess[str]


@pytest.fixture(scope="session", autouse=True)
def preloaded_without_the_stand() -> None:
    """Started before a test puts the stand's sitecustomize.py on the path: the forks of other tests want the
    session of the package."""
    preloaded._server()


@pytest.fixture(autouse=True)
def stand(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)  # compiled once, and not by every process
    package = Path(__file__).parents[2]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(STAND), str(package)]))
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def with_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    """The session of the package in place of the stand's."""
    others = [path for path in os.environ["PYTHONPATH"].split(os.pathsep) if path != str(STAND)]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(others))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write_script(source: str, name: str = "train.py") -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(source), encoding="utf-8")
        return path

    return write_script


def run_plain(*words: str, stdin: str = "") -> Done:
    """The real one: without torch it starts in a moment."""
    return run_really([sys.executable, *words], stdin)


def run_watched(*words: str, stdin: str = "") -> Done:
    """With the stand's session and all checks."""
    return run_forked([*STANDING, "run", *words], stdin)


def run_quick(*words: str, stdin: str = "") -> Done:
    """With the stand's session and the one check of quick.py."""
    return run_forked([*QUICK, "run", *words], stdin)


def debugger(*words: str, stdin: str = "") -> Done:
    """`torch-debugger VERB` as it is, torch and all."""
    return run_forked([*DEBUGGER, *words], stdin)


def run_forked(command: list[str], stdin: str = "") -> Done:
    return preloaded.run(command, input=stdin, capture_output=True, text=True, timeout=LIMIT_S, check=False)


def run_really(command: list[str], stdin: str = "") -> Done:
    return subprocess.run(
        command,
        input=stdin,
        env=dict(os.environ),  # without what readline has put beside it in the tests' own process
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
