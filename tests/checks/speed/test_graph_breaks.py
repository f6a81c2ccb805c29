"""graph-breaks: the line at which torch.compile cuts, and the time that the parts took."""

from __future__ import annotations

import pytest

from tests.checks.speed.test_recompiles_each_step import compiled
from tests.fakes import cost, judged, place
from torch_debugger.records import Compilation, Finding

NAME = "graph-breaks"
CAUSE = place(15, code='print(end="" if h.max().item() < 1000 else "large ")')
CALL = place(28, code="x = self.first(x)")


def part(frame: int, where: object, again: int = 0, seconds: float = 0.25) -> Compilation:
    return compiled(again, seconds, frame=frame, is_part=True, place=where)


def found(*records: Compilation, elapsed_s: float = 10.0) -> list[Finding]:
    return judged([compiled(0), *records, cost(elapsed_s=elapsed_s)], NAME)


def test_the_line_that_cannot_be_compiled_is_told_rather_than_those_that_call_it() -> None:
    calls = [part(number, CALL) for number in (4, 5, 6)]
    [finding] = found(part(2, CAUSE), part(2, CAUSE, again=1), *calls)
    assert finding.severity == "note" and finding.where == CAUSE
    assert finding.message == (
        'torch.compile cuts `forward`, and all that calls it, into 5 parts at `print(end="" if '
        'h.max().item() < 1000 else "large ")`. Compiling the parts took 1.25 s of the 10 s so far.'
    )
    assert "fullgraph=True" in finding.fix and "6 % of the time so far" in finding.fix
    assert finding.evidence["expected_gain"] == pytest.approx(0.0625)


def test_a_function_that_was_given_up_is_told() -> None:
    where = place(11, code="if h.abs().max() > 100:")
    [finding] = found(compiled(0, 1.0, given_up=True, reason="Data-dependent branching", reason_place=where))
    assert finding.where == where
    assert finding.message.startswith(
        "torch.compile leaves `forward` uncompiled at `if h.abs().max() > 100:` (Data-dependent branching). "
        "Trying it took 1 s of the 10 s so far."
    )


def test_parts_that_took_no_time_are_left_alone() -> None:
    assert found(part(2, CAUSE), elapsed_s=2.6) == []


def test_a_recompile_limit_is_no_cut() -> None:
    assert found(compiled(8, 2.0, given_up=True)) == []


def test_whole_functions_are_left_alone() -> None:
    assert found(compiled(0, 3.0, frame=1)) == []
