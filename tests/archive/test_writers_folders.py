"""Folders that `add_hparams` and `add_scalars` make inside a run's: no runs, but what they are."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest
import tensorboardX
import torch.utils.tensorboard

import torch_debugger
from torch_debugger.log.compare import compare
from torch_debugger.log.event_files import writer_in
from torch_debugger.log.folders import find_runs
from torch_debugger.log.run import Run

WRITERS = [
    torch.utils.tensorboard.SummaryWriter,
    tensorboardX.SummaryWriter,
    torch_debugger.SummaryWriter,
]


@pytest.fixture(params=WRITERS, ids=["torch", "tensorboardX", "ours"])
def make(request: pytest.FixtureRequest) -> Any:
    return lambda folder: request.param(str(folder))


def names(folder: Path) -> list[str]:
    return [found.name for found in find_runs(str(folder))]


def test_the_metrics_of_add_hparams_are_the_run_s(make: Any, tmp_path: Path) -> None:
    writer = make(tmp_path / "a")
    writer.add_scalar("loss", 0.5, 1)
    writer.add_hparams({"lr": 0.1}, {"hparam/accuracy": 0.75, "hparam/loss": 0.5})
    writer.close()

    assert names(tmp_path) == ["a"]
    run = Run(tmp_path / "a")
    assert run.hparams == {"lr": 0.1}
    assert run.hparam_metrics == {"hparam/accuracy": 0.75, "hparam/loss": 0.5}
    assert run.tags["scalars"] == ["loss"]


def test_one_writer_with_several_settings_tells_of_trials_that_are_runs(make: Any, tmp_path: Path) -> None:
    writer = make(tmp_path / "sweep")
    for number in range(3):
        writer.add_hparams({"lr": 0.1 * number}, {"accuracy": number})
    writer.close()

    found = find_runs(str(tmp_path))
    runs = [Run(each.folder) for each in found]

    assert sorted(run.hparam_metrics["accuracy"] for run in runs) == [0, 1, 2], "and no row for the empty frame"
    assert all(each.name.startswith("sweep/") or each.name.startswith("sweep" + os.sep) for each in found)


def test_trials_stay_beside_a_run_that_has_logged_itself(make: Any, tmp_path: Path) -> None:
    writer = make(tmp_path / "sweep")
    writer.add_scalar("loss", 0.5, 1)
    for number in range(2):
        writer.add_hparams({"lr": 0.1 * number}, {"accuracy": number})
    writer.close()

    assert len(names(tmp_path)) == 3
    assert Run(tmp_path / "sweep").hparams == {}, "whose are they?"


def test_the_same_settings_again_are_no_trial_and_the_last_metrics_count(make: Any, tmp_path: Path) -> None:
    writer = make(tmp_path / "a")
    for epoch in range(3):
        writer.add_hparams({"lr": 0.1}, {"accuracy": epoch}, global_step=epoch)
    writer.close()

    assert names(tmp_path) == ["a"]
    assert Run(tmp_path / "a").hparam_metrics == {"accuracy": 2}


@pytest.mark.parametrize("name", ["final", "."])
def test_add_hparams_with_a_name_belongs_to_its_run_too(tmp_path: Path, name: str) -> None:
    with torch.utils.tensorboard.SummaryWriter(str(tmp_path / "a")) as writer:
        writer.add_scalar("loss", 0.5, 1)
        writer.add_hparams({"lr": 0.1}, {"accuracy": 0.9}, run_name=name)

    assert names(tmp_path) == ["a"]
    assert Run(tmp_path / "a").hparam_metrics == pytest.approx({"accuracy": 0.9})


def test_a_run_inside_another_that_trains_and_tells_its_settings_is_a_run(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "inner"):
        with torch.utils.tensorboard.SummaryWriter(str(folder)) as writer:
            for step in range(3):
                writer.add_scalar("loss", 0.5, step)
            writer.add_hparams({"lr": 0.1}, {"accuracy": 0.9}, run_name=".")

    assert names(tmp_path) == [".", "inner"]


def test_add_scalars_are_tags_of_the_run_in_one_chart(make: Any, tmp_path: Path) -> None:
    writer = make(tmp_path / "a")
    writer.add_scalar("lr", 0.1, 0)
    for step in range(5):
        writer.add_scalars("metrics/loss", {"train": step, "test set": -step}, step)
    writer.close()

    assert names(tmp_path) == ["a"]
    run = Run(tmp_path / "a")
    assert run.tags["scalars"] == ["lr", "metrics/loss/test set", "metrics/loss/train"]
    assert run.series == {"metrics/loss": {"test set": "metrics/loss/test set", "train": "metrics/loss/train"}}
    assert run.scalars("metrics/loss/test set").values.tolist() == [0, -1, -2, -3, -4]
    assert run.ranks[0].scalars("metrics/loss/train").steps.tolist() == [0, 1, 2, 3, 4]


def test_series_grow_with_their_run(tmp_path: Path) -> None:
    with torch.utils.tensorboard.SummaryWriter(str(tmp_path)) as writer:
        writer.add_scalars("loss", {"train": 1.0}, 0)
        writer.flush()
        for each in writer.all_writers.values():
            each.flush()
        run = Run(tmp_path)
        assert len(run.scalars("loss/train")) == 1
        writer.add_scalars("loss", {"train": 2.0, "val": 3.0}, 1)

    assert run.poll()
    assert run.scalars("loss/train").values.tolist() == [1, 2]
    assert run.scalars("loss/val").values.tolist() == [3]


def test_two_runs_are_compared_by_their_series_and_metrics(tmp_path: Path) -> None:
    for number, name in enumerate("ab"):
        with torch.utils.tensorboard.SummaryWriter(str(tmp_path / name)) as writer:
            writer.add_scalars("loss", {"val": 1.0 + number}, 0)
            writer.add_hparams({"lr": number}, {"accuracy": number})

    comparison = compare(Run(tmp_path / "a"), Run(tmp_path / "b"))

    outcome = next(topic for topic in comparison.topics if topic.name == "outcome")
    told = {each.name: (each.first, each.second) for each in outcome.differences}
    assert told["metric accuracy"] == ("0", "1") and told["last loss/val"] == ("1", "2")


def test_a_run_of_another_process_whose_name_looks_like_a_series_is_a_run(tmp_path: Path) -> None:
    """Only the names of the files tell whose they are."""
    for folder, process in ((tmp_path, 11), (tmp_path / "loss_a", 12)):
        with torch.utils.tensorboard.SummaryWriter(str(folder)) as writer:
            writer.add_scalar("loss", 0.5, 1)
        (file,) = folder.glob("*tfevents*")
        file.rename(folder / f"events.out.tfevents.1700000000.host.{process}.0")

    assert names(tmp_path) == [".", "loss_a"]
    shutil.move(
        tmp_path / "loss_a/events.out.tfevents.1700000000.host.12.0",
        tmp_path / "loss_a/events.out.tfevents.1700000000.host.11.1",
    )
    assert names(tmp_path) == ["."]


def test_a_run_of_the_same_process_with_more_tags_than_one_is_a_run(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "loss_a"):
        with torch.utils.tensorboard.SummaryWriter(str(folder)) as writer:
            writer.add_scalar("loss", 0.5, 1)
            writer.add_scalar("accuracy", 0.5, 1)

    assert names(tmp_path) == [".", "loss_a"]


def test_the_writer_of_a_file_is_in_its_name() -> None:
    cases = {
        "events.out.tfevents.1795062037.vm.16417.1": "vm.16417",
        "events.out.tfevents.1795062037.a.b.com.16417.1.suffix": "a.b.com.16417",
        "events.out.tfevents.1795062042.vm": "vm",
        "events.out.tfevents.1795062045.592462.vm.16516.torch_debugger.00000": "vm.16516.torch_debugger.00000",
        "notes.txt": "",
    }
    assert {name: writer_in(name) for name in cases} == cases
