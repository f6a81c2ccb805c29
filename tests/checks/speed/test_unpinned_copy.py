"""unpinned-copy: what the copies take, against what they would out of pinned memory."""

from __future__ import annotations

import dataclasses

import pytest

from tests.checks.speed.profiles import copied, profile, settings, sync
from tests.fakes import judged, place
from torch_debugger.records import Finding, LoaderFact, Record

NAME = "unpinned-copy"
LARGE = copied(0.02, 200_000_000)  # at 10 GB/s; at 40 it would take 5 ms


def found(*records: Record) -> list[Finding]:
    return judged([settings(), *records], NAME)


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


def test_the_loader_gets_the_edit_if_it_has_workers() -> None:
    [finding] = found(loader(4), profile(copies=(LARGE,)))
    assert finding.edit is not None
    assert finding.edit.after == "loader = DataLoader(data, batch_size=64, num_workers=4, pin_memory=True)"


def test_a_loader_without_workers_would_pin_in_the_training_itself() -> None:
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
