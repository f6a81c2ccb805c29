"""What a rank tells of itself, with the process group of one process in place of several."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from tests.probes.watching import Seen, watched
from torch_debugger.probes import ranks_in_sync as rank_digests
from torch_debugger.probes.ranks_in_sync import is_due
from torch_debugger.records import CollectivesFact, RankDigest


@pytest.fixture
def group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    dist.init_process_group("gloo", init_method=f"file://{tmp_path}/meet", rank=0, world_size=1)
    monkeypatch.setattr(rank_digests, "_is_one_of_several", lambda: True)
    yield
    dist.destroy_process_group()


def train(steps: int, *, wrap: bool = True, inner: bool = False, by_hand: bool = False) -> Seen:
    torch.manual_seed(0)
    with watched(deep=False) as seen:
        net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
        model = DistributedDataParallel(net) if wrap else net
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(steps):
            called = net if inner else model
            loss = called(torch.randn(8, 4)).square().mean()
            optimizer.zero_grad()
            loss.backward()
            if by_hand:
                for parameter in net.parameters():
                    dist.all_reduce(parameter.grad)
            optimizer.step()
    return seen


def test_steps_that_all_ranks_choose() -> None:
    due = [step for step in range(1, 200) if is_due(step)]
    ever_rarer = [*range(16, 32, 2), *range(32, 64, 4), *range(64, 128, 8), *range(128, 200, 16)]
    assert due == [*range(1, 16), *ever_rarer]
    assert [step for step in range(9000, 10000) if is_due(step)] == [9216, 9472, 9728, 9984]


def test_what_a_rank_tells(group: None) -> None:
    told = train(17).of(RankDigest)
    assert [digest.step for digest in told] == list(range(1, 17))
    first, second = told[:2]
    assert first.average is not None
    assert (first.average.kind, first.average.name, first.average.ranks) == (
        "DistributedDataParallel",
        "model",
        1,
    )
    assert first.average.made.code is not None
    assert "DistributedDataParallel(net)" in first.average.made.code
    assert first.names == ("model.module.0.weight", "model.module.0.bias", "model.module.2.weight",
                           "model.module.2.bias")  # fmt: skip
    assert (first.shapes[0], first.rates, first.updates, first.backwards) == ("(8, 4)", (0.1,), 0, 1)
    assert -1 not in first.gradients
    (call,) = first.calls
    assert (call.root, call.role) == ("model", "wrapper")
    assert call.call.code == "loss = called(torch.randn(8, 4)).square().mean()"
    assert first.weights != second.weights
    assert call.inputs != second.calls[0].inputs


def test_the_same_training_tells_the_same(group: None) -> None:
    assert train(5).of(RankDigest) == train(5).of(RankDigest)


def test_a_module_called_without_its_wrapper(group: None) -> None:
    told = train(3, inner=True).of(RankDigest)
    assert [call.role for digest in told for call in digest.calls] == ["inner"] * 3
    assert told[0].average is not None
    assert told[0].average.name == "model"  # from the line that makes it


def test_averages_made_by_hand(group: None, monkeypatch: pytest.MonkeyPatch) -> None:
    told = train(2, wrap=False, by_hand=True).of(RankDigest)
    assert [digest.average.kind if digest.average else "" for digest in told] == [""] * 2  # a group of one

    plain = train(2, wrap=False).of(RankDigest)
    assert [digest.average for digest in plain] == [None, None]


def test_without_a_process_group_nothing_is_told() -> None:
    assert train(3, wrap=False).of(RankDigest) == []


def test_collectives_of_one_alone_are_not_told(group: None) -> None:
    assert train(2, wrap=False, by_hand=True).of(CollectivesFact) == []


def test_methods_of_process_groups_are_as_before() -> None:
    before = {name: vars(dist.ProcessGroup)[name] for name in ("allreduce", "broadcast", "barrier")}
    with watched():
        assert vars(dist.ProcessGroup)["allreduce"] is not before["allreduce"]
    assert {name: vars(dist.ProcessGroup)[name] for name in before} == before
