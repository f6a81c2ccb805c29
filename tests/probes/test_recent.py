"""Batches of a moment ago: what is kept of them, and how long."""

from __future__ import annotations

import weakref
from typing import Any

import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

from torch_debugger.probes.data.batches import BATCHES, RecentBatches
from torch_debugger.probes.data.loaders import Loaders
from torch_debugger.probes.watch import Watch


def watched(monkeypatch: pytest.MonkeyPatch, in_use: bool) -> tuple[Watch, Loaders]:
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: in_use)
    watch = Watch()
    loaders = Loaders(watch)
    watch.install([loaders])
    data = TensorDataset(torch.randn(24, 2), torch.arange(24))
    for _ in DataLoader(data, batch_size=4):
        pass
    return watch, loaders


def test_the_last_batches_are_kept_newest_first(monkeypatch: pytest.MonkeyPatch) -> None:
    watch, loaders = watched(monkeypatch, in_use=True)
    kept = loaders.recent.latest_first()
    assert [batch["batch[1]"].tolist() for batch in kept] == [
        [20, 21, 22, 23], [16, 17, 18, 19], [12, 13, 14, 15], [8, 9, 10, 11],
    ]  # fmt: skip
    assert len(kept) == BATCHES and all("batch[0]" not in batch for batch in kept)
    watch.uninstall()
    assert loaders.recent.latest_first() == []


@pytest.mark.parametrize("batch", [list, tuple, lambda parts: dict(zip("ab", parts, strict=True))])
def test_a_batch_without_its_iterator_lives_as_long_as_the_script_holds_it(batch: Any) -> None:
    watch = Watch()
    loaders = Loaders(watch)
    watch.install([loaders])
    rows = TensorDataset(torch.randn(8, 2), torch.arange(8))
    loader = DataLoader(rows, 4, collate_fn=lambda samples: batch([torch.ones(2), "text"]))
    held = next(iter(loader))
    kept, dataset = loaders.last.get()
    assert kept is not held and kept == held and dataset is rows
    tensor = weakref.ref(held["a"] if isinstance(held, dict) else held[0])
    del held, kept
    assert tensor() is None and loaders.last.get() == (None, None)
    iterator = iter(loader)
    next(iterator)
    assert loaders.last.get() != (None, None)
    watch.uninstall()
    assert loaders.last.get() == (None, None)


def test_without_cuda_nothing_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    watch, loaders = watched(monkeypatch, in_use=False)
    assert loaders.recent.latest_first() == []
    watch.uninstall()


def test_no_copy_is_made() -> None:
    recent, labels = RecentBatches(), torch.arange(4)
    recent.see([("batch", labels)])
    assert recent.latest_first()[0]["batch"] is labels


def test_a_dead_device_is_no_fault_of_a_probe() -> None:
    faults: list[str] = []
    watch = Watch()
    watch.emit = lambda record: faults.append(type(record).__name__)  # type: ignore[assignment]
    watch._fault("forward", RuntimeError("CUDA error: device-side assert triggered"))
    assert faults == []
    watch._fault("forward", RuntimeError("a real fault"))
    assert faults == ["ProbeFault"]
