"""The optimizers: what they hold, where they were made, also those from before the watch."""

from __future__ import annotations

import gc

import pytest
import torch
from torch import nn

from tests.probes.watching import watched
from torch_debugger.probes.schedule import NONE
from torch_debugger.records import EndFact, OptimizerFact, SchedulerFact, TensorRows


def step(net: nn.Module, *optimizers: torch.optim.Optimizer) -> None:
    for optimizer in optimizers:
        optimizer.zero_grad()
        net(torch.ones(2, 4)).pow(2).mean().backward()
        optimizer.step()


def test_what_is_told_of_an_optimizer() -> None:
    with watched() as seen:
        net = nn.Linear(4, 1)
        opt = torch.optim.Adam(net.parameters(), lr=0.01, betas=(0.5, 0.9), eps=0.1)
        for _ in range(3):
            opt.zero_grad()
            net(torch.ones(2, 4)).pow(2).mean().backward()
            opt.step()
    [fact] = seen.of(OptimizerFact)
    assert (fact.name, fact.kind, fact.parameters) == ("opt", "Adam", ("net.weight", "net.bias"))
    expected = {"lr": 0.01, "beta1": 0.5, "beta2": 0.9, "eps": 0.1}
    assert {key: fact.groups[0][key] for key in expected} == expected
    assert fact.place.code == "opt = torch.optim.Adam(net.parameters(), lr=0.01, betas=(0.5, 0.9), eps=0.1)"
    assert seen.scalars("lr/0") == {1: 0.01, 2: 0.01, 3: 0.01}


def test_one_from_before_the_watch() -> None:
    net = nn.Linear(4, 1)
    opt = torch.optim.SGD(net.parameters(), lr=0.5)
    with watched() as seen:
        for _ in range(4):
            opt.zero_grad()
            net(torch.ones(2, 4)).pow(2).mean().backward()
            opt.step()
    [fact] = seen.of(OptimizerFact)
    assert (fact.name, fact.place.code) == ("opt", "opt = torch.optim.SGD(net.parameters(), lr=0.5)")
    assert [(end.steps, end.counted) for end in seen.of(EndFact)] == [(4, "optimizer steps")]


def test_one_whose_maker_is_out_of_sight() -> None:
    net = nn.Linear(4, 1)
    made = torch.optim.SGD(net.parameters(), lr=0.5)
    with watched() as seen:
        step(net, made)
    [fact] = seen.of(OptimizerFact)
    assert fact.place.file is None
    assert fact.source == ""


def test_one_from_before_the_watch_that_no_variable_leads_to() -> None:
    """Its first backward is no step of its own: an optimizer for this model exists somewhere."""
    net = nn.Linear(4, 1)
    hidden = [[[torch.optim.SGD(net.parameters(), lr=0.01)]]]
    with watched() as seen:
        for _ in range(4):
            net(torch.ones(2, 4)).pow(2).mean().backward()
            hidden[0][0][0].step()
    assert [(end.steps, end.counted) for end in seen.of(EndFact)] == [(4, "optimizer steps")]


def test_two_from_before_the_watch_make_steps_together() -> None:
    net = nn.Linear(4, 1)
    first, second = (torch.optim.SGD(net.parameters(), lr=0.01) for _ in range(2))
    with watched() as seen:
        for _ in range(3):
            step(net, first, second)
    assert [end.steps for end in seen.of(EndFact)] == [3]


def test_one_that_nobody_uses_any_more_is_not_waited_for() -> None:
    """A notebook keeps old ones alive; no variable of the loop leads to them."""
    net = nn.Linear(4, 1)
    holder = {"deep": [[torch.optim.SGD(net.parameters(), lr=0.01)]]}

    def loop() -> list[EndFact]:
        with watched() as seen:
            opt = torch.optim.SGD(net.parameters(), lr=0.01)
            for _ in range(5):
                step(net, opt)
        return seen.of(EndFact)

    assert [end.steps for end in loop()] == [5]
    assert holder


def test_an_optimizer_is_not_kept_alive() -> None:
    with watched() as seen:
        net = nn.Linear(4, 1)
        for _ in range(3):
            opt = torch.optim.SGD(net.parameters(), lr=0.01)
            step(net, opt)
        del opt
        gc.collect()
        assert seen.plumbing.optimizers.live() == []


def test_two_with_names_of_their_own() -> None:
    with watched() as seen:
        net = nn.Linear(4, 1)
        opt_a, opt_b = (torch.optim.SGD(net.parameters(), lr=rate) for rate in (0.1, 0.2))
        net(torch.ones(2, 4)).pow(2).mean().backward()
        opt_a.step()
        opt_b.step()
    assert [fact.name for fact in seen.of(OptimizerFact)] == ["opt_a", "opt_b"]
    assert seen.scalars("lr/opt_a/0") == {1: 0.1}
    assert seen.scalars("lr/opt_b/0") == {1: 0.2}


def test_norms_and_updates_against_the_slow_way() -> None:
    with watched() as seen:
        torch.manual_seed(0)
        net = nn.Linear(4, 3)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        before = [parameter.detach().clone() for parameter in net.parameters()]
        opt.zero_grad()
        net(torch.randn(5, 4)).pow(2).mean().backward()
        gradients = [parameter.grad.clone() for parameter in net.parameters() if parameter.grad is not None]
        opt.step()
    rows = {record.table.kind: record for record in seen.of(TensorRows)}
    table = rows["parameter"]
    assert table.table.names == ("net.weight", "net.bias")
    assert table.column("grad_norm") == pytest.approx([float(g.double().norm()) for g in gradients], rel=1e-5)
    assert table.column("weight_norm") == pytest.approx([float(p.double().norm()) for p in before], rel=1e-5)
    assert table.column("elements") == [12.0, 3.0]
    pairs = zip(gradients, before, strict=True)
    ratios = [0.1 * float(g.double().norm() / p.double().norm()) for g, p in pairs]
    assert rows["update"].column("ratio") == pytest.approx(ratios, rel=1e-4)
    total = sum(float(g.double().norm()) ** 2 for g in gradients) ** 0.5
    assert seen.scalars("grad_norm")[1] == pytest.approx(total, rel=1e-5)


def test_a_scheduler_and_its_rates() -> None:
    with watched() as seen:
        net = nn.Linear(4, 1)
        opt = torch.optim.SGD(net.parameters(), lr=1.0)
        scheduler = torch.optim.lr_scheduler.StepLR(opt, 1, gamma=0.5)
        for _ in range(3):
            step(net, opt)
            scheduler.step()
    assert [fact.kind for fact in seen.of(SchedulerFact)] == ["StepLR"]
    assert seen.scalars("lr/0") == {1: 1.0, 2: 0.5, 3: 0.25}
    assert len(seen.of(OptimizerFact)) == 1


def test_a_parameter_group_that_comes_later() -> None:
    with watched() as seen:
        net, head = nn.Linear(4, 1), nn.Linear(4, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        step(net, opt)
        opt.add_param_group({"params": head.parameters(), "lr": 0.2})
        step(net, opt)
    assert [len(fact.parameters) for fact in seen.of(OptimizerFact)] == [2, 4]


def test_what_optimizers_hold_is_known_of_steps_that_are_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    with watched() as seen:
        net, head = nn.Linear(4, 1), nn.Linear(4, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        step(net, opt)
        monkeypatch.setattr(seen.plumbing.watch.governor, "choose", lambda step: NONE)
        step(net, opt)
        opt.add_param_group({"params": head.parameters(), "lr": 0.2})
        other = torch.optim.SGD(head.parameters(), lr=0.1)
        step(net, opt)
        step(net, other)
    told = [(fact.name, len(fact.parameters), fact.step) for fact in seen.of(OptimizerFact)]
    assert told == [("optimizer", 2, 1), ("optimizer", 4, 3), ("optimizer_2", 2, 4)]


def test_the_constructor_keeps_its_face() -> None:
    import inspect

    plain = inspect.signature(torch.optim.Optimizer.__init__)
    with watched():
        assert inspect.signature(torch.optim.Optimizer.__init__) == plain


def test_what_the_constructor_raises_is_the_users() -> None:
    with watched(), pytest.raises(ValueError, match="Invalid learning rate"):
        torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=-1.0)
