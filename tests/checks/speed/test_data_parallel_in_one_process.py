from __future__ import annotations

import dataclasses

import pytest

from tests.checks.speed.sampled_loops import Library, Users, training
from tests.fakes import judged, model
from torch_debugger.records import Finding, ModelFact

CALL = Users(12, "loss = criterion(model(x), y)")
FILE = "/lib/torch/nn/parallel/data_parallel.py"
FORWARD = Library("DataParallel.forward", FILE)


def wrapped(devices: int, kind: str = "DataParallel") -> ModelFact:
    fact = model({"net": kind, "net.module": "Net"}, {})
    first = dataclasses.replace(fact.modules[0], settings={"devices": float(devices)})
    return dataclasses.replace(fact, modules=(first, *fact.modules[1:]))


def check(fact: ModelFact, *, replicate: int = 20, gather: int = 5, count: int = 200) -> list[Finding]:
    paths = {
        (CALL, FORWARD, Library("DataParallel.replicate", FILE)): replicate,
        (CALL, FORWARD, Library("DataParallel.gather", FILE)): gather,
        (CALL, FORWARD, Library("DataParallel.parallel_apply", FILE)): 20,
    }
    return judged([fact, *training(paths, count)], "data-parallel-in-one-process")


def test_the_copies_are_told() -> None:
    (finding,) = check(wrapped(4))
    assert finding.severity == "note"
    assert finding.message == (
        "`net` is a DataParallel over 4 devices: 5 ms of the 20 ms of each step go into copying the model to "
        "them, handing out the batch and bringing the results together."
    )
    assert "torchrun --nproc_per_node=4" in finding.fix
    assert finding.fix.endswith("Expected to save about 25 % of each step (5 ms).")
    assert finding.evidence["expected_gain"] == pytest.approx(0.25)


def test_one_device_and_other_wrappers_are_silent() -> None:
    assert check(wrapped(2))
    assert not check(wrapped(1))
    assert not check(wrapped(0))
    assert not check(wrapped(2, kind="DistributedDataParallel"))


def test_a_small_share_and_a_short_run_are_silent() -> None:
    assert check(wrapped(2), replicate=5, gather=0)
    assert not check(wrapped(2), replicate=4, gather=0)
    assert not check(wrapped(2), count=9)
