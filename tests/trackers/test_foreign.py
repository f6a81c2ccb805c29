"""Runs of other trackers become logs of ours; what is none is refused in a sentence."""

from __future__ import annotations

import json
import math
import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from wandb.proto.wandb_internal_pb2 import Record

import torch_debugger
from torch_debugger.cli import main
from torch_debugger.errors import UsageError
from torch_debugger.integrations.foreign import mlflow_runs
from torch_debugger.integrations.foreign.adopting import find_foreign_runs
from torch_debugger.integrations.foreign.mlflow_runs import read_mlflow_folder
from torch_debugger.integrations.foreign.wandb_runs import read_wandb_run


@pytest.fixture
def mlruns(tmp_path: Path) -> Path:
    """As MLflow's file store lays it out."""
    run = tmp_path / "mlruns" / "0" / "3860baff"
    for folder in ("metrics/eval", "params", "tags"):
        (run / folder).mkdir(parents=True)
    (run / "meta.yaml").write_text("run_id: 3860baff\nstatus: 3\n")
    (tmp_path / "mlruns" / "0" / "meta.yaml").write_text("experiment_id: '0'\n")
    (run / "metrics" / "loss").write_text("1700000000100 2.0 1\n1700000000200 nan 2\n")
    (run / "metrics" / "eval" / "accuracy").write_text("1700000000200 0.5 2\n")
    (run / "params" / "lr").write_text("0.1")
    (run / "tags" / "mlflow.runName").write_text("../bold/run")
    return tmp_path / "mlruns"


def test_an_mlruns_folder_is_taken_in(mlruns: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    into = tmp_path / "runs"
    assert main(["import-runs", str(mlruns), "--into", str(into)]) == 0
    assert capsys.readouterr().out.splitlines()[0] == f"{into}/_bold_run  2 rows, 1 hyperparameters"
    (run,) = torch_debugger.runs(into)
    loss = run.scalars("loss")
    assert list(loss.steps) == [1, 2] and loss.values[0] == 2.0 and math.isnan(loss.values[1])
    assert run.scalars("eval/accuracy").values == [0.5]
    assert run.hparams == {"lr": "0.1"}
    assert (run.status, run.steps) == ("finished", 2)


def test_a_run_taken_in_again_is_the_same_run_as_it_is_now(mlruns: Path, tmp_path: Path) -> None:
    into = tmp_path / "runs"
    (into / "_bold_run").mkdir(parents=True)  # of somebody else
    loss = mlruns / "0" / "3860baff" / "metrics" / "loss"
    for _ in range(2):
        assert main(["import-runs", str(mlruns), "--into", str(into)]) == 0
        loss.write_text(loss.read_text() + "1700000000300 1.0 3\n")
    found = torch_debugger.runs(into)
    assert found.names == ["_bold_run-2"]
    assert list(found[0].scalars("loss").steps) == [1, 2, 3]


@pytest.mark.parametrize(("status", "outcome"), [("1", "unknown"), ("4", "crashed"), ("5", "killed")])
def test_how_an_mlflow_run_ended(mlruns: Path, tmp_path: Path, status: str, outcome: str) -> None:
    (mlruns / "0" / "3860baff" / "meta.yaml").write_text(f"run_id: 3860baff\nstatus: {status}\n")
    assert main(["import-runs", str(mlruns), "--into", str(tmp_path / "runs")]) == 0
    assert torch_debugger.runs(tmp_path / "runs")[0].status == outcome


def test_what_holds_no_runs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds no runs that can be read: neither"):
        find_foreign_runs(tmp_path, print)
    with pytest.raises(UsageError, match=r"There is no .*gone to take runs from\."):
        find_foreign_runs(tmp_path / "gone", print)
    sqlite3.connect(tmp_path / "other.db").close()
    with pytest.raises(UsageError, match=r"is no database of MLflow's that can be read: no such table: runs\."):
        find_foreign_runs(tmp_path / "other.db", print)
    assert main(["import-runs", str(tmp_path / "other.db")]) == 2


@pytest.mark.parametrize(
    "content", [b"", b":W&B", b":W&B\xe1\xbe\x00" + bytes(100), b":W&B\xe1\xbe\x00" + b"\xff" * 99]
)
def test_a_file_that_is_none_of_wandb_s_gives_an_empty_run(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "run-x.wandb").write_bytes(content)
    assert read_wandb_run(tmp_path, tmp_path / "run-x.wandb").points == []


def leveldb(record: Record) -> bytes:
    payload = record.SerializeToString()
    return bytes(4) + len(payload).to_bytes(2, "little") + b"\x01" + payload


def test_the_config_that_a_wandb_run_began_with_is_kept(tmp_path: Path) -> None:
    begun, changed, ended = Record(), Record(), Record()
    begun.run.run_id = "abc"
    for key, value in {"_wandb": {"t": 1}, "lr": 0.1, "opt": {"name": "adam", "betas": [1]}, "bs": 32}.items():
        begun.run.config.update.add(key=key, value_json=json.dumps(value))
    changed.config.update.add(key="lr", value_json="0.2")
    ended.exit.exit_code = 1
    path = tmp_path / "run-abc.wandb"
    path.write_bytes(b":W&B\xe1\xbe\x00" + b"".join(map(leveldb, (begun, changed, ended))))

    run = read_wandb_run(tmp_path, path)

    assert run.hparams == {"lr": 0.2, "opt.name": "adam", "bs": 32}
    assert (run.identity, run.name, run.outcome) == ("wandb-abc", "abc", "crashed")


def test_links_are_not_followed(mlruns: Path, tmp_path: Path) -> None:
    """A folder that somebody hands over must not bring a file of this machine into a log."""
    run = mlruns / "0" / "3860baff"
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "notes").write_text("1700000000100 7.0 1\nnobody's business")
    (run / "params" / "leaked").symlink_to(tmp_path / "private" / "notes")
    (run / "metrics" / "leaked").symlink_to(tmp_path / "private" / "notes")
    (run / "metrics" / "all").symlink_to(tmp_path / "private", target_is_directory=True)
    (run / "artifacts").symlink_to(tmp_path / "private", target_is_directory=True)
    (tmp_path / "private" / "result.json").write_text("{}")
    (mlruns / "elsewhere.wandb").symlink_to(tmp_path / "private" / "notes")
    (found,) = find_foreign_runs(mlruns, print)
    assert found.hparams == {"lr": "0.1"}
    assert {name for point in found.points for name in point.values} == {"loss", "eval/accuracy"}
    assert found.result == ""


def test_a_database_names_no_file_outside_of_its_folder(tmp_path: Path) -> None:
    for folder in ("given/inside", "private"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "result.json").write_text(folder)
    with closing(sqlite3.connect(tmp_path / "given" / "mlflow.db")) as store, store:
        store.execute("create table runs (run_uuid, name, status, artifact_uri, lifecycle_stage)")
        store.execute("create table params (run_uuid, key, value)")
        store.execute("create table metrics (run_uuid, key, value, step, timestamp, is_nan)")
        for name, folder in (("a", tmp_path / "given" / "inside"), ("b", tmp_path / "private")):
            store.execute(
                "insert into runs values (?, ?, 'FINISHED', ?, 'active')", [name, name, folder.as_uri()]
            )
    found = find_foreign_runs(tmp_path / "given" / "mlflow.db", print)
    assert [run.result for run in found] == ["given/inside", ""]


def test_a_fifo_is_not_waited_for(mlruns: Path) -> None:
    for name in ("params/pipe", "metrics/pipe", "tags/pipe"):
        os.mkfifo(mlruns / "0" / "3860baff" / name)
    os.mkfifo(mlruns / "run.wandb")
    (found,) = find_foreign_runs(mlruns, print)
    assert found.hparams == {"lr": "0.1"}


def test_what_is_damaged_is_named_and_the_rest_is_taken_in(mlruns: Path, tmp_path: Path) -> None:
    shutil.copytree(mlruns / "0" / "3860baff", mlruns / "0" / "damaged")
    (mlruns / "0" / "damaged" / "meta.yaml").write_text("run_id: damaged\n")
    torn = mlruns / "0" / "damaged" / "metrics" / "loss"
    torn.write_text("1700000000100 2.0 1\n17000000002")
    (mlruns / "mlflow.db").write_bytes(b"no database" * 99)
    told: list[str] = []
    assert len(find_foreign_runs(mlruns, told.append)) == 2
    assert told == [
        f"{mlruns / 'mlflow.db'} is no database of MLflow's that can be read: file is not a database.",
        f"{torn}:2 is no `timestamp value step`; the line is left out.",
    ]
    assert main(["import-runs", str(mlruns), "--into", str(tmp_path / "runs")]) == 0
    assert len(torch_debugger.runs(tmp_path / "runs")) == 2


def test_a_file_of_nothing_but_torn_lines_is_not_read_to_its_end(mlruns: Path) -> None:
    loss = mlruns / "0" / "3860baff" / "metrics" / "loss"
    loss.write_bytes(b"1700000000100 2.0 1\n" + b"\n" * 2_000_000)
    run = read_mlflow_folder(mlruns, mlruns / "0" / "3860baff")
    assert len(run.damaged) == 21
    assert run.damaged[-1] == f"{loss} is not read any further: so are too many of its lines."
    assert [(point.step, point.values) for point in run.points] == [
        (1, {"loss": 2.0}),
        (2, {"eval/accuracy": 0.5}),
    ]


def test_of_a_run_with_more_numbers_than_fit_the_first_are_taken(
    mlruns: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mlflow_runs, "_MOST_ROWS", 100)
    loss = mlruns / "0" / "3860baff" / "metrics" / "loss"
    loss.write_text("".join(f"1700000000100 2.0 {step}\n" for step in range(1000)))
    told: list[str] = []
    (run,) = find_foreign_runs(mlruns, told.append)
    assert len(run.points) == 100
    assert told == ["The run 3860baff has more than 100 numbers; the rest is left out."]


def test_a_hyperparameter_that_is_none_refuses_the_run(mlruns: Path) -> None:
    (mlruns / "0" / "3860baff" / "params" / "lr").write_bytes(b" " * 2_000_000)
    with pytest.raises(UsageError, match="3860baff is left out: it is larger than 1,000,000 bytes"):
        find_foreign_runs(mlruns, print)
