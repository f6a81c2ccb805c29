"""The text of a traceback is never explained as something else than the live exception it came from."""

from __future__ import annotations

import traceback
from pathlib import Path

import pytest

from tests.checks.crashes.scripts import Case, claims, read_cases, run_script
from torch_debugger.checks.catalog import catalog
from torch_debugger.checks.explainers.texts import TEXTS
from torch_debugger.pasted.reading import read_crash
from torch_debugger.probes.crashes import capture_crash

GOLDEN = Path(__file__).parent
SHAPES = read_cases(GOLDEN / "shape_mismatch.golden")[::5]
CASES = [case for file in sorted(GOLDEN.glob("*.golden")) for case in read_cases(file)]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.file.stem}-{case.name}")
def test_the_same_check_or_none(case: Case, tmp_path: Path) -> None:
    error = run_script(tmp_path / "script.py", case.source)
    assert error is not None
    live = capture_crash(error, case.step)
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


def test_every_text_belongs_to_a_check() -> None:
    assert set(TEXTS) <= {check.name for check in catalog()}


def test_many_of_them_are_explained(tmp_path: Path) -> None:
    """The test above can fail: texts do claim."""
    told = 0
    for index, case in enumerate(SHAPES):
        error = run_script(tmp_path / f"script{index}.py", case.source)
        crash = read_crash("".join(traceback.format_exception(error))) if error is not None else None
        told += crash is not None and bool(claims(crash))
    assert told >= len(SHAPES) / 2
