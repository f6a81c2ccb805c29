"""Modules that forward calls although nobody registered them."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import pytest
import torch
from torch import nn

from tests.probes.watching import watched
from torch_debugger.records import ModuleFact, StrayModuleFact, TensorRows


def layer() -> nn.Linear:
    return nn.Linear(4, 4)


HIDDEN: dict[str, tuple[Any, str, str, int]] = {
    "list": (lambda: [layer(), layer()], "list", "[1]", 2),
    "tuple": (lambda: (layer(), layer()), "tuple", "[1]", 2),
    "dict": (lambda: {"a": layer(), "b": layer()}, "dict", "['b']", 2),
    "ordered dict": (lambda: OrderedDict(a=layer(), b=layer()), "dict", "['b']", 2),
    "list of lists": (lambda: [[layer()], [layer()]], "list", "[1]", 2),
    "dict of lists": (lambda: {"a": [layer()], "b": [layer()]}, "dict", "['b']", 2),
}


def last_of(value: Any) -> nn.Module:
    while not isinstance(value, nn.Module):
        value = list(value.values() if isinstance(value, dict) else value)[-1]
    return value


class Net(nn.Module):
    def __init__(self, hidden: Any) -> None:
        super().__init__()
        self.first = layer()
        self.layers = hidden

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return last_of(self.layers)(self.first(x))


@pytest.mark.parametrize("name", HIDDEN)
def test_hidden_in(name: str) -> None:
    make, container, key, count = HIDDEN[name]
    with watched() as seen:
        net = Net(make())
        net(torch.randn(2, 4))
        net(torch.randn(2, 4))
    [fact] = seen.of(StrayModuleFact)
    assert (fact.owner, fact.attribute, fact.container) == ("net", "layers", container)
    assert (fact.kinds, fact.parameters, fact.in_optimizer) == (("Linear",) * count, 20 * count, 0)
    assert fact.place.code == "self.layers = hidden"
    rows = [record.table.names for record in seen.of(TensorRows) if record.table.kind == "activation"]
    assert rows == [("net.first", f"net.layers{key}", "net")]


def test_a_private_attribute_hides_them_too() -> None:
    class Private(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self._layers = [layer()]

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self._layers[0](x)

    with watched() as seen:
        net = Private()
        net(torch.randn(2, 4))
    assert [fact.attribute for fact in seen.of(StrayModuleFact)] == ["_layers"]


def test_registered_ones_are_no_strays() -> None:
    class Registered(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.ModuleList([layer()])
            self.same = [self.layers[0]]
            self.named = nn.ModuleDict({"a": layer()})
            self.chain = nn.Sequential(layer(), nn.ReLU())

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.chain(self.named["a"](self.same[0](x)))

    with watched() as seen:
        net = Registered()
        net(torch.randn(2, 4))
    assert seen.of(StrayModuleFact) == []


def test_those_that_an_optimizer_holds_are_counted() -> None:
    with watched() as seen:
        net = Net([layer()])
        optimizer = torch.optim.SGD([*net.parameters(), *net.layers[0].parameters()], lr=0.1)
        for _ in range(2):
            optimizer.zero_grad()
            net(torch.randn(2, 4)).sum().backward()
            optimizer.step()
    assert [fact.in_optimizer for fact in seen.of(StrayModuleFact)] == [2]


def test_told_again_when_an_optimizer_takes_them() -> None:
    with watched() as seen:
        net = Net([layer()])
        net(torch.randn(2, 4))
        optimizer = torch.optim.SGD([*net.parameters(), *net.layers[0].parameters()], lr=0.1)
        net(torch.randn(2, 4)).sum().backward()
        optimizer.step()
        net(torch.randn(2, 4))
    assert [fact.in_optimizer for fact in seen.of(StrayModuleFact)][:1] == [0]


def test_a_module_made_on_the_fly_belongs_to_nobody() -> None:
    class Fly(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return nn.Linear(4, 2)(x)

    with watched() as seen:
        net = Fly()
        net(torch.randn(2, 4))
    assert seen.of(StrayModuleFact) == []
    assert not [module for module in seen.of(ModuleFact) if "<" in module.path]
