"""Every sentence about a crash, compared whole; and every edit it offers, applied and run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checks.crashes.scripts import Case, apply, crash_of, judge, read_cases, run_script, tell
from torch_debugger.records.codec import from_plain, to_plain

HERE = Path(__file__).parent
CASES = [case for name in ("shape_mismatch", "dtype_mismatch") for case in read_cases(HERE / f"{name}.golden")]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_whole_text(case: Case, tmp_path: Path) -> None:
    findings = judge(crash_of(tmp_path / "net.py", case.source))
    assert "\n".join(tell(finding) for finding in findings) == case.told
    assert (findings[0].severity, findings[0].first_step) == ("error", 7)


@pytest.mark.parametrize("case", [case for case in CASES if "\n+ " in case.told], ids=lambda case: case.name)
def test_the_edit_makes_the_script_run(case: Case, tmp_path: Path) -> None:
    edit = judge(crash_of(tmp_path / "net.py", case.source))[0].edit
    assert edit is not None
    assert run_script(tmp_path / "net.py", apply(edit, case.source)) is None


def test_a_crash_read_back_from_the_log_is_explained_the_same(tmp_path: Path) -> None:
    crash = crash_of(tmp_path / "net.py", CASES[0].source)
    again = from_plain("CrashFact", to_plain(crash))
    assert again == crash
