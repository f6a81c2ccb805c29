"""A file beside the script with the name of a module that we use is the script's, and the script's alone."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import DEBUGGER, FRESH, Done, Write, run_forked, run_plain, run_really

SHADOWED = (
    "resource", "psutil", "sqlite3", "ast", "copy", "json", "signal", "random", "rich", "typing", "logging",
    "msgspec", "typing_extensions",
)  # fmt: skip
IMPORTS_THEM = f"""
    import sys
    for name in {SHADOWED}:
        module = __import__(name)
        print(name, module.__file__, sorted(vars(module))[-1], sys.modules[name] is module)
    import tempfile, inspect, dataclasses
"""
TRAINS = """
    import psutil, torch
    torch.manual_seed(0)
    net = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for _ in range(3):
        optimizer.zero_grad()
        net(torch.ones(2, 4)).pow(2).mean().backward()
        optimizer.step()
    import resource, sqlite3, rich
    print("trained", psutil.__file__, resource.__file__)
"""


@pytest.fixture
def shadows(write: Write, tmp_path: Path) -> Path:
    for name in SHADOWED:
        write("print('executed', __name__)", f"{name}.py")
    return tmp_path


def the_same(plain: Done, watched: Done) -> None:
    assert watched.stdout == plain.stdout
    assert _without_addresses(watched.stderr) == _without_addresses(plain.stderr)
    assert watched.returncode == plain.returncode


def _without_addresses(text: str) -> str:
    return re.sub(r"0x[0-9a-f]+", "0x", text)


@pytest.mark.usefixtures("shadows")
def test_each_is_run_once_by_the_script_and_never_by_us(write: Write) -> None:
    """The last imports fail as they do without us: there, modules of the library meet the script's."""
    write(IMPORTS_THEM)
    plain = run_plain("train.py")
    assert plain.stdout.count("executed") == len(SHADOWED) and "ImportError" in plain.stderr
    the_same(plain, run_really([*DEBUGGER, "run", "--no-log", "--quiet", "train.py"]))


@pytest.mark.usefixtures("shadows")
def test_of_a_module_and_of_a_folder_that_is_not_searched(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    write(IMPORTS_THEM, "package/__main__.py")
    the_same(run_plain("-m", "package"), run_watched("-m", "package"))
    write(IMPORTS_THEM)
    monkeypatch.setenv("PYTHONSAFEPATH", "1")
    plain = run_plain("train.py")
    assert "executed" not in plain.stdout or sys.version_info < (3, 11)
    the_same(plain, run_watched("train.py"))


def run_watched(*words: str) -> Done:
    return run_forked([*FRESH, "run", "--no-log", "--quiet", *words])


@pytest.mark.usefixtures("with_torch")
def test_a_training_beside_files_that_torch_does_without(write: Write) -> None:
    for name in ("psutil", "resource", "sqlite3", "rich"):
        write("print('executed', __name__)", f"{name}.py")
    write(TRAINS)
    plain = run_plain("train.py")
    assert "trained" in plain.stdout and plain.stdout.count("executed") == 4, plain.stderr
    the_same(plain, run_watched("train.py"))


@pytest.mark.usefixtures("with_torch")
@pytest.mark.parametrize("name", ["ast", "random"])
def test_torch_fails_by_them_as_it_does_without_us(name: str, write: Write) -> None:
    write("print('executed', __name__)", f"{name}.py")
    write("import torch")
    plain = run_plain("train.py")
    assert plain.returncode == 1 and "Error: " in plain.stderr
    watched = run_watched("train.py")
    assert (watched.stdout, watched.returncode) == (plain.stdout, plain.returncode)
    assert plain.stderr.splitlines()[-1] in watched.stderr.splitlines()
