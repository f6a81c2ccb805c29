"""Hyperparameters of scripts that name their optimizers differently."""

from __future__ import annotations

from pathlib import Path

import pytest
from torch.utils.tensorboard import SummaryWriter

from tests import fakes
from torch_debugger.log.compare import compare_runs
from torch_debugger.log.compare_records import RunEvidence
from torch_debugger.log.folders import find_runs
from torch_debugger.log.run import Run
from torch_debugger.log.run_facts import merge_hparams
from torch_debugger.records import HparamsFact


def of_optimizer(name: str, lr: float) -> HparamsFact:
    return HparamsFact({f"{name}.kind": "SGD", f"{name}.lr": lr, f"{name}.groups.1.lr": 0.5}, name, 1)


def test_the_only_optimizer_s_variable_is_no_part_of_the_names() -> None:
    expected = {"optimizer": "SGD", "lr": 0.1, "groups.1.lr": 0.5}
    assert merge_hparams([of_optimizer("opt", 0.1)]) == merge_hparams([of_optimizer("self.optim", 0.1)]) == expected


def test_several_optimizers_keep_theirs() -> None:
    merged = merge_hparams([of_optimizer("opt_g", 0.1), of_optimizer("opt_d", 0.2)])
    assert (merged["opt_g.lr"], merged["opt_d.lr"], "lr" in merged) == (0.1, 0.2, False)


def test_what_the_script_calls_so_itself_stays_and_is_not_told_twice() -> None:
    args = HparamsFact({"lr": 0.1, "optimizer": "sgd"}, "args", 1)
    assert merge_hparams([args, of_optimizer("opt", 0.1)]) == {
        "lr": 0.1,
        "optimizer": "sgd",
        "optimizer.kind": "SGD",
        "groups.1.lr": 0.5,
    }
    assert merge_hparams([args, of_optimizer("opt", 0.3)])["optimizer.lr"] == 0.3


def test_two_runs_that_differ_in_the_variable_s_name_alone_have_the_same_settings() -> None:
    runs = [
        RunEvidence(name, [fakes.run(), of_optimizer(name, 0.1), *fakes.losses([2.0, 1.0])])
        for name in ("opt", "optimizer")
    ]
    settings = next(topic for topic in compare_runs(*runs).topics if topic.name == "settings")
    assert settings.differences == ()


@pytest.mark.parametrize("name", ["one", "."])
def test_the_folder_that_torch_s_add_hparams_makes_is_no_run_but_the_settings_of_its_own(
    tmp_path: Path, name: str
) -> None:
    with SummaryWriter(str(tmp_path / name)) as writer:
        writer.add_scalar("loss", 0.5, 1)
        writer.add_hparams({"width": 32, "act": "relu"}, {"accuracy": 0.9})

    (found,) = find_runs(str(tmp_path))
    assert found.name == name
    run = Run(found.folder)
    assert (run.hparams, run.tags["scalars"]) == ({"width": 32.0, "act": "relu"}, ["loss"])


def test_a_run_that_is_named_by_its_time_is_a_run(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "1731750000.25"):
        with SummaryWriter(str(folder)) as writer:
            writer.add_scalar("loss", 0.5, 1)
    assert [found.name for found in find_runs(str(tmp_path))] == [".", "1731750000.25"]
