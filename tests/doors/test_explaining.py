"""`with explaining():` and `@explaining()`: told once, and the exception goes on as it is."""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
import textwrap
import traceback
from collections.abc import Iterator
from pathlib import Path

import pytest

import torch_debugger
from tests import preloaded
from tests.doors.crashing import raised_by, shapes_that_do_not_fit
from torch_debugger import explaining

TOLD = "error: shape-mismatch"


def files_of(error: BaseException) -> list[str]:
    return [os.path.basename(frame.f_code.co_filename) for frame, _ in traceback.walk_tb(error.__traceback__)]


def test_a_block_that_raises(capfd: pytest.CaptureFixture[str]) -> None:
    own = RuntimeError("mine")
    with pytest.raises(RuntimeError) as caught, explaining():
        raise own
    assert caught.value is own
    assert files_of(own) == ["test_explaining.py"]
    assert capfd.readouterr().err.count("The script stopped with RuntimeError: mine") == 1


def test_a_block_that_does_not(capfd: pytest.CaptureFixture[str]) -> None:
    with explaining():
        pass
    assert capfd.readouterr() == ("", "")


def test_as_a_decorator(capfd: pytest.CaptureFixture[str]) -> None:
    @explaining()
    def work(times: int) -> int:
        """Works."""
        if times > 1:
            shapes_that_do_not_fit()
        return times

    assert (work(1), work.__name__, work.__doc__) == (1, "work", "Works.")
    error = raised_by(lambda: work(2))
    assert capfd.readouterr().err.count(TOLD) == 1
    assert "contextlib.py" not in files_of(error)
    if sys.version_info >= (3, 11):  # before, what is raised again takes the frame with it
        assert "explaining.py" not in files_of(error)


def test_a_coroutine_function(capfd: pytest.CaptureFixture[str]) -> None:
    @explaining()
    async def work() -> None:
        await asyncio.sleep(0)
        shapes_that_do_not_fit()

    with pytest.raises(RuntimeError, match="mat1 and mat2"):
        asyncio.run(work())
    assert capfd.readouterr().err.count(TOLD) == 1


def test_a_generator_function(capfd: pytest.CaptureFixture[str]) -> None:
    @explaining()
    def batches() -> Iterator[int]:
        yield 1
        shapes_that_do_not_fit()

    got = batches()
    assert next(got) == 1
    with pytest.raises(RuntimeError, match="mat1 and mat2"):
        next(got)
    assert capfd.readouterr().err.count(TOLD) == 1
    closed = batches()
    next(closed)
    closed.close()
    assert capfd.readouterr().err == ""


def test_one_inside_the_other(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(RuntimeError), explaining(), explaining():
        shapes_that_do_not_fit()
    assert capfd.readouterr().err.count(TOLD) == 1


def test_a_debugger_around_it_or_inside(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(RuntimeError), torch_debugger.Debugger() as around, explaining():
        shapes_that_do_not_fit()
    assert capfd.readouterr().err.count(TOLD) == 1
    assert [finding.name for finding in around.findings] == ["shape-mismatch"]
    with pytest.raises(RuntimeError), explaining(), torch_debugger.Debugger():
        shapes_that_do_not_fit()
    assert capfd.readouterr().err.count(TOLD) == 1


def test_what_explain_has_shown(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(RuntimeError), explaining():  # noqa: PT012
        try:
            shapes_that_do_not_fit()
        except RuntimeError as error:
            torch_debugger.explain(error)
            raise
    assert capfd.readouterr().err.count(TOLD) == 1


def test_what_is_raised_from_a_told_exception(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match="batch failed"), explaining():  # noqa: PT012
        try:
            with explaining():
                shapes_that_do_not_fit()
        except RuntimeError as error:
            raise ValueError("batch failed") from error
    assert capfd.readouterr().err.count(TOLD) == 1


def test_another_crash_while_a_told_one_is_handled(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(KeyError), explaining():  # noqa: PT012
        try:
            with explaining():
                shapes_that_do_not_fit()
        except RuntimeError:
            {}["another"]
    told = capfd.readouterr().err
    assert told.count(TOLD) == 1
    assert told.count("error: unexplained-crash") == 1


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, GeneratorExit, asyncio.CancelledError])
def test_what_ends_on_purpose(kind: type[BaseException], capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(kind), explaining():
        raise kind
    assert capfd.readouterr() == ("", "")


def test_a_fault_of_ours_does_not_hide_the_users(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(error: BaseException) -> None:
        raise ZeroDivisionError("ours")

    monkeypatch.setattr("torch_debugger.runner.explanations.capture", broken)
    with pytest.raises(RuntimeError, match="mat1 and mat2") as caught, explaining():
        shapes_that_do_not_fit()
    assert caught.value.__context__ is None
    assert "could not explain this (ZeroDivisionError: ours)" in capfd.readouterr().err


def test_nothing_is_loaded_before_it_is_needed() -> None:
    code = "import sys, torch_debugger\nwith torch_debugger.explaining():\n    pass\n"
    code += "sys.exit(bool({'torch', 'numpy', 'rich'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=300).returncode == 0


SCRIPT = """
import torch, torch_debugger
from torch import nn
model = nn.Sequential(nn.Linear(8, 16), nn.Linear(20, 2))
with torch_debugger.explaining():
    model(torch.randn(4, 8))
"""


@pytest.mark.parametrize("command", [[], ["-m", "torch_debugger", "run", "--no-log"]], ids=["plain", "run"])
def test_a_script_ends_as_it_would(command: list[str], tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(textwrap.dedent(SCRIPT))
    done = preloaded.run(
        [sys.executable, *command, "train.py"],
        cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.count(TOLD) == 1
    assert done.stderr.count("RuntimeError: mat1 and mat2 shapes") == 1
    assert "torch_debugger/" not in done.stderr


def test_one_object_entered_many_times() -> None:
    """It keeps nothing, so that tasks and threads may share it."""
    shared = explaining()
    with contextlib.ExitStack() as stack:
        for _ in range(3):
            stack.enter_context(shared)
