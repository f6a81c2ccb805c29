"""The table of runs: ten thousand of them from their result files, and the logs of those in sight."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.runlog.logs import write
from tests.viewer.asking import ask, shown_runs_of
from torch_debugger.log.reader_columns import EventFile
from torch_debugger.log.run import Run
from torch_debugger.records import EndFact, HparamsFact, Record, RunFact, Scalars
from torch_debugger.viewer import runs as run_details
from torch_debugger.viewer import runs as run_rows
from torch_debugger.viewer.runs import found_on

MANY = 10_000
FINDING = {"name": "lr-too-high", "severity": "error", "message": "The loss rose from 0.7 to 81."}


def result(verdict: dict[str, str] | None = None, loss: float | str = 0.5, **more: Any) -> dict[str, Any]:
    found = [verdict] if verdict else []
    plain = {"outcome": "finished", "steps": 80, "verdict": 0 if verdict else None, "findings": found}
    return {**plain, "loss": {"last": {"step": 80, "value": loss}}, **more}


def make_folder(folder: Path, told: object | None) -> None:
    folder.mkdir(parents=True)
    (folder / "events.out.tfevents.1700000000.5.vm.1.torch_debugger.00000").write_bytes(b"")
    if told is not None:
        (folder / "result.json").write_text(told if isinstance(told, str) else json.dumps(told))


def make_log(folder: Path, lr: float, losses: list[float]) -> None:
    began = RunFact("train.py", (), "", 1, 1_700_000_000.0, "3", "2", "cpu", "0", 0.02, False)
    points = [Scalars(step, 1_700_000_000.0 + step, {"loss": loss}) for step, loss in enumerate(losses)]
    records: list[Record] = [began, HparamsFact({"lr": lr, "note": "x" * 500}, "args", 0), *points]
    write(folder, [*records, EndFact("finished", len(losses), "optimizer steps")])


@pytest.fixture
def no_log_is_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object) -> None:
        raise AssertionError("a log was opened for the table")

    monkeypatch.setattr(EventFile, "poll", refuse)
    monkeypatch.setattr(Run, "__init__", refuse)


def test_ten_thousand_runs_are_told_by_result_files_that_are_each_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_log_is_opened: None
) -> None:
    for number in range(MANY):
        make_folder(tmp_path / f"run-{number}", result(FINDING if number % 10 == 0 else None))
    read: list[str] = []
    original = run_rows.read_outline
    monkeypatch.setattr(run_rows, "read_outline", lambda folder: read.append(folder) or original(folder))
    monkeypatch.setattr("torch_debugger.viewer.runs._WITHIN_S", 1e9)
    shown_runs = shown_runs_of(tmp_path)

    answer = ask(shown_runs, "runs")
    again = ask(shown_runs, "runs", since=answer["version"])

    assert len(answer["rows"]) == len(set(read)) == len(read) == MANY
    assert sum(row["severity"] == "error" for row in answer["rows"]) == MANY // 10
    assert again == {"version": answer["version"], "rows": None, "pending": 0}
    assert len(json.dumps(answer)) < 500 * MANY


def test_what_cannot_be_read_in_the_time_is_pending_and_comes_with_the_next_question(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b", "c"):
        make_folder(tmp_path / name, result())
    shown_runs = shown_runs_of(tmp_path)
    monkeypatch.setattr("torch_debugger.viewer.runs._WITHIN_S", -1.0)

    hurried = ask(shown_runs, "runs")
    monkeypatch.setattr("torch_debugger.viewer.runs._WITHIN_S", 1e9)
    rested = ask(shown_runs, "runs")

    assert hurried["pending"] == 3
    assert [row["status"] for row in hurried["rows"]] == [None, None, None]
    assert rested["pending"] == 0
    assert [row["status"] for row in rested["rows"]] == ["finished"] * 3


def test_a_row_says_how_the_run_went(tmp_path: Path) -> None:
    make_folder(tmp_path / "bad", result(FINDING, "nan"))
    os.utime(next((tmp_path / "bad").glob("events*")), (1_700_000_060.5, 1_700_000_060.5))

    (row,) = ask(shown_runs_of(tmp_path), "runs")["rows"]

    assert row["severity"] == "error"
    assert row["message"] == FINDING["message"]
    assert row["loss"] == "nan"
    assert row["steps"] == 80
    assert row["duration_s"] == pytest.approx(60.0)


@pytest.mark.parametrize(
    "told",
    [
        None,
        "",
        "[1]",
        "null",
        '{"outcome": 1}',
        '{"outcome": "finished", "steps": "x", "findings": []}',
        "{" * 9,
    ],
)
def test_a_run_without_a_sound_result_is_listed_all_the_same(tmp_path: Path, told: str | None) -> None:
    make_folder(tmp_path / "odd", told)
    event = next((tmp_path / "odd").glob("events*"))
    os.utime(event, (1_700_000_001, 1_700_000_001))

    (row,) = ask(shown_runs_of(tmp_path), "runs")["rows"]

    assert (row["name"], row["status"], row["steps"]) == ("odd", "unknown", None)


def test_a_result_that_comes_later_is_seen(tmp_path: Path) -> None:
    make_folder(tmp_path / "run", None)
    shown_runs = shown_runs_of(tmp_path)
    before = ask(shown_runs, "runs")
    (tmp_path / "run" / "result.json").write_text(json.dumps(result()))

    after = ask(shown_runs, "runs", since=before["version"])

    assert after["rows"][0]["status"] == "finished"


def test_details_have_hyperparameters_and_a_small_curve_that_keeps_what_is_not_finite(tmp_path: Path) -> None:
    losses = [1.0 / (step + 1) for step in range(1000)]
    losses[500] = float("nan")
    make_log(tmp_path / "a,b", 0.1, losses)

    told = ask(shown_runs_of(tmp_path), "run_details", names="a%2Cb,missing")

    details = told["runs"]["a,b"]
    assert list(told["runs"]) == ["a,b"]
    assert details["hparams"]["lr"] == 0.1
    assert len(details["hparams"]["note"]) == 120
    assert len(details["curve"]["steps"]) <= 60
    assert "nan" in details["curve"]["values"]
    assert details["curve"]["steps"][-1] == 999
    assert details["status"] == "finished"


def test_details_are_read_once_and_again_when_the_log_has_grown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_log(tmp_path / "run", 0.1, [1.0, 0.5])
    read: list[str] = []
    original = run_details._of_log
    monkeypatch.setattr(run_details, "_of_log", lambda run: read.append(run.name) or original(run))
    shown_runs = shown_runs_of(tmp_path)

    for _ in range(3):
        ask(shown_runs, "run_details", names="run")
    assert read == ["run"]
    make_log(tmp_path / "run", 0.1, [0.25])
    ask(shown_runs_of(tmp_path), "run_details", names="run")
    assert read == ["run", "run"]


def test_a_question_for_details_reads_one_log_at_least_and_leaves_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b", "c"):
        make_log(tmp_path / name, 0.1, [1.0])
    monkeypatch.setattr("torch_debugger.viewer.runs._DETAILS_WITHIN_S", -1.0)
    shown_runs = shown_runs_of(tmp_path)

    first = ask(shown_runs, "run_details", names="a,b,c")
    second = ask(shown_runs, "run_details", names="b,c")

    assert (list(first["runs"]), first["pending"]) == (["a"], ["b", "c"])
    assert (list(second["runs"]), second["pending"]) == (["b"], ["c"])


def test_a_log_too_large_for_a_table_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_log(tmp_path / "run", 0.1, [1.0])
    monkeypatch.setattr(run_details, "_LARGEST_LOG", 10)
    assert ask(shown_runs_of(tmp_path), "run_details", names="run")["runs"]["run"] == {"too_large": True}


def test_a_run_that_grows_is_read_again_but_judged_once_in_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judged: list[str] = []
    monkeypatch.setattr(run_details, "_judgement", lambda found, name: judged.append(name) or {"verdict": "x"})
    details = run_details.RunDetails()
    for length in (1, 2, 3):
        make_log(tmp_path / "run", 0.1, [1.0] * length)
        told, _ = details.tell(found_on(shown_runs_of(tmp_path)), ["run"], 1e9)
        assert told["run"]["verdict"] == "x"
    assert judged == ["run"]


def test_runs_with_a_result_are_told_before_those_that_must_be_judged(tmp_path: Path) -> None:
    for name in ("going", "over"):
        make_log(tmp_path / name, 0.1, [1.0])
    (tmp_path / "over" / "result.json").write_text(json.dumps(result()))
    told, pending = run_details.RunDetails().tell(found_on(shown_runs_of(tmp_path)), ["going", "over"], -1.0)
    assert (list(told), pending) == (["over"], ["going"])
