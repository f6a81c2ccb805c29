"""Every sentence about a crash, compared whole; what a log and its text alone keep of it; every edit, run."""

from __future__ import annotations

import dataclasses
import os
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import absurd_allocations
from tests.checks.crashes.scripts import (
    HEAD,
    Case,
    apply,
    claims,
    crash_checks,
    crash_of,
    judge,
    nothing_stays_behind,
    read_cases,
    rewrite,
    run_script,
    tell,
)
from torch_debugger.checks.catalog import catalog
from torch_debugger.checks.crash_check import TEXTS
from torch_debugger.crashes.capture import capture_crash
from torch_debugger.records import CrashFact, Finding
from torch_debugger.records.codec import from_plain, to_plain
from torch_debugger.source.pasted_tracebacks import read_crash

HERE = Path(__file__).parent
FILES = sorted(HERE.glob("*.golden"))

# Read better where Python tells which expression raised, from 3.11 on.
BY_POSITION = ("textcnn_embedding_conv", "mse_broadcast_fail", "labels_int32")
OLD_PYTHON = sys.version_info < (3, 11)


@pytest.fixture(autouse=True)
def absurd_allocations_are_refused() -> Iterator[None]:
    with absurd_allocations.refused():
        yield


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_what_is_said_of_the_crashes(file: Path, tmp_path: Path) -> None:
    """One run of a script serves all that is asked of its crash: running them takes most of the time."""
    cases = read_cases(file)
    assert len({case.name for case in cases}) == len(cases) > 0
    complaints = []
    for case in cases:
        (tmp_path / case.name).mkdir()
        with nothing_stays_behind():
            try:
                look_at(case, tmp_path / case.name / "net.py")
            except Exception as error:
                complaints.append(f"{case.name}: {type(error).__name__}: {error}")
    assert not complaints, "\n\n".join(complaints)


def look_at(case: Case, file: Path) -> None:
    error = run_script(file, case.source)
    assert error is not None, "the script was meant to crash"
    crash = capture_crash(error, case.step)
    findings = judge(crash)
    if os.environ.get("WRITE_GOLDEN"):
        rewrite(case, all_words(findings))
        return
    if not (OLD_PYTHON and case.name in BY_POSITION):
        assert_the_whole_text(case, findings)
    assert from_plain("CrashFact", to_plain(crash)) == crash, "read back from the log it is another"
    assert_the_text_alone_tells_nothing_else(error, crash, findings)
    assert_the_same_without_positions(case, all_words(judge(without_positions(crash), crash_checks())))
    if "\n+" in case.told:
        assert_the_edit_makes_the_script_run(case, findings[0], file)


def without_positions(crash: CrashFact) -> CrashFact:
    """As a Python captures it that does not tell which expression raised."""
    frames = tuple(dataclasses.replace(frame, failing="") for frame in crash.frames)
    causes = tuple(map(without_positions, crash.causes))
    return dataclasses.replace(crash, frames=frames, causes=causes)


def all_words(findings: list[Finding]) -> str:
    return "\n".join(map(tell, findings))


def assert_the_whole_text(case: Case, findings: list[Finding]) -> None:
    assert all_words(findings) == case.told
    assert (findings[0].severity, findings[0].first_step) == ("error", case.step)


def assert_the_text_alone_tells_nothing_else(error: BaseException, live: CrashFact, findings: list[Finding]) -> None:
    text = read_crash("".join(traceback.format_exception(error)))
    assert text is not None
    assert text.pasted
    if not hasattr(error, "exceptions"):
        assert text.kind.endswith(live.kind)  # numpy's MemoryError prints another name than it has
        assert "".join(words(live.message)).startswith("".join(words(text.message)))  # its first paragraph
        assert text.message or not live.message
        assert text.place.line == live.place.line
    assert set(claims(text)) <= {finding.name for finding in findings}


def words(message: str) -> list[str]:
    return message.replace("\x1b[1m", "").replace("\x1b[0m", "").split()


def assert_the_same_without_positions(case: Case, told: str) -> None:
    if case.name in BY_POSITION:
        assert told.startswith("unexplained-crash") or told.splitlines()[0] == case.told.splitlines()[0]
    else:
        assert told == case.told


def assert_the_edit_makes_the_script_run(case: Case, first: Finding, file: Path) -> None:
    assert first.edit is not None
    assert run_script(file, apply(first.edit, case.source)) is None


def told(tmp_path: Path, script: str) -> Finding:
    (finding,) = judge(crash_of(tmp_path / "train.py", HEAD + script))
    assert finding.name == "unexplained-crash"
    return finding


def test_a_key_that_is_spelt_otherwise(tmp_path: Path) -> None:
    finding = told(tmp_path, 'classes = {"cat": 0, "dog": 1, "bird": 2}\nname = "Bird "\nclasses[name]\n')
    assert finding.why == "`classes` (dict of 3) does not hold 'Bird ': it has 'cat', 'dog', 'bird'."
    assert finding.fix == "`classes[name]` asks for 'Bird ', and `classes` has 'bird': make the two the same."


@pytest.mark.parametrize("line", ["sizes[3]", "sizes['width']"])
def test_a_key_that_nothing_resembles(tmp_path: Path, line: str) -> None:
    finding = told(tmp_path, f'sizes = {{"depth": 4, 1: 2}}\n{line}\n')
    assert finding.why.endswith("it has 'depth', 1.")
    assert finding.fix == f"Read `{line}` with the values above; the traceback is complete."


def test_what_no_check_claims_is_told_with_its_values(tmp_path: Path) -> None:
    finding = told(tmp_path, "rates = [0.1, 0.01]\nepoch = 2\nrates[epoch]\n")
    assert finding.why == "`rates` (list of 2) does not hold 2.", "a place that a list does not have"
    finding = told(tmp_path, 'raise KeyError("lr")\n')
    assert finding.why.startswith("No check recognised the cause"), "an exception of the users own"


GOLDEN = Path(__file__).parent
SHAPES = read_cases(GOLDEN / "shape_mismatch.golden")[::5]


def test_every_text_belongs_to_a_check() -> None:
    assert set(TEXTS) <= {check.name for check in catalog()}


def test_many_of_them_are_explained(tmp_path: Path) -> None:
    told = 0
    for index, case in enumerate(SHAPES):
        error = run_script(tmp_path / f"script{index}.py", case.source)
        crash = read_crash("".join(traceback.format_exception(error))) if error is not None else None
        told += crash is not None and bool(claims(crash))
    assert told >= len(SHAPES) / 2
