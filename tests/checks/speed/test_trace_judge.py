"""Advice on traces of the profiler: by the checks of speed, where it applies."""

from __future__ import annotations

import dataclasses

import pytest

from torch_debugger.checks.judge import judge_trace
from torch_debugger.records import OptimizerFact, Place, Record, SpeedSettings, TracedTraining

CPU = SpeedSettings("cpu", "", (0, 0), 0, 0, True, True, True, False, False, 0)
GPU = dataclasses.replace(CPU, device="cuda", device_name="NVIDIA A100", capability=(8, 0))
QUIET = {"data_wait": 0.001, "forward": 0.05, "backward": 0.06, "optimizer": 0.005, "other": 0.004}


def training(device: str = "cpu", workers: bool | None = None, steps: int = 3, **more: float) -> TracedTraining:
    seconds = QUIET | more
    return TracedTraining(device, steps, sum(seconds.values()) / steps, seconds, workers, Place("train.py", 9))


def optimizer(form: str, count: int = 0) -> OptimizerFact:
    names = tuple(f"unnamed[{number}]" for number in range(count))
    return OptimizerFact("optimizer", "AdamW", Place(), (), names, 0, form=form)


def names(*records: Record) -> list[str]:
    return [finding.name for finding in judge_trace(records)]


def test_a_training_that_waits_for_its_data_is_told_of_workers() -> None:
    (finding,) = judge_trace([CPU, training(workers=False, data_wait=0.12)])
    assert (finding.name, finding.severity) == ("data-loaded-in-the-training-process", "warning")
    assert "waits 40 ms of the 79.7 ms of a step (50%)" in finding.message
    assert "num_workers=4" in finding.fix and "39.7 ms instead of 79.7 ms" in finding.fix
    assert finding.where == Place("train.py", 9)
    assert finding.evidence["expected_gain"] == pytest.approx(1 - 39.7 / 79.7, abs=0.01)


def test_workers_are_told_of_more_and_one_step_is_not_enough() -> None:
    assert names(CPU, training(workers=True, data_wait=0.12)) == ["too-few-workers"], "one with workers is told of more"
    assert names(GPU, optimizer("in lists"), training("cuda", steps=1, optimizer=0.06)) == [], "one step is not enough"


@pytest.mark.parametrize(
    "quiet",
    [
        training(),
        training(workers=False, data_wait=0.02),  # a seventh of a step
        training(workers=False, data_wait=0.01, forward=0.001, backward=0.001, optimizer=0.0, other=0.0),  # 3 ms
        training(workers=None, data_wait=0.12),  # loaders of both kinds
    ],
)
def test_small_waits_and_unknown_loaders_are_left_alone(quiet: TracedTraining) -> None:
    assert names(CPU, quiet) == []


def test_an_update_in_many_kernels_on_a_gpu_and_one_by_one_on_a_cpu() -> None:
    slow = {"optimizer": 0.06}
    assert names(GPU, optimizer("in lists"), training("cuda", **slow)) == ["optimizer-not-fused"]
    assert names(CPU, optimizer("one by one", 40), training(**slow)) == ["parameters-updated-one-by-one"]
    assert names(CPU, optimizer("one by one", 4), training(**slow)) == []
    assert names(GPU, optimizer("fused"), training("cuda", **slow)) == []
    assert names(CPU, optimizer("in lists"), training(**slow)) == [], "advice for a GPU"
