"""What a frame has ahead of it is gone through once, statement by statement."""

from __future__ import annotations

import builtins
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from torch_debugger.source.variables import VariablesAt
from torch_debugger.trials.remaining_statements import FEW_TURNS, ONE_TURN, PASSED_OVER, RETURNED, Turns, lines_ahead

LOOP = """\
def train(seen):
    for epoch in range(5):
        for item in range(10, 20):
            seen.append(item)
            missing += 1
            seen.append("after")
    seen.append("end")
    return len(seen)
"""
OUTER = """\
def main(seen):
    for epoch in range(5):
        seen.append("before")
        result = train(seen)
        seen.append(result)
    seen.append("end")
"""


@pytest.fixture(autouse=True)
def failed() -> Iterator[list[Exception]]:
    errors: list[Exception] = []
    for name, value in ((PASSED_OVER, errors.append), (ONE_TURN, lambda items: itertools.islice(items, 1))):
        setattr(builtins, name, value)
    setattr(builtins, RETURNED, "returned")
    setattr(builtins, FEW_TURNS, Turns().of)
    yield errors
    for name in (PASSED_OVER, ONE_TURN, RETURNED):
        delattr(builtins, name)


def gone_through(
    tmp_path: Path, source: str, line: int, inner: str = "", *, whole_turn: bool = False
) -> tuple[Any, list[Any]]:
    file = tmp_path / "script.py"
    file.write_text(source)
    seen: list[Any] = []
    function = source.partition("def ")[2].partition("(")[0]
    lines = lines_ahead(VariablesAt(str(file), line, function, {"seen": seen}, {}), inner, whole_turn=whole_turn)
    run = lines.function(0) if lines is not None else None
    assert run is not None
    return run(), seen


def test_each_loop_around_the_line_has_one_turn_and_what_fails_is_passed_over(
    tmp_path: Path, failed: list[Exception]
) -> None:
    returned, seen = gone_through(tmp_path, LOOP, 4)
    assert seen == [10, "after", "end"] and returned == 3
    assert [type(error) for error in failed] == [UnboundLocalError]


def test_a_frame_further_out_goes_on_with_what_the_inner_one_gave_back(tmp_path: Path) -> None:
    _, seen = gone_through(tmp_path, OUTER, 4, inner="train")
    assert seen == ["returned", "end"]


def test_a_loop_around_the_call_of_the_inner_frame_has_a_turn_from_its_begin(tmp_path: Path) -> None:
    _, seen = gone_through(tmp_path, OUTER, 4, inner="train", whole_turn=True)
    assert seen == ["returned", "before", "returned", "end"]
