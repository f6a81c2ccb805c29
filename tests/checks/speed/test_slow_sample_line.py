"""One line that workers cannot hide."""

from __future__ import annotations

import pytest

from tests.checks.data.looks import loader
from tests.checks.speed.loads import lines, times, waiting
from torch_debugger.records import Finding, LoaderFact, LoadingLines, LoadingTime

SEEN = lines([("x = self.transform(x)", 0.28), ("return blur(x)", 0.27), ("return y", 0.01)])


def check(
    time: LoadingTime | None = None,
    seen: LoadingLines | None = SEEN,
    fact: LoaderFact | None = None,
    cores: int = 2,
) -> list[Finding]:
    return waiting("slow-sample-line", time or times(0.08, 0.09), fact, cores, seen)


def test_the_innermost_line_is_named() -> None:
    [finding] = check()
    assert finding.severity == "note", "the line may have to be there"
    assert finding.message == (
        "The training waits 80 of the 90 ms that a batch takes (89%) for data, 90% of it in `return blur(x)` "
        "at train.py:31: 72 ms a batch, 9 ms a sample."
    )
    assert finding.where.line == 31
    assert "Workers alone would not hide it on the 2 cores: a batch would still take about 46 ms" in finding.why
    assert "Without it a batch would take about 18 ms instead of 90 ms, 80% less." in finding.fix
    assert finding.evidence["expected_gain"] == pytest.approx(0.8)


def test_where_workers_can_hide_it_another_check_names_it() -> None:
    assert not check(cores=16)
    assert not check(times(0.03, 0.06))


def test_no_line_stands_out() -> None:
    assert not check(seen=lines([("a()", 0.17), ("b()", 0.1)]))
    assert not check(seen=lines([("a()", 0.3)], looks=2))
    assert not check(seen=None)


def test_workers_load_elsewhere() -> None:
    assert not check(fact=loader(workers=2))
