"""MLflow with a local store, read back through its own client."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy
import pytest

from tests.trackers.runs import LOSSES, ending, write_log
from torch_debugger.integrations import delivery as shipping
from torch_debugger.integrations.delivery import TrackerProcess as CourierProcess
from torch_debugger.integrations.delivery import conclude
from torch_debugger.integrations.import_runs import adopt, find_foreign_runs
from torch_debugger.integrations.to_mlflow import _key
from torch_debugger.integrations.tracker import Tracker
from torch_debugger.log.run import Run

mlflow = pytest.importorskip("mlflow", reason="MLflow is not installed")


@pytest.fixture(scope="module")
def carried(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[str], str]:
    """What was said of a run that was carried, and where it is."""
    folder, said = tmp_path_factory.mktemp("mlflow"), list[str]()
    with pytest.MonkeyPatch.context() as patch:
        store = f"sqlite:///{folder}/mlflow.db"
        patch.setattr(shipping, "WAIT_S", 300.0)  # a busy machine is not what is tested here
        patch.setenv("MLFLOW_TRACKING_URI", store)
        patch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
        patch.chdir(folder)
        write_log(folder / "log")
        tracker = Tracker("mlflow", "vision")
        courier = CourierProcess(tracker, str(folder / "log"), str(folder), "train", said.append)
        conclude([courier], ending(1, "crashed"), said.append)
    return said, store


@pytest.fixture(scope="module")
def client(carried: tuple[list[str], str]) -> mlflow.MlflowClient:
    return mlflow.MlflowClient(carried[1])


@pytest.fixture(scope="module")
def run(client: mlflow.MlflowClient) -> mlflow.entities.Run:
    (found,) = client.search_runs([client.get_experiment_by_name("vision").experiment_id])
    return found


def test_it_says_where_the_run_is(carried: tuple[list[str], str], run: mlflow.entities.Run) -> None:
    assert carried[0][-1] == (
        "MLflow has the run without what only the log can show (1 of the kind histogram): "
        f"experiment vision, run {run.info.run_id}"
    )


def test_metrics_have_every_step_and_the_time_of_the_step(
    client: mlflow.MlflowClient, run: mlflow.entities.Run
) -> None:
    history = sorted(client.get_metric_history(run.info.run_id, "loss"), key=lambda metric: metric.step)
    assert [metric.step for metric in history] == [1, 2, 3, 4, 5]
    # MLflow itself keeps the largest float for an infinity.
    kept = [value if not math.isinf(value) else numpy.finfo(numpy.float64).max for value in LOSSES]
    numpy.testing.assert_array_equal([metric.value for metric in history], kept)
    assert history[0].timestamp == 1_700_000_000_100
    (ratio,) = client.get_metric_history(run.info.run_id, "update_ratio/net.fc1.weight")
    assert (ratio.step, ratio.value) == (2, pytest.approx(0.001))


def test_settings_are_params_and_facts_are_tags(run: mlflow.entities.Run) -> None:
    assert run.data.params == {"lr": "0.1", "name": "resnet", "amp": "True"}
    assert run.data.tags["run/torch"] == "2.13.0" and run.data.tags["net/kind"] == "Net"
    assert "hush-hush" not in str(run.data)


def test_verdict_findings_and_report_are_there_and_the_run_has_failed(
    client: mlflow.MlflowClient, run: mlflow.entities.Run, tmp_path: Path
) -> None:
    assert (run.info.status, run.info.run_name) == ("FAILED", "train")
    assert run.data.tags["torch_debugger.verdict"].startswith("missing-zero-grad: Gradients")
    files = {
        name: Path(client.download_artifacts(run.info.run_id, name, str(tmp_path))).read_text()
        for name in ("report.md", "result.json", "findings.json")
    }
    assert "missing-zero-grad" in files["report.md"]
    assert json.loads(files["result.json"])["outcome"] == "crashed"
    table = json.loads(files["findings.json"])
    assert dict(zip(table["columns"], table["data"][0], strict=True))["name"] == "missing-zero-grad"


def test_a_local_run_can_be_taken_in_again(carried: tuple[list[str], str], tmp_path: Path) -> None:
    (run,) = find_foreign_runs(Path(carried[1].removeprefix("sqlite:///")), print)
    assert (run.name, run.hparams) == ("train", {"lr": "0.1", "name": "resnet", "amp": "True"})
    losses = [(point.step, point.values["loss"]) for point in run.points if "loss" in point.values]
    numpy.testing.assert_array_equal(losses, list(enumerate(LOSSES, 1)))
    adopted = Run(adopt(run, tmp_path / "runs", print))
    assert adopted.status == "crashed" and adopted.is_watched
    assert adopted.verdict is not None and adopted.verdict.name == "missing-zero-grad"


def test_pictures_are_images_by_step(client: mlflow.MlflowClient, run: mlflow.entities.Run) -> None:
    names = [file.path for file in client.list_artifacts(run.info.run_id, "images")]
    assert any("digits" in name and name.endswith(".png") for name in names), names


def test_any_tag_becomes_a_name_that_mlflow_takes(client: mlflow.MlflowClient, run: mlflow.entities.Run) -> None:
    keys = {
        "loss": "loss", "lr/0": "lr/0", "a//b": "a/_/b", "/top": "_/top", "../up": "_/up",
        "acc@5 (%)": "acc_5 ___", "": "_", "größe": "größe",
    }  # fmt: skip
    assert {tag: _key(tag) for tag in keys} == keys
    for key in keys.values():
        client.log_metric(run.info.run_id, key, 1.0)
