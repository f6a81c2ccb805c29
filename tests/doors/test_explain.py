"""`explain(error)`: shown on stderr, returned as an object, and clear about what it cannot take."""

from __future__ import annotations

import subprocess
import sys

import pytest

import torch_debugger
from tests.doors.crashing import a_missing_key, raised_by, shapes_that_do_not_fit
from torch_debugger.system.errors import UsageError


def test_it_is_shown_and_returned(capfd: pytest.CaptureFixture[str]) -> None:
    told = torch_debugger.explain(raised_by(shapes_that_do_not_fit))
    assert told.finding is not None
    assert told.finding.name == "shape-mismatch"
    assert [finding.name for finding in told.findings] == ["shape-mismatch"]
    assert repr(told) == f"<Explanation shape-mismatch at crashing.py:{told.finding.where.line}>"
    out, err = capfd.readouterr()
    assert out == ""
    assert err.startswith("error: shape-mismatch  TD901")
    assert "nn.Linear(16, 2)" in err


def test_its_text_is_what_is_shown(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    told = torch_debugger.explain(raised_by(shapes_that_do_not_fit))
    assert str(told) == capfd.readouterr().err


def test_it_tells_nothing_of_a_run(capfd: pytest.CaptureFixture[str]) -> None:
    """The exception was caught: nothing has crashed."""
    torch_debugger.explain(raised_by(shapes_that_do_not_fit))
    told = capfd.readouterr().err
    assert "crashed" not in told
    assert "step" not in told


def test_quietly(capfd: pytest.CaptureFixture[str]) -> None:
    told = torch_debugger.explain(raised_by(shapes_that_do_not_fit), show=False)
    assert capfd.readouterr() == ("", "")
    assert "nn.Linear(16, 2)" in str(told)


def test_the_exception_being_handled(capfd: pytest.CaptureFixture[str]) -> None:
    try:
        shapes_that_do_not_fit()
    except RuntimeError:
        told = torch_debugger.explain()
    assert repr(told).startswith("<Explanation shape-mismatch at crashing.py:")


@pytest.mark.parametrize("name", ["last_exc", "last_value"])
def test_the_last_exception_at_the_prompt(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(sys, "last_exc", raising=False)
    monkeypatch.setattr(sys, name, raised_by(shapes_that_do_not_fit), raising=False)
    told = torch_debugger.explain(show=False)
    assert told.finding is not None
    assert told.finding.name == "shape-mismatch"


def test_without_any_exception(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("last_exc", "last_value"):
        monkeypatch.delattr(sys, name, raising=False)
    with pytest.raises(UsageError, match=r"Call it in an `except` block, or give it the exception"):
        torch_debugger.explain()


@pytest.mark.parametrize("given", ["Traceback ...", 3, ValueError, object()], ids=["text", "number", "class", "object"])
def test_what_is_no_exception(given: object) -> None:
    with pytest.raises(UsageError, match="takes an exception, not") as caught:
        torch_debugger.explain(given)  # type: ignore[arg-type]
    assert ("explain-traceback" in str(caught.value)) == isinstance(given, str)


def test_the_general_form(capfd: pytest.CaptureFixture[str]) -> None:
    told = torch_debugger.explain(raised_by(a_missing_key))
    assert repr(told).startswith("<Explanation unexplained-crash at crashing.py:")
    assert "The script stopped with KeyError: 'missing'" in capfd.readouterr().err


def test_an_exception_that_was_never_raised() -> None:
    told = torch_debugger.explain(ValueError("made, not raised"), show=False)
    assert repr(told) == "<Explanation unexplained-crash>"
    assert "ValueError: made, not raised" in str(told)


def test_a_closed_stderr_is_no_reason_to_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    error = raised_by(shapes_that_do_not_fit)
    for stream in (None, open(0, closefd=False)):  # noqa: SIM115
        if stream is not None:
            stream.close()
        monkeypatch.setattr(sys, "stderr", stream)
        assert torch_debugger.explain(error).finding is not None


def test_the_exception_is_left_as_it_was() -> None:
    error = raised_by(shapes_that_do_not_fit)
    before = error.__traceback__, error.args, error.__cause__, error.__context__
    torch_debugger.explain(error, show=False)
    assert (error.__traceback__, error.args, error.__cause__, error.__context__) == before


def test_without_torch(tmp_path: object) -> None:
    """A program that has not imported torch does not get to import it for this."""
    code = """
import sys, torch_debugger
try:
    {}["missing"]
except KeyError:
    told = torch_debugger.explain()
assert "torch" not in sys.modules
print(told.finding.message)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stdout) == (0, "The script stopped with KeyError: 'missing'\n"), done.stderr
    assert "error: unexplained-crash" in done.stderr
