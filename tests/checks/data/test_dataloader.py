"""Batches that are left out because they are not full."""

from __future__ import annotations

from tests.checks.data.looks import loader
from tests.fakes import findings_of, judged, place
from torch_debugger.records import BatchLook, CopiedGenerator, LoaderFact

MADE = place(11, code="train_loader = DataLoader(data, 64, drop_last=True)")
check = findings_of("drop-last-loses-data")


def test_no_batch_at_all() -> None:
    [finding] = check(loader(drop_last=True, length=0, samples=60, batch_size=64, made=MADE))
    assert finding.severity == "error"
    assert finding.message == (
        "`train_loader` at train.py:11 delivers no batch at all: its 60 samples do not fill one batch of 64, "
        "and drop_last=True leaves such a batch out."
    )
    assert finding.edit is not None and finding.edit.after == "train_loader = DataLoader(data, 64, drop_last=False)"


def test_always_the_same_part() -> None:
    [finding] = check(loader(drop_last=True, length=1, samples=100, batch_size=64, shuffle=False, made=MADE))
    assert finding.severity == "warning"
    assert "never delivers the last 36 of 100 samples" in finding.message


def test_what_is_usual() -> None:
    assert not check(loader(drop_last=True, length=1, samples=100, batch_size=64, shuffle=True))
    assert not check(loader(drop_last=True, length=15, samples=1000, batch_size=64, shuffle=False))
    assert not check(loader(drop_last=False, length=2, samples=100, batch_size=64, shuffle=False))
    assert not check(loader(drop_last=True, length=None, samples=None, batch_size=64))


NAME = "worker-rng-identical"
LOADER = LoaderFact("Patches", 16, 32, 2, True, place(30), 1, number=1, names=("train_loader",))
KEPT = CopiedGenerator(1, 2, "Patches", "noise", "Generator", place(17), place(23), 1)


def batch(trained: bool) -> BatchLook:
    return BatchLook(1, 1, 0, trained, (), 1)


def test_a_generator_in_the_dataset_of_a_loader_that_is_trained_on() -> None:
    (finding,) = judged([LOADER, KEPT, batch(True)], NAME)
    assert finding.message == (
        "`self.noise` of `Patches` at train.py:17 (Generator) is copied into each of the 2 workers of "
        "`train_loader`: all of them draw the same random numbers at train.py:23."
    )
    assert (finding.severity, finding.where.line) == ("warning", 17)
    assert "a `worker_init_fn` that makes `self.noise` anew" in finding.fix


def test_validation_and_loaders_without_one_are_silent() -> None:
    assert not judged([LOADER, KEPT, batch(False)], NAME)
    assert not judged([LOADER, batch(True)], NAME)
