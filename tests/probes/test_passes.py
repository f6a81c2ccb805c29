"""Passes over loaders, and the mode a model is trained in."""

from __future__ import annotations

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from tests.probes.watching import watched
from torch_debugger.records import ModeLook, PassFact


def loader(shuffle: bool = False, generator: torch.Generator | None = None) -> DataLoader[tuple[torch.Tensor, ...]]:
    return DataLoader(TensorDataset(torch.randn(12, 4)), batch_size=3, shuffle=shuffle, generator=generator)


def noisy() -> nn.Module:
    return nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.Dropout(0.5), nn.Linear(6, 1))


def train(net: nn.Module, opt: torch.optim.Optimizer, data: DataLoader[tuple[torch.Tensor, ...]]) -> None:
    for (x,) in data:
        opt.zero_grad()
        net(x).sum().backward()
        opt.step()


def test_training_and_validation_are_told_apart() -> None:
    training, validation = loader(shuffle=True), loader()
    with watched() as seen:
        net = noisy()
        opt = torch.optim.SGD(net.parameters(), lr=1e-3)
        for _ in range(2):
            net.train()
            train(net, opt, training)
            net.eval()
            with torch.no_grad():
                for (x,) in validation:
                    net(x)
    first, second = seen.of(PassFact)[:2]
    assert (first.batches, first.updates, first.backwards, first.shuffled) == (4, 4, 4, True)
    assert (second.batches, second.updates, second.backwards, second.shuffled) == (4, 0, 0, False)
    assert [(made.root, made.train_grad, made.dropouts, made.norms) for made in first.calls] == [("net", 4, 1, 1)]
    assert [(made.eval_only, made.trained) for made in second.calls] == [(4, True)]
    assert first.loader != second.loader
    assert not any(fact.repeats for fact in seen.of(PassFact))


def test_a_backward_right_after_a_pass_belongs_to_it() -> None:
    data = loader()
    with watched() as seen:
        net = noisy()
        opt = torch.optim.SGD(net.parameters(), lr=1e-3)
        for _ in range(2):
            total = torch.zeros(())
            for (x,) in data:
                total = total + net(x).sum()
            opt.zero_grad()
            total.backward()
            opt.step()
    assert [(fact.updates, fact.backwards) for fact in seen.of(PassFact)] == [(0, 1), (0, 1)]


def test_a_random_state_that_comes_back_is_seen() -> None:
    data = loader(shuffle=True)
    with watched() as seen:
        net = noisy()
        opt = torch.optim.SGD(net.parameters(), lr=1e-3)
        for _ in range(3):
            torch.manual_seed(0)
            train(net, opt, data)
    facts = seen.of(PassFact)
    assert [(fact.repeats, fact.age) for fact in facts] == [(False, 0), (True, 4), (True, 8)]
    assert facts[1].seed.code == "torch.manual_seed(0)"


def test_a_loader_with_a_generator_of_its_own_is_judged_by_that() -> None:
    data = loader(shuffle=True, generator=torch.Generator().manual_seed(1))
    with watched() as seen:
        net = noisy()
        opt = torch.optim.SGD(net.parameters(), lr=1e-3)
        for _ in range(3):
            torch.manual_seed(0)
            train(net, opt, data)
    assert [fact.repeats for fact in seen.of(PassFact)] == [False, False, False]


def test_passes_draw_no_random_number_of_ours() -> None:
    def drawn() -> torch.Tensor:
        torch.manual_seed(3)
        net, data = noisy(), loader(shuffle=True)
        train(net, torch.optim.SGD(net.parameters(), lr=1e-3), data)
        return torch.rand(3)

    plain = drawn()
    with watched():
        assert torch.equal(drawn(), plain)


def test_the_mode_of_training_is_counted() -> None:
    with watched(deep=False) as seen:
        net = noisy()
        opt = torch.optim.SGD(net.parameters(), lr=1e-3)
        data = loader()
        train(net, opt, data)
        net.eval()
        for _ in range(5):
            train(net, opt, data)
    looks = seen.of(ModeLook)
    assert sum(each.train_calls for each in looks) == 4
    assert sum(each.eval_calls for each in looks) == 20
    assert {(each.share, each.dropouts, each.norms, each.untouched) for each in looks} == {(1.0, 1, 1, False)}
    assert "net.eval()" in {place.code for place in looks[0].evals}


def test_a_model_with_one_mode_is_not_told() -> None:
    with watched() as seen:
        net = nn.Linear(4, 1)
        train(net, torch.optim.SGD(net.parameters(), lr=1e-3), loader())
    assert not seen.of(ModeLook)
