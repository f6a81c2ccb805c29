from __future__ import annotations

import dataclasses

import pytest

from tests.fakes import cost, judged, place
from torch_debugger.records import Compilation, Finding, Place

BREAKS = "graph-breaks"
CAUSE = place(15, code='print(end="" if h.max().item() < 1000 else "large ")')
CALL = place(28, code="x = self.first(x)")


def part(frame: int, where: object, again: int = 0, seconds: float = 0.25) -> Compilation:
    return compiled(again, seconds, frame=frame, is_part=True, place=where)


def breaks(*records: Compilation, elapsed_s: float = 10.0) -> list[Finding]:
    return judged([compiled(0), *records, cost(elapsed_s=elapsed_s)], BREAKS)


def test_the_line_that_cannot_be_compiled_is_told_rather_than_those_that_call_it() -> None:
    calls = [part(number, CALL) for number in (4, 5, 6)]
    [finding] = breaks(part(2, CAUSE), part(2, CAUSE, again=1), *calls)
    assert finding.severity == "note" and finding.where == CAUSE
    assert finding.message == (
        'torch.compile cuts `forward`, and all that calls it, into 5 parts at `print(end="" if '
        'h.max().item() < 1000 else "large ")`. Compiling the parts took 1.25 s of the 10 s so far.'
    )
    assert "fullgraph=True" in finding.fix and "6 % of the time so far" in finding.fix
    assert finding.evidence["expected_gain"] == pytest.approx(0.0625)


def test_a_function_that_was_given_up_is_told() -> None:
    where = place(11, code="if h.abs().max() > 100:")
    [finding] = breaks(compiled(0, 1.0, given_up=True, reason="Data-dependent branching", reason_place=where))
    assert finding.where == where
    assert finding.message.startswith(
        "torch.compile leaves `forward` uncompiled at `if h.abs().max() > 100:` (Data-dependent branching). "
        "Trying it took 1 s of the 10 s so far."
    )


def test_cuts_that_cost_nothing_or_are_none_are_left_alone() -> None:
    assert breaks(part(2, CAUSE), elapsed_s=2.6) == [], "parts that took no time are left alone"
    assert breaks(compiled(8, 2.0, given_up=True)) == [], "a recompile limit is no cut"
    assert breaks(compiled(0, 3.0, frame=1)) == [], "whole functions are left alone"


RECOMPILES = "recompiles-each-step"


def compiled(again: int, seconds: float = 0.5, **others: object) -> Compilation:
    facts: dict[str, object] = {
        "frame": 0, "again": again, "function": "forward", "place": place(13, code="def forward(self, x):"),
        "is_part": False, "seconds": seconds, "reason": f"self.calls == {again - 1}" if again else "",
        "reason_place": place(14, code="self.calls += 1") if again else Place(), "given_up": False,
        "step": again + 1,
    }  # fmt: skip
    return Compilation(**{**facts, **others})  # type: ignore[arg-type]


def recompiles(times: int, elapsed_s: float = 10.0, *more: Compilation, **others: object) -> list[Finding]:
    return judged([*(compiled(n, **others) for n in range(times)), *more, cost(elapsed_s=elapsed_s)], RECOMPILES)


def test_the_condition_and_the_line_are_told() -> None:
    [finding] = recompiles(8)
    assert finding.severity == "warning" and finding.where.line == 14
    assert finding.message == (
        "torch.compile has compiled `forward` 8 times by step 8, the last 6 for 3 s, because `self.calls == "
        "6` no longer held."
    )
    assert finding.fix == (
        'Make a buffer of `self.calls` (line 14): `self.register_buffer("calls", torch.zeros(()))`, or count '
        "outside "
        "of the compiled function. That saves 30 % of the time so far."
    )
    assert finding.evidence["expected_gain"] == pytest.approx(0.3)


def test_that_torch_gave_up_is_told_however_little_time_it_took() -> None:
    end = dataclasses.replace(compiled(8, 0.01), given_up=True, function="", place=Place())
    [finding] = recompiles(8, 1000.0, end)
    assert finding.severity == "warning"
    assert finding.message.endswith("Then torch gave up: since then it runs uncompiled.")
    assert "8 times by step 9, the last 6" in finding.message


def test_other_reasons_get_other_remedies() -> None:
    [finding] = recompiles(
        8, reason="tensor 'x' size mismatch at index 0. expected 32, actual 20", reason_place=Place()
    )
    assert "dynamic=True" in finding.fix and finding.where.line == 13, "sizes get another remedy"
    [finding] = recompiles(8, reason="mode == 'a'")
    assert finding.fix.startswith("Keep what changes out of the compiled function"), "other reasons get a general one"


@pytest.mark.parametrize(("times", "elapsed_s"), [(4, 10.0), (8, 61.0)])
def test_few_compilations_and_short_ones_are_left_alone(times: int, elapsed_s: float) -> None:
    assert recompiles(times, elapsed_s) == []


def test_different_functions_are_counted_apart() -> None:
    records = [compiled(0, frame=number) for number in range(8)]
    assert judged([*records, cost(elapsed_s=10.0)], RECOMPILES) == []
