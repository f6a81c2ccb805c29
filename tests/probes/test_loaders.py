"""DataLoaders: who they are, how long they are waited for, what a batch looks like."""

from __future__ import annotations

import time
from collections import UserDict
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset

from tests.probes.watching import watched
from torch_debugger.probes.data.loaders import batch_tensors, describe_batch
from torch_debugger.records import BatchFact, LoaderFact

DATA = TensorDataset(torch.arange(20.0).view(10, 2), torch.arange(10) % 3)


def test_a_loader_is_told_once() -> None:
    with watched() as seen:
        loader = DataLoader(DATA, batch_size=4, shuffle=True)
        for _ in range(3):
            assert len(list(loader)) == 3
    [fact] = seen.of(LoaderFact)
    assert (fact.dataset, fact.length, fact.batch_size, fact.workers, fact.shuffle) == (
        "TensorDataset", 3, 4, 0, True
    )  # fmt: skip
    assert fact.place.code == "assert len(list(loader)) == 3"


def test_in_order() -> None:
    with watched() as seen:
        list(DataLoader(DATA))
    assert [fact.shuffle for fact in seen.of(LoaderFact)] == [False]


def test_a_dataset_without_a_length() -> None:
    class Stream(IterableDataset):  # type: ignore[type-arg]
        def __iter__(self) -> Any:
            return iter([torch.ones(2), torch.zeros(2)])

    with watched() as seen:
        assert len(list(DataLoader(Stream(), batch_size=2))) == 1
    [fact] = seen.of(LoaderFact)
    assert (fact.length, fact.shuffle) == (None, None)


def test_the_wait_for_a_batch() -> None:
    class Slow(Dataset[torch.Tensor]):
        def __len__(self) -> int:
            return 3

        def __getitem__(self, index: int) -> torch.Tensor:
            time.sleep(0.05)
            return torch.ones(4)

    with watched() as seen:
        net = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for x in DataLoader(Slow()):
            optimizer.zero_grad()
            net(x).mean().backward()
            optimizer.step()
    waited = seen.scalars("time/data_wait_s")
    assert sorted(waited) == [1, 2, 3]
    assert all(0.05 <= seconds <= seen.scalars("time/step_s")[step] for step, seconds in waited.items())


def test_the_batch_of_a_deep_step() -> None:
    with watched() as seen:
        for x, y in DataLoader(DATA, batch_size=10):
            assert x.shape == (10, 2)
            assert len(y) == 10
    first, second = seen.of(BatchFact)
    assert (first.name, first.shape, first.dtype, first.minimum, first.maximum, first.mean) == (
        "batch[0]", (10, 2), "float32", 0.0, 19.0, 9.5
    )  # fmt: skip
    assert first.std == pytest.approx(5.766, abs=1e-3)
    assert (second.name, second.dtype, second.maximum) == ("batch[1]", "int64", 2.0)


def test_one_batch_a_step_is_measured() -> None:
    with watched() as seen:
        list(DataLoader(DATA, batch_size=2))
    assert len(seen.of(BatchFact)) == 2


def test_workers_are_watched_from_outside() -> None:
    with watched() as seen:
        assert len(list(DataLoader(DATA, batch_size=5, num_workers=1))) == 2
    assert [fact.workers for fact in seen.of(LoaderFact)] == [1]
    assert len(seen.of(BatchFact)) == 2


def test_batches_are_the_same_with_and_without() -> None:
    def batches() -> list[torch.Tensor]:
        torch.manual_seed(3)
        return [x for x, _ in DataLoader(DATA, batch_size=3, shuffle=True)]

    plain = batches()
    with watched():
        seen = batches()
    assert all(torch.equal(one, other) for one, other in zip(plain, seen, strict=True))


def test_what_a_loader_raises_is_the_users() -> None:
    class Broken(Dataset[torch.Tensor]):
        def __len__(self) -> int:
            return 1

        def __getitem__(self, index: int) -> torch.Tensor:
            raise KeyError("of the dataset")

    with watched(), pytest.raises(KeyError, match="of the dataset"):
        list(DataLoader(Broken()))


@pytest.mark.parametrize(
    ("batch", "names"),
    [
        (torch.ones(2), ["batch"]),
        ((torch.ones(2), "label", torch.ones(3)), ["batch[0]", "batch[2]"]),
        ({"pixels": torch.ones(2), "name": "a"}, ["batch['pixels']"]),
        (UserDict(input_ids=torch.ones(2)), ["batch['input_ids']"]),
        ("text", []),
        (None, []),
    ],
)
def test_tensors_of_a_batch(batch: Any, names: list[str]) -> None:
    assert [name for name, _ in batch_tensors(batch)] == names


@pytest.mark.parametrize(
    "batch",
    [torch.randn(3, 3).to_sparse(), torch.randn(3) + 1j, torch.empty(0, 3), torch.empty(3, device="meta")],
    ids=["sparse", "complex", "empty", "meta"],
)
@pytest.mark.filterwarnings("error")
def test_batches_without_plain_numbers_cause_no_fault(batch: torch.Tensor) -> None:
    with watched() as seen:
        list(DataLoader([0], collate_fn=lambda items: batch))  # type: ignore[arg-type]
    assert seen.of(BatchFact) == []


def test_numbers_that_are_not_finite_are_counted() -> None:
    fact = describe_batch("x", torch.tensor([1.0, float("nan"), 3.0, float("inf")]), 1)
    assert (fact.notfinite, fact.minimum, fact.maximum, fact.mean) == (2, 1.0, 3.0, 2.0)
    nothing = describe_batch("x", torch.tensor([float("nan")]), 1)
    assert (nothing.notfinite, nothing.minimum, nothing.std) == (1, 0.0, 0.0)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.bool, torch.float16, torch.float64, torch.int32], ids=str)
def test_every_kind_of_number(dtype: torch.dtype) -> None:
    fact = describe_batch("x", torch.tensor([0, 1, 1, 0]).to(dtype), 1)
    assert (fact.minimum, fact.maximum, fact.mean, fact.std) == (0.0, 1.0, 0.5, 0.5)


def test_the_wait_for_data_after_the_last_step_is_no_step_of_its_own() -> None:
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    data = TensorDataset(torch.randn(6, 4))
    with watched() as seen:
        for (x,) in DataLoader(data, batch_size=2):
            model(x).sum().backward()
            optimizer.step()
        with torch.no_grad():
            for (x,) in DataLoader(data, batch_size=2):
                model(x)
    assert set(seen.scalars("time/data_wait_s")) == {1, 2, 3}
