"""Every sentence about a crash, compared whole; and every edit it offers, applied and run."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.checks.crashes.scripts import Case, apply, crash_of, judge, read_cases, rewrite, run_script, tell
from torch_debugger.probes import crashes
from torch_debugger.records.codec import from_plain, to_plain

HERE = Path(__file__).parent
CASES = [case for file in sorted(HERE.glob("*.golden")) for case in read_cases(file)]


# Read better where Python tells which expression raised, from 3.11 on.
BY_POSITION = ("textcnn_embedding_conv", "mse_broadcast_fail", "labels_int32")
OLD_PYTHON = sys.version_info < (3, 11)
EVERYWHERE = [case for case in CASES if not (OLD_PYTHON and case.name in BY_POSITION)]


@pytest.mark.parametrize("case", EVERYWHERE, ids=lambda case: case.name)
def test_the_whole_text(case: Case, tmp_path: Path) -> None:
    findings = judge(crash_of(tmp_path / "net.py", case.source, case.step))
    told = "\n".join(tell(finding) for finding in findings)
    if os.environ.get("WRITE_GOLDEN"):
        rewrite(case, told)
        return
    assert told == case.told
    assert (findings[0].severity, findings[0].first_step) == ("error", case.step)


@pytest.mark.parametrize(
    "case", [case for case in EVERYWHERE if "\n+" in case.told], ids=lambda case: case.name
)
def test_the_edit_makes_the_script_run(case: Case, tmp_path: Path) -> None:
    edit = judge(crash_of(tmp_path / "net.py", case.source, case.step))[0].edit
    assert edit is not None
    assert run_script(tmp_path / "net.py", apply(edit, case.source)) is None


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_where_python_does_not_tell_the_expression(
    case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(crashes, "failing_expression", lambda *_: "")
    findings = judge(crash_of(tmp_path / "net.py", case.source, case.step))
    told = "\n".join(tell(finding) for finding in findings)
    if case.name in BY_POSITION:
        assert findings[0].name == "unexplained-crash" or told.splitlines()[0] == case.told.splitlines()[0]
    else:
        assert told == case.told


def test_a_crash_read_back_from_the_log_is_explained_the_same(tmp_path: Path) -> None:
    crash = crash_of(tmp_path / "net.py", CASES[0].source)
    again = from_plain("CrashFact", to_plain(crash))
    assert again == crash
