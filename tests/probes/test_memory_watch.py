from __future__ import annotations

import gc
import weakref
from collections import deque
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional

from benchmarks.memory_categories import Ledger
from tests.probes.watching import watched
from torch_debugger.records import MemoryFact, MemoryLook

BEFORE, AFTER = "before backward", "after the update"


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.tokens = nn.Embedding(50, 32)
        self.block = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.BatchNorm1d(64), nn.Linear(64, 32))
        self.head = nn.Linear(32, 50, bias=False)
        self.head.weight = self.tokens.weight

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out: torch.Tensor = self.head(self.block(self.tokens(x)))
        return out


def at(looks: list[MemoryLook], moment: str) -> MemoryLook:
    return [look for look in looks if look.moment == moment][-1]


def test_the_categories_are_all_the_bytes_that_live() -> None:
    counted = {}
    with watched() as seen, Ledger() as ledger:
        net = Net()
        optimizer = torch.optim.Adam(net.parameters())
        for _ in range(3):
            x, y = torch.randint(0, 50, (64,)), torch.randint(0, 50, (64,))
            optimizer.zero_grad()
            output = net(x)
            loss = functional.cross_entropy(output, y)
            counted[BEFORE] = ledger.now
            loss.backward()
            optimizer.step()
            counted[AFTER] = ledger.now
    looks = seen.of(MemoryLook)
    for moment, alive in counted.items():
        assert at(looks, moment).used_bytes == pytest.approx(alive, rel=0.02), moment
    before, after = at(looks, BEFORE).parts, at(looks, AFTER).parts
    weights = sum(parameter.nbytes for parameter in net.parameters())  # the tied one once
    assert before["parameters"] == after["parameters"] == after["gradients"] == weights
    assert "gradients" not in before
    assert 2 * weights <= after["optimizer state"] <= 2 * weights + 200
    assert before["inputs"] == 64 * 8
    assert before["activations"] > 64 * 64 * 4


def test_activations_are_told_by_the_module_that_keeps_them() -> None:
    with watched() as seen:
        net = Net()
        _trained(net, steps=1)
    sizes = {part.path: part.size_bytes for part in at(seen.of(MemoryLook), BEFORE).modules}
    assert sizes["net.block.0"] == 64 * 32 * 4, "what the embedding gave, which Linear keeps"
    assert sizes["net.block.1"] == 64 * 64 * 4, "the ReLU's own output"


def _trained(net: nn.Module, steps: int) -> list[torch.Tensor]:
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    losses = []
    for _ in range(steps):
        x, y = torch.randint(0, 50, (64,)), torch.randint(0, 50, (64,))
        optimizer.zero_grad()
        loss = functional.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return losses


def test_what_variables_keep_from_step_to_step_is_told_by_name() -> None:
    features: list[torch.Tensor] = []
    recent: deque[torch.Tensor] = deque(maxlen=50)
    fixed = torch.zeros(1000)
    with watched() as seen:
        net = nn.Linear(16, 512)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(20):
            out = net(torch.randn(128, 16))
            loss = out.square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            features.append(out.detach().clone())
            recent.append(loss.detach().clone())
    look = at(seen.of(MemoryLook), BEFORE)
    held = {each.name: each for each in look.variables}
    assert (held["features"].count, held["features"].size_bytes) == (19, 19 * 128 * 512 * 4)
    assert held["features"].grown and held["features"].since == 2
    assert held["features"].added == "out.detach().clone()"
    assert not held["recent"].grown, "it will not grow beyond its length"
    assert not held["fixed"].grown and held["fixed"].size_bytes == fixed.nbytes
    assert look.parts["kept from earlier steps"] == pytest.approx(18 * 128 * 512 * 4, rel=0.01)


def test_a_graph_of_an_earlier_step_is_kept_from_earlier_steps() -> None:
    with watched() as seen:
        net = nn.Sequential(nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 64))
        optimizer = torch.optim.SGD(net.parameters(), lr=0.0)
        kept: list[torch.Tensor] = []
        for _ in range(6):
            kept.append(net(torch.randn(32, 64)).mean())  # its graph is never used
            loss = net(torch.randn(32, 64)).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    look = at(seen.of(MemoryLook), BEFORE)
    one_graph = 2 * 32 * 64 * 4  # the input of the first layer, the output of Tanh
    assert look.parts["kept from earlier steps"] >= 3 * one_graph


def test_saved_tensor_hooks_are_never_run_for_a_look() -> None:
    unpacked = []

    def unpack(tensor: torch.Tensor) -> torch.Tensor:
        unpacked.append(tensor)
        return tensor

    with watched() as seen:
        net = nn.Sequential(nn.Linear(8, 8), nn.Tanh())
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(3):
            with torch.autograd.graph.saved_tensors_hooks(lambda tensor: tensor, unpack):
                loss = net(torch.randn(4, 8)).square().mean()
            before = len(unpacked)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            assert len(unpacked) - before == 3, "by backward alone"
    assert not at(seen.of(MemoryLook), BEFORE).whole


def test_nothing_is_kept_alive() -> None:
    with watched():
        net = Net()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(3):
            x = torch.randint(0, 50, (64,))
            loss = net(x).square().mean()
            loss.backward()
            optimizer.step()
        last: Any = weakref.ref(x)
        del x, loss
        gc.collect()
        assert last() is None


def test_the_process_is_told_too_and_rarely() -> None:
    with watched() as seen:
        _trained(Net(), steps=20)
    facts = seen.of(MemoryFact)
    assert 1 <= len(facts) < 20 and facts[0].resident_bytes > 10_000_000
