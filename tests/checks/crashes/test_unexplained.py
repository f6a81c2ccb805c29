"""What is said of a crash that no check claims."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checks.crashes.scripts import HEAD, crash_of, judge
from torch_debugger.records import Finding


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


def test_a_place_that_a_list_does_not_have(tmp_path: Path) -> None:
    finding = told(tmp_path, "rates = [0.1, 0.01]\nepoch = 2\nrates[epoch]\n")
    assert finding.why == "`rates` (list of 2) does not hold 2."


def test_an_exception_of_the_users_own(tmp_path: Path) -> None:
    finding = told(tmp_path, 'raise KeyError("lr")\n')
    assert finding.why.startswith("No check recognised the cause")
