from __future__ import annotations

import dataclasses

import pytest

from tests.checks.speed.profiles import copied, profile, settings, sync
from tests.checks.speed.sampled_loops import Library, Users, training
from tests.fakes import findings_of, judged, model, place
from torch_debugger.records import Finding, LoaderFact, ModelFact

NAME = "unpinned-copy"
LARGE = copied(0.02, 200_000_000)  # at 10 GB/s; at 40 it would take 5 ms
found = findings_of(NAME, settings())


def loader(workers: int) -> LoaderFact:
    made = place(12, code="loader = DataLoader(data, batch_size=64, num_workers=4)")
    return LoaderFact("Data", 10, 64, workers, True, place(28), 1, 1, ("loader",), made)


def test_the_copy_and_its_rate_are_told() -> None:
    [finding] = found(profile(copies=(LARGE,)))
    assert finding.severity == "warning" and finding.where.line == 30
    assert finding.message == (
        "`x = images[start:end].to(device)` brings 40 MB a step to the device out of unpinned memory: 4 ms "
        "of the 10 ms of a step, at 10 GB/s."
    )
    assert "images.pin_memory()" in finding.fix and "non_blocking=True" in finding.fix
    assert finding.evidence["expected_gain"] == pytest.approx(0.3)


def test_what_the_device_loses_after_the_copy_counts_too() -> None:
    wait = dataclasses.replace(sync(0.01, op="aten::to"), place=LARGE.place)
    [finding] = found(profile(copies=(LARGE,), syncs=(wait,), device_busy_s=0.03))
    assert finding.evidence["expected_gain"] == pytest.approx(0.5)


def test_workers_of_a_loader_pin_and_the_training_itself_does_not() -> None:
    # the loader gets the edit if it has workers
    [finding] = found(loader(4), profile(copies=(LARGE,)))
    assert finding.edit is not None
    assert finding.edit.after == "loader = DataLoader(data, batch_size=64, num_workers=4, pin_memory=True)"
    # a loader without workers would pin in the training itself
    [finding] = found(loader(0), profile(copies=(LARGE,)))
    assert finding.edit is None and "num_workers" in finding.fix


@pytest.mark.parametrize(
    "copy",
    [
        copied(0.02, 200_000_000, pinned=True),
        copied(0.02, 200_000_000, way="device to host"),
        copied(0.02, 4_000_000),  # below a megabyte a step
        copied(0.0052, 200_000_000),  # as fast as pinned memory
    ],
)
def test_other_copies_are_left_alone(copy: object) -> None:
    assert found(profile(copies=(copy,))) == []


def test_an_older_device_is_not_asked_for_the_rate_of_a_new_one() -> None:
    old = judged([settings(capability=(7, 0)), profile(copies=(LARGE,))], NAME)
    assert old == []  # 10 GB/s is all that its bus can do


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
