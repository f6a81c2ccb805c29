"""Batches that are left out because they are not full."""

from __future__ import annotations

from tests.checks.data.looks import loader
from tests.fakes import judged, place
from torch_debugger.records import Finding, LoaderFact

MADE = place(11, code="train_loader = DataLoader(data, 64, drop_last=True)")


def check(fact: LoaderFact) -> list[Finding]:
    return judged([fact], "drop-last-loses-data")


def test_no_batch_at_all() -> None:
    [finding] = check(loader(drop_last=True, length=0, samples=60, batch_size=64, made=MADE))
    assert finding.severity == "error"
    assert finding.message == (
        "`train_loader` at train.py:11 delivers no batch at all: its 60 samples do not fill one batch of 64, "
        "and drop_last=True leaves such a batch out."
    )
    assert finding.edit is not None
    assert finding.edit.after == "train_loader = DataLoader(data, 64, drop_last=False)"


def test_always_the_same_part() -> None:
    [finding] = check(loader(drop_last=True, length=1, samples=100, batch_size=64, shuffle=False, made=MADE))
    assert finding.severity == "warning"
    assert "never delivers the last 36 of 100 samples" in finding.message


def test_what_is_usual() -> None:
    assert not check(loader(drop_last=True, length=1, samples=100, batch_size=64, shuffle=True))
    assert not check(loader(drop_last=True, length=15, samples=1000, batch_size=64, shuffle=False))
    assert not check(loader(drop_last=False, length=2, samples=100, batch_size=64, shuffle=False))
    assert not check(loader(drop_last=True, length=None, samples=None, batch_size=64))
