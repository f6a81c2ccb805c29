"""The text of a traceback alone: which checks read it; test_golden.py holds it against live crashes."""

from __future__ import annotations

import traceback
from pathlib import Path

from tests.checks.crashes.scripts import claims, read_cases, run_script
from torch_debugger.checks.catalog import catalog
from torch_debugger.checks.crash_check import TEXTS
from torch_debugger.source.pasted_tracebacks import read_crash

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
