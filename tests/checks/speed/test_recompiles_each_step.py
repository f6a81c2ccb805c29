"""recompiles-each-step: the same function compiled again and again, and why."""

from __future__ import annotations

import dataclasses

import pytest

from tests.fakes import cost, judged, place
from torch_debugger.records import Compilation, Finding, Place

NAME = "recompiles-each-step"


def compiled(again: int, seconds: float = 0.5, **others: object) -> Compilation:
    facts: dict[str, object] = {
        "frame": 0,
        "again": again,
        "function": "forward",
        "place": place(13, code="def forward(self, x):"),
        "is_part": False,
        "seconds": seconds,
        "reason": f"self.calls == {again - 1}" if again else "",
        "reason_place": place(14, code="self.calls += 1") if again else Place(),
        "given_up": False,
        "step": again + 1,
    }
    return Compilation(**{**facts, **others})  # type: ignore[arg-type]


def found(times: int, elapsed_s: float = 10.0, *more: Compilation, **others: object) -> list[Finding]:
    return judged([*(compiled(n, **others) for n in range(times)), *more, cost(elapsed_s=elapsed_s)], NAME)


def test_the_condition_and_the_line_are_told() -> None:
    [finding] = found(8)
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
    [finding] = found(8, 1000.0, end)
    assert finding.severity == "warning"
    assert finding.message.endswith("Then torch gave up: since then it runs uncompiled.")
    assert "8 times by step 9, the last 6" in finding.message


def test_sizes_get_another_remedy() -> None:
    [finding] = found(8, reason="tensor 'x' size mismatch at index 0. expected 32, actual 20", reason_place=Place())
    assert "dynamic=True" in finding.fix and finding.where.line == 13


def test_other_reasons_get_a_general_one() -> None:
    [finding] = found(8, reason="mode == 'a'")
    assert finding.fix.startswith("Keep what changes out of the compiled function")


@pytest.mark.parametrize(("times", "elapsed_s"), [(4, 10.0), (8, 61.0)])
def test_few_compilations_and_short_ones_are_left_alone(times: int, elapsed_s: float) -> None:
    assert found(times, elapsed_s) == []


def test_different_functions_are_counted_apart() -> None:
    records = [compiled(0, frame=number) for number in range(8)]
    assert judged([*records, cost(elapsed_s=10.0)], NAME) == []
