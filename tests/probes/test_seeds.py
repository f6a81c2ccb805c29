"""Seeds that are set again in the course of a training."""

from __future__ import annotations

import torch
from torch import nn

from tests.probes.watching import Seen, watched
from torch_debugger.records import Reseeding


def set_seed() -> None:
    torch.manual_seed(3)


def train(seen: Seen, *, forked: bool = False, random: bool = True) -> list[Reseeding]:
    net = nn.Linear(4, 1)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(4):
        if forked:
            with torch.random.fork_rng():
                set_seed()
        else:
            set_seed()
        for _ in range(3):
            x = torch.randn(5, 4) if random else torch.ones(5, 4)
            opt.zero_grad()
            net(x).pow(2).mean().backward()
            opt.step()
    return seen.of(Reseeding)


def test_a_training_that_repeats_its_random_numbers() -> None:
    with watched() as seen:
        found = train(seen)
    assert [(each.seed, each.updates, each.draws, each.repeats) for each in found] == [(3, 3, True, True)] * 2
    assert {each.place.code for each in found} == {"set_seed()"}  # not the line inside of it
    assert [each.age for each in found] == [7, 10]


def test_a_fork_of_the_random_state_leaves_the_training_alone() -> None:
    with watched() as seen:
        found = train(seen, forked=True)
    assert found and not any(each.repeats for each in found)


def test_a_training_without_random_numbers() -> None:
    with watched() as seen:
        found = train(seen, random=False)
    assert found and not any(each.draws for each in found)


def test_torchs_own_function_is_put_back() -> None:
    before = torch.manual_seed
    with watched():
        assert torch.manual_seed is not before
    assert torch.manual_seed is before is torch.random.manual_seed
