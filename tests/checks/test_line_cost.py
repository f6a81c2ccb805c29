from __future__ import annotations

import dataclasses

import pytest

from tests.checks.speed.sampled_loops import Users, training
from torch_debugger.checks import step_time as line_cost
from torch_debugger.checks.judge import Judge
from torch_debugger.checks.step_time import dear_line
from torch_debugger.records import CostFact, Record, SampledStacks

PRINT = Users(17, "print(step, loss.item())")


def test_stacks_are_worked_out_once_however_often_costs_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[object] = []

    def counted(*arguments: object) -> object:
        found.append(dear_line(*arguments))  # type: ignore[arg-type]
        return found[-1]

    monkeypatch.setattr(line_cost, "dear_line", counted)
    records: list[Record] = training({(PRINT,): 40}, 200)
    judge = Judge(["logging-too-often"])
    for record in records:
        judge.see(record)
    worked_out = len(found)
    (cost,) = (record for record in records if isinstance(record, CostFact))
    for _ in range(50):
        judge.see(cost)
    assert len(found) == worked_out == 1
    assert [finding.name for finding in judge.findings] == ["logging-too-often"]

    (stacks,) = (record for record in records if isinstance(record, SampledStacks))
    judge.see(dataclasses.replace(stacks, samples=stacks.samples + 1))
    judge.see(cost)
    assert len(found) == worked_out + 1
