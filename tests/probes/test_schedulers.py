"""Schedulers: how often they are stepped, and by which line."""

from __future__ import annotations

import warnings

import torch
from torch import nn
from torch.optim.lr_scheduler import CosineAnnealingLR, LambdaLR, ReduceLROnPlateau, StepLR

from tests.probes.watching import watched
from torch_debugger.records import OptimizerFact, SchedulerFact, SchedulerLook


def update(net: nn.Module, opt: torch.optim.Optimizer) -> None:
    opt.zero_grad()
    net(torch.randn(2, 4)).sum().backward()
    opt.step()


def test_a_scheduler_is_counted_beside_its_optimizer() -> None:
    with watched() as seen:
        net = nn.Linear(4, 1)
        opt = torch.optim.SGD(net.parameters(), lr=1.0)
        schedule = CosineAnnealingLR(opt, T_max=50)
        for _ in range(3):
            update(net, opt)
            schedule.step()
    (fact,) = seen.of(SchedulerFact)
    assert (fact.kind, fact.settings["T_max"], fact.number) == ("CosineAnnealingLR", 50.0, 1)
    assert fact.source == "schedule = CosineAnnealingLR(opt, T_max=50)"
    looks = seen.of(SchedulerLook)
    assert [(look.updates, look.count) for look in looks] == [(0, 0), (1, 1), (2, 2), (3, 3)]
    assert {look.name for look in looks} == {"schedule"}
    assert [look.last for look in looks] == [False, False, False, True]
    assert "schedule.step()" in {place.code for place in looks[0].calls}


def test_one_that_listens_to_a_number_is_met_as_well() -> None:
    with watched() as seen:
        net = nn.Linear(4, 1)
        opt = torch.optim.SGD(net.parameters(), lr=1.0)
        plateau = ReduceLROnPlateau(opt, patience=3)
        update(net, opt)
        plateau.step(1.0)
    assert [(look.updates, look.count) for look in seen.of(SchedulerLook)] == [(0, 0), (1, 1)]


def test_the_rate_before_a_warm_up_is_kept_beside_that_of_the_moment() -> None:
    with watched() as seen:
        net = nn.Linear(4, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.5)
        warm_up = LambdaLR(opt, lambda step: (step + 1) / 10)
        for _ in range(3):
            update(net, opt)
            warm_up.step()
    (fact,) = seen.of(OptimizerFact)
    assert (fact.groups[0]["lr"], fact.groups[0]["initial_lr"]) == (0.05, 0.5)
    assert fact.settings[0]["lr"] == 0.5


def test_most_steps_are_not_told() -> None:
    with watched(deep=False) as seen:
        net = nn.Linear(4, 1)
        opt = torch.optim.SGD(net.parameters(), lr=1e-3)
        schedule = StepLR(opt, 100)
        for _ in range(400):
            update(net, opt)
            schedule.step()
    looks = seen.of(SchedulerLook)
    assert 20 < len(looks) < 200
    assert looks[-1].count == 400


def test_torch_still_names_the_users_line_when_it_warns() -> None:
    with watched(), warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        opt = torch.optim.SGD(nn.Linear(4, 1).parameters(), lr=1.0)
        StepLR(opt, 10).step()
    assert [warning.filename for warning in said] == [__file__]
