"""The parameter ledger: registered, trainable, held, used, reached, changed, for every parameter."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from tests.probes.watching import Seen, watched
from torch_debugger.probes.model.parameters import gradient_state
from torch_debugger.records import LedgerFact, LedgerRow, UnreachedPart


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.used = nn.Linear(4, 4)
        self.unused = nn.Linear(4, 4)
        self.frozen = nn.Linear(4, 4).requires_grad_(False)
        self.detached = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.used(self.frozen(x)) + self.detached(x).detach()


def row(seen: Seen, name: str) -> LedgerRow:
    return {each.name: each for each in seen.of(LedgerFact)[-1].rows}[name]


def train(net: nn.Module, parameters: Any, steps: int = 3, rate: float = 0.1) -> None:
    torch.manual_seed(0)
    x = torch.randn(8, 4)
    optimizer = torch.optim.SGD(parameters, lr=rate)
    for _ in range(steps):
        optimizer.zero_grad()
        net(x).pow(2).mean().backward()
        optimizer.step()


def test_every_parameter_has_its_row() -> None:
    with watched() as seen:
        net = Net()
        train(net, net.parameters())
    fact = seen.of(LedgerFact)[-1]
    assert (fact.root, fact.optimizers) == ("net", ("optimizer",))
    assert [each.name for each in fact.rows] == [f"net.{name}" for name, _ in net.named_parameters()]
    assert all(each.registered and each.in_optimizer for each in fact.rows)
    assert {each.elements for each in fact.rows} == {4, 16}


def test_what_became_of_each() -> None:
    with watched() as seen:
        net = Net()
        train(net, net.parameters())
    state = {
        part: (each.trainable, each.used, each.gradient, each.changed)
        for part in ("used", "unused", "frozen", "detached")
        for each in [row(seen, f"net.{part}.weight")]
    }
    assert state == {
        "used": (True, True, "nonzero", True),
        "unused": (True, False, "none", None),
        "frozen": (False, True, "none", None),
        "detached": (True, True, "none", None),
    }


def test_a_parameter_no_optimizer_holds() -> None:
    with watched() as seen:
        net = Net()
        train(net, net.used.parameters())
    assert row(seen, "net.used.weight").in_optimizer
    assert not row(seen, "net.detached.weight").in_optimizer


def test_a_step_that_changes_nothing() -> None:
    with watched() as seen:
        net = Net()
        train(net, net.parameters(), rate=0.0)
    assert row(seen, "net.used.weight").changed is False


def test_a_gradient_of_zero() -> None:
    class Zeroed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc = nn.Linear(4, 4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.fc(x) * 0.0

    with watched() as seen:
        net = Zeroed()
        train(net, net.parameters())
    assert row(seen, "net.fc.weight").gradient == "zero"


def test_a_parameter_used_without_calling_its_module() -> None:
    """F.linear(x, self.fc.weight): its gradient proves that it is used."""

    class Direct(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc = nn.Linear(4, 4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return nn.functional.linear(x, self.fc.weight)

    with watched() as seen:
        net = Direct()
        train(net, net.parameters())
    assert row(seen, "net.fc.weight").used
    assert row(seen, "net.fc.bias").used is False


def test_it_is_told_when_it_says_something_new() -> None:
    with watched() as seen:
        net = Net()
        train(net, net.parameters(), steps=20)
    assert len(seen.of(LedgerFact)) < 10


def test_tied_weights() -> None:
    with watched() as seen:
        net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))
        net[1].weight = net[0].weight
        train(net, net.parameters())
    rows = seen.of(LedgerFact)[-1].rows
    assert [each.name for each in rows] in (
        ["net.0.weight", "net.0.bias", "net.1.weight", "net.1.bias"],
        ["net.0.weight", "net.0.bias", "net.1.bias"],
    )
    assert all(each.changed for each in rows)


def test_two_models_and_two_optimizers() -> None:
    with watched() as seen:
        first, second = nn.Linear(4, 1), nn.Linear(4, 1)
        optimizers = [torch.optim.SGD(net.parameters(), lr=0.1) for net in (first, second)]
        for _ in range(3):
            for net, optimizer in zip((first, second), optimizers, strict=True):
                optimizer.zero_grad()
                net(torch.randn(3, 4)).mean().backward()
                optimizer.step()
    last = {fact.root: fact for fact in seen.of(LedgerFact)}
    assert set(last) == {"first", "second"}
    assert all(each.gradient == "nonzero" and each.changed for fact in last.values() for each in fact.rows)


def test_a_model_that_is_only_evaluated_has_no_ledger() -> None:
    with watched() as seen:
        net, teacher = nn.Linear(4, 1), nn.Linear(4, 1)
        with torch.no_grad():
            teacher(torch.randn(2, 4))
        train(net, net.parameters())
    assert {fact.root for fact in seen.of(LedgerFact)} == {"net"}


@pytest.mark.parametrize(
    ("gradient", "state"),
    [
        (None, "none"),
        (torch.zeros(3), "zero"),
        (torch.tensor([0.0, 1e-30, 0.0]), "zero-or-nonzero"),
        (torch.ones(3), "nonzero"),
        (torch.tensor([1.0, float("nan"), 0.0]), "notfinite"),
        (torch.tensor([1.0, float("inf"), 0.0]), "notfinite"),
        (torch.tensor([0.0, 2.0, 0.0]).to_sparse(), "nonzero"),
        (torch.zeros(3).to_sparse(), "zero"),
    ],
)
def test_states_of_a_gradient(gradient: torch.Tensor | None, state: str) -> None:
    parameter = nn.Parameter(torch.ones(3))
    parameter.grad = gradient
    if state == "zero-or-nonzero":
        assert gradient_state(parameter) in ("zero", "nonzero")  # its square is below what float32 holds
    else:
        assert gradient_state(parameter) == state


class Encoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Linear(4, 2)

    @torch.no_grad()
    def encode(self, x: torch.Tensor) -> torch.Tensor:
        return self.body(x)  # type: ignore[no-any-return]


def test_a_model_that_an_optimizer_waits_for_and_that_runs_without_gradients() -> None:
    with watched() as seen:
        head, encoder = nn.Linear(2, 1), Encoder()
        opt = torch.optim.SGD([*head.parameters(), *encoder.parameters()], lr=0.1)
        for _ in range(8):
            opt.zero_grad()
            head(encoder.encode(torch.randn(5, 4))).pow(2).mean().backward()
            opt.step()
    part = seen.of(UnreachedPart)[-1]
    assert (part.part, part.reason, part.cut.code) == ("body", "no grad", "@torch.no_grad()")
