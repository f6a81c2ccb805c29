"""What was found in two runs that are compared: their verdicts, and the finding that may be why they part."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import torch_debugger
from tests import fakes
from tests.archive.test_parting import Change, training
from tests.runlog.logs import write
from torch_debugger.log.compare import compare_runs
from torch_debugger.log.compare_records import RunEvidence
from torch_debugger.records import Finding
from torch_debugger.report.comparison import ComparisonReport

EVAL_MODE = fakes.finding(
    "eval-mode-in-training", check="TD134", first_step=9, message="`net` is trained in evaluation mode."
)


def parted_at(step: int, name: str = "net.fc2") -> Change:
    return lambda at, tensor, number: number * 1.5 if at >= step and tensor in (name, "loss") else number


def compared(first: list[Finding], second: list[Finding], change: Change | None = None) -> ComparisonReport:
    runs = RunEvidence("a", training()), RunEvidence("b", training(20, change or parted_at(9)))
    for run, findings in zip(runs, (first, second), strict=True):
        run.findings, run.verdict = findings, findings[0] if findings else None
    return ComparisonReport(compare_runs(*runs))


def told(report: ComparisonReport) -> str:
    return " ".join(str(report).split())


def test_a_finding_of_one_run_from_the_parting_step_on_is_the_likely_cause() -> None:
    text = told(compared([], [EVAL_MODE]))
    assert (
        "Likely cause: eval-mode-in-training, found in b from step 9 on and not in a. `net` is trained in "
        "evaluation mode." in text
    )
    assert "Verdict on a: nothing wrong found. Verdict on b: eval-mode-in-training." in text
    assert text.count("is trained in evaluation mode") == 1


def test_it_may_be_the_first_run_that_has_it() -> None:
    assert "Likely cause: eval-mode-in-training, found in a from step 9 on and not in b." in told(
        compared([EVAL_MODE], [])
    )


@pytest.mark.parametrize(
    ("first", "second", "change"),
    [
        ([EVAL_MODE], [EVAL_MODE], parted_at(9)),  # both have it
        ([], [EVAL_MODE], parted_at(8)),  # it comes later than the parting
        ([], [EVAL_MODE], lambda step, name, number: number * 1.5),  # other weights from the start
        ([], [fakes.finding("batch-size-one", "note", check="TD299", first_step=1)], parted_at(9)),
        ([], [EVAL_MODE], lambda step, name, number: number),  # nothing parts
    ],
)
def test_no_other_finding_is_blamed(first: list[Finding], second: list[Finding], change: Change) -> None:
    report = compared(first, second, change)
    assert report.comparison.suspect is None
    assert "Likely cause" not in told(report)
    assert "Verdict on b: " in told(report), "it is told all the same"


def test_runs_without_a_fault_say_so_once() -> None:
    assert told(compared([], [])).count("Nothing wrong was found in either run.") == 1


def test_the_findings_beside_a_log_are_read(tmp_path: Path) -> None:
    write(tmp_path / "a", training())
    write(tmp_path / "b", training(20, parted_at(9)))
    where = {"file": "train.py", "line": 3, "module": "net"}
    finding = {
        "check": "TD134", "name": "eval-mode-in-training", "severity": "error", "confidence": 0.9,
        "message": "M.", "why": "W.", "fix": "F.", "where": where, "first_step": 9, "last_step": 20,
        "evidence": {}, "status": "stable",
    }  # fmt: skip
    for name, findings in (("a", []), ("b", [finding])):
        plain = {"outcome": "finished", "findings": findings}
        (tmp_path / name / "result.json").write_text(json.dumps(plain))
    report = torch_debugger.diff(tmp_path / "a", tmp_path / "b")
    assert "Likely cause: eval-mode-in-training, found in b from step 9 on and not in a. M." in told(report)
    plain = json.loads(json.dumps(report.to_json(), allow_nan=False))
    assert plain["suspect"]["finding"]["name"] == "eval-mode-in-training"
    assert [name for name, _ in plain["verdicts"]] == ["a", "b"]
