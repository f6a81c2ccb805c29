"""Runs of other trackers become logs of ours; what is none is refused in a sentence."""

from __future__ import annotations

import json
import math
import sqlite3
from pathlib import Path

import pytest
from wandb.proto.wandb_internal_pb2 import Record

import torch_debugger
from torch_debugger.cli import main
from torch_debugger.errors import UsageError
from torch_debugger.integrations.foreign.adopting import find_foreign_runs
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
        find_foreign_runs(tmp_path)
    with pytest.raises(UsageError, match=r"There is no .*gone to take runs from\."):
        find_foreign_runs(tmp_path / "gone")
    sqlite3.connect(tmp_path / "other.db").close()
    with pytest.raises(UsageError, match=r"is no database of MLflow's that can be read: no such table: runs\."):
        find_foreign_runs(tmp_path / "other.db")
    assert main(["import-runs", str(tmp_path / "other.db")]) == 2


@pytest.mark.parametrize(
    "content", [b"", b":W&B", b":W&B\xe1\xbe\x00" + bytes(100), b":W&B\xe1\xbe\x00" + b"\xff" * 99]
)
def test_a_file_that_is_none_of_wandb_s_gives_an_empty_run(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "run-x.wandb").write_bytes(content)
    assert read_wandb_run(tmp_path / "run-x.wandb").points == []


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

    run = read_wandb_run(path)

    assert run.hparams == {"lr": 0.2, "opt.name": "adam", "bs": 32}
    assert (run.identity, run.name, run.outcome) == ("wandb-abc", "abc", "crashed")
