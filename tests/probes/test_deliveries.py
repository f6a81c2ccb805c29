"""What loaders deliver, what reaches the first layer, and what a loss is compared with."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from tests.probes.watching import Seen, watched
from torch_debugger.probes.data.batches import Deliveries, look_at
from torch_debugger.records import BatchLook, InputLook, LoaderFact, RootInput, TargetLook
from torch_debugger.stats.summary import digest_rows, sampled_rows

X = torch.arange(240.0).view(40, 6) / 100
Y = torch.arange(40) % 3


def train(loader: Any, net: nn.Module, epochs: int = 1, val_loader: Any = ()) -> None:
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for _ in range(epochs):
        for x, y in loader:
            optimizer.zero_grad()
            nn.functional.cross_entropy(net(x), y).backward()
            optimizer.step()
        with torch.no_grad():
            for x, _y in val_loader:
                net(x)


@pytest.fixture
def run() -> Seen:
    torch.manual_seed(0)
    with watched() as seen:
        train_loader = DataLoader(TensorDataset(X, Y), batch_size=8)
        val_loader = DataLoader(TensorDataset(X + 100, Y), batch_size=20, drop_last=True)
        train(train_loader, nn.Sequential(nn.Linear(6, 3)), 2, val_loader)
    return seen


def test_passes_and_what_they_are_for(run: Seen) -> None:
    looks = [(look.loader, look.iteration, look.index, look.trained) for look in run.of(BatchLook)]
    first = [(1, 1, index, True) for index in range(5)] + [(2, 1, index, False) for index in range(2)]
    assert looks[:7] == first
    assert looks[7:] == [(number, 2, index, trained) for number, _, index, trained in first]


def test_the_same_samples_have_the_same_digests(run: Seen) -> None:
    first, second = ([look for look in run.of(BatchLook) if look.iteration == number] for number in (1, 2))
    assert [look.tensors for look in first] == [look.tensors for look in second]
    digests = {digest for look in first for digest in look.tensors[0].samples}
    assert len(digests) == 80
    assert first[0].tensors[1].labels == (0, 1, 2, 0, 1, 2, 0, 1)


def test_loaders_are_known_by_all_their_names(run: Seen) -> None:
    facts = run.of(LoaderFact)
    assert ["train_loader" in fact.names for fact in facts] == [True, False]
    assert [fact.samples for fact in facts] == [40, 40]
    assert [fact.drop_last for fact in facts] == [False, True]
    assert all("DataLoader(TensorDataset(" in (fact.made.code or "") for fact in facts)


def test_what_reaches_the_first_layer(run: Seen) -> None:
    look = run.of(InputLook)[0]
    assert (look.layer, look.kind, look.shape, look.column) == ("net.0", "Linear", (8, 6), 5)
    assert look.maximum == pytest.approx(0.47)
    assert look.samples == run.of(BatchLook)[0].tensors[0].samples
    assert look.call.code == "nn.functional.cross_entropy(net(x), y).backward()"


def test_what_the_loss_is_compared_with(run: Seen) -> None:
    look = run.of(TargetLook)[0]
    assert (look.op, look.labels, look.copied_to) == ("NllLoss", {"0": 3, "1": 3, "2": 2}, ())


def test_inputs_of_training_and_of_validation(run: Seen) -> None:
    trained, others = ([look for look in run.of(RootInput) if look.trained is kind] for kind in (True, False))
    assert max(abs(look.mean) for look in trained) < 3
    assert all(look.mean > 100 for look in others)
    assert {look.call.code for look in others} == {"net(x)"}


def test_a_column_that_is_the_target() -> None:
    table = torch.cat([torch.randn(40, 4), Y.view(40, 1)], 1)
    with watched() as seen:
        train(DataLoader(TensorDataset(table, Y), batch_size=10), nn.Sequential(nn.Linear(5, 3)))
    assert {look.copied_to for look in seen.of(TargetLook)} == {(4,)}


def test_a_view_that_exchanges_axes() -> None:
    images = torch.randn(40, 5, 5, 3)
    net = nn.Sequential(nn.Conv2d(3, 2, 3), nn.Flatten(), nn.Linear(18, 3))
    with watched() as seen:
        optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
        for x, y in DataLoader(TensorDataset(images, Y), batch_size=10):
            optimizer.zero_grad()
            nn.functional.cross_entropy(net(x.view(-1, 3, 5, 5)), y).backward()
            optimizer.step()
    look = seen.of(InputLook)[0]
    assert (look.viewed, look.shape) == ((10, 5, 5, 3), (10, 3, 5, 5))
    assert "x.view(-1, 3, 5, 5)" in (look.viewed_at.code or "")


def test_looks_end() -> None:
    with watched(deep=True) as seen:
        for _ in range(30):
            list(DataLoader(TensorDataset(X, Y), batch_size=8))
        loader = DataLoader(TensorDataset(X, Y), batch_size=8)
        for _ in range(60):
            list(loader)
    counts: dict[int, int] = {}
    for look in seen.of(BatchLook):
        counts[look.loader] = counts.get(look.loader, 0) + 1
    assert max(counts) <= Deliveries.LOADERS
    assert max(counts.values()) <= Deliveries.LOOKS


@pytest.mark.parametrize("dtype", [torch.uint8, torch.bool, torch.float16, torch.bfloat16, torch.float64], ids=str)
def test_every_kind_of_number(dtype: torch.dtype) -> None:
    tensor = torch.tensor([[0, 1, 1], [1, 0, 0], [0, 1, 1]]).to(dtype)
    look = look_at("batch", tensor)
    assert look.samples[0] == look.samples[2] != look.samples[1]
    assert look_at("batch", tensor[:, 0]).shape == (3,)


def test_large_samples_are_sampled_as_a_whole() -> None:
    images = torch.zeros(2, 3, 64, 64)
    images[1, 2, 40:] = 1.0
    first, second = digest_rows(sampled_rows(images))
    assert first != second


def test_zeros_and_ones_are_labels_whatever_their_type() -> None:
    assert look_at("batch[1]", torch.tensor([0.0, 1.0, 1.0, 0.0])).labels == (0, 1, 1, 0)
    assert look_at("batch[1]", torch.tensor([0.0, 1.0, 0.5, 0.0])).labels == ()


def test_numbers_that_nearly_all_differ() -> None:
    torch.manual_seed(0)
    rows = torch.randn(8, 6)
    assert look_at("batch[0]", torch.cat([rows, rows, rows])).varied
    assert not look_at("batch[0]", torch.randint(0, 3, (24, 6)).float()).varied


def test_the_scripts_profiler_sees_no_operations_of_ours() -> None:
    def operations() -> set[str]:
        torch.manual_seed(0)
        loader, net = DataLoader(TensorDataset(X, Y), batch_size=8), nn.Sequential(nn.Linear(6, 3))
        with torch.profiler.profile() as profiled:
            train(loader, net, 2, loader)
        return {row.key for row in profiled.key_averages()}

    alone = operations()
    with watched():
        beside = operations()
    assert beside - alone <= {"aten::item", "aten::_local_scalar_dense"}  # the loss of each step is read
