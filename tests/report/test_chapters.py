from __future__ import annotations

from tests import fakes
from torch_debugger.records import Finding
from torch_debugger.report.result import RunDigest


def named(name: str, symptom_of: str | None = None) -> Finding:
    return fakes.finding(name, symptom_of=symptom_of)


def chapters(*findings: Finding) -> dict[str, list[str]]:
    result = RunDigest().result(findings)
    return {chapter.cause.name: [each.name for each in chapter.symptoms] for chapter in result.chapters}


def test_symptoms_stand_under_their_cause() -> None:
    assert chapters(named("a"), named("b"), named("c", "a")) == {"a": ["c"], "b": []}


def test_a_symptom_of_a_symptom_stands_under_the_first_cause() -> None:
    assert chapters(named("a"), named("b", "a"), named("c", "b")) == {"a": ["b", "c"]}


def test_a_symptom_whose_cause_is_missing_stands_alone() -> None:
    assert chapters(named("b", "a")) == {"b": []}


def test_findings_that_explain_each_other_are_led_by_the_first() -> None:
    assert chapters(named("a", "b"), named("b", "a")) == {"a": ["b"]}
    assert chapters(named("a", "b"), named("b", "a"), named("c", "b")) == {"a": ["b", "c"]}


def test_every_finding_is_shown_exactly_once() -> None:
    findings = [named("a"), named("a"), named("b", "a"), named("b", "a"), named("c", "b")]
    result = RunDigest().result(findings)
    assert sum(1 + len(chapter.symptoms) for chapter in result.chapters) == len(findings)
