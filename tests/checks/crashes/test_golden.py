"""Every sentence about a crash, compared whole; what its text alone tells; and every edit, applied and run."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import absurd_allocations
from tests.checks.crashes.scripts import (
    Case,
    apply,
    claims,
    crash_of,
    judge,
    read_cases,
    rewrite,
    run_script,
    tell,
)
from torch_debugger.pasted.reading import read_crash
from torch_debugger.probes import crashes
from torch_debugger.probes.crashes import capture_crash
from torch_debugger.records import CrashFact
from torch_debugger.records.codec import from_plain, to_plain

HERE = Path(__file__).parent
CASES = [case for file in sorted(HERE.glob("*.golden")) for case in read_cases(file)]

# Read better where Python tells which expression raised, from 3.11 on.
BY_POSITION = ("textcnn_embedding_conv", "mse_broadcast_fail", "labels_int32")
OLD_PYTHON = sys.version_info < (3, 11)


@pytest.fixture(autouse=True)
def absurd_allocations_are_refused() -> Iterator[None]:
    with absurd_allocations.refused():
        yield


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.file.stem}-{case.name}")
def test_what_is_said_of_a_crash(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One run of the script serves all that is asked of its crash: running them takes most of the time."""
    error = run_script(tmp_path / "net.py", case.source)
    assert error is not None, "the script was meant to crash"
    crash = capture_crash(error, case.step)
    if os.environ.get("WRITE_GOLDEN"):
        rewrite(case, all_words(crash))
        return
    if not (OLD_PYTHON and case.name in BY_POSITION):
        assert_the_whole_text(case, crash)
    assert_the_text_alone_tells_nothing_else(error, crash)
    monkeypatch.setattr(crashes, "failing_expression", lambda *_: "")
    assert_the_same_without_positions(case, capture_crash(error, case.step))
    if "\n+" in case.told:
        assert_the_edit_makes_the_script_run(case, crash, tmp_path / "net.py")


def all_words(crash: CrashFact) -> str:
    return "\n".join(tell(finding) for finding in judge(crash))


def assert_the_whole_text(case: Case, crash: CrashFact) -> None:
    assert all_words(crash) == case.told
    first = judge(crash)[0]
    assert (first.severity, first.first_step) == ("error", case.step)


def assert_the_text_alone_tells_nothing_else(error: BaseException, live: CrashFact) -> None:
    text = read_crash("".join(traceback.format_exception(error)))
    assert text is not None
    assert text.pasted
    if not hasattr(error, "exceptions"):
        assert text.kind.endswith(live.kind)  # numpy's MemoryError prints another name than it has
        assert "".join(words(live.message)).startswith("".join(words(text.message)))  # its first paragraph
        assert text.message or not live.message
        assert text.place.line == live.place.line
    assert set(claims(text)) <= set(claims(live))


def words(message: str) -> list[str]:
    return message.replace("\x1b[1m", "").replace("\x1b[0m", "").split()


def assert_the_same_without_positions(case: Case, crash: CrashFact) -> None:
    told = all_words(crash)
    if case.name in BY_POSITION:
        assert told.startswith("unexplained-crash") or told.splitlines()[0] == case.told.splitlines()[0]
    else:
        assert told == case.told


def assert_the_edit_makes_the_script_run(case: Case, crash: CrashFact, file: Path) -> None:
    edit = judge(crash)[0].edit
    assert edit is not None
    assert run_script(file, apply(edit, case.source)) is None


def test_a_crash_read_back_from_the_log_is_explained_the_same(tmp_path: Path) -> None:
    crash = crash_of(tmp_path / "net.py", CASES[0].source)
    again = from_plain("CrashFact", to_plain(crash))
    assert again == crash
