"""What differs around the code: Python, torch, packages, hardware, variables."""

from __future__ import annotations

from torch_debugger.archive.comparing.evidence import RunEvidence
from torch_debugger.archive.comparing.plain_values import differences
from torch_debugger.records.comparison_of_runs import Difference, Topic


def compare_environment(first: RunEvidence, second: RunEvidence) -> Topic:
    if first.run is None or second.run is None:
        missing = (first if first.run is None else second).name
        return Topic("environment", unseen=f"the log of {missing} says nothing about it")
    found = differences(_program(first), _program(second))
    if first.surroundings is None or second.surroundings is None:
        missing = (first if first.surroundings is None else second).name
        return Topic("environment", found, unseen=f"the log of {missing} holds no packages and no hardware")
    return Topic("environment", found + _around(first, second))


def _program(run: RunEvidence) -> dict[str, object]:
    assert run.run is not None
    versions = {"python": run.run.python, "torch": run.run.torch}
    return {**versions, "device": run.run.device, "torch-debugger": run.run.debugger}


def _around(first: RunEvidence, second: RunEvidence) -> tuple[Difference, ...]:
    ours, theirs = first.surroundings, second.surroundings
    assert ours is not None and theirs is not None
    packages = [each for each in differences(ours.packages, theirs.packages) if each.name != "torch"]
    hardware = differences(ours.hardware, theirs.hardware)
    ranks = differences({"processes": ours.world_size}, {"processes": theirs.world_size})
    return (*ranks, *packages, *hardware, *differences(ours.environment, theirs.environment))
