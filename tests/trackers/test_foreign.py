"""Runs of other trackers become logs of ours; what is none is refused in a sentence."""

from __future__ import annotations

import math
import sqlite3
from pathlib import Path

import pytest

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
    (run / "meta.yaml").write_text("run_id: 3860baff\n")
    (tmp_path / "mlruns" / "0" / "meta.yaml").write_text("experiment_id: '0'\n")
    (run / "metrics" / "loss").write_text("1700000000100 2.0 1\n1700000000200 nan 2\n")
    (run / "metrics" / "eval" / "accuracy").write_text("1700000000200 0.5 2\n")
    (run / "params" / "lr").write_text("0.1")
    (run / "tags" / "mlflow.runName").write_text("../bold/run")
    return tmp_path / "mlruns"


def test_an_mlruns_folder_is_taken_in_twice_under_two_names(
    mlruns: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    into = tmp_path / "runs"
    for _ in range(2):
        assert main(["import-runs", str(mlruns), "--into", str(into)]) == 0
    assert capsys.readouterr().out.splitlines()[0] == f"{into}/_bold_run  2 rows, 1 hyperparameters"
    found = torch_debugger.runs(into)
    assert found.names == ["_bold_run", "_bold_run-2"]
    loss = found["_bold_run"].scalars("loss")
    assert list(loss.steps) == [1, 2] and loss.values[0] == 2.0 and math.isnan(loss.values[1])
    assert found["_bold_run"].scalars("eval/accuracy").values == [0.5]
    assert found["_bold_run"].hparams == {"lr": "0.1"}


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
