"""The autograd graph read as evidence: real graphs, nodes and shapes, saved numbers, ReLUs."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from torch_debugger.model.autograd_graph import read_nodes
from torch_debugger.probes.loss_graph import local_tensors, read_rectifiers
from torch_debugger.records import AutogradNode


def names_of(model: nn.Module) -> dict[int, str]:
    return {id(parameter): f"net.{name}" for name, parameter in model.named_parameters()}


def graph(loss: torch.Tensor, model: nn.Module | None = None, limit: int = 64) -> list[AutogradNode]:
    nodes, _ = read_nodes(loss.grad_fn, names_of(model) if model else {}, limit)
    return list(nodes)


def test_nodes_from_the_loss_to_the_parameters() -> None:
    net = nn.Linear(4, 3)
    loss = F.cross_entropy(net(torch.randn(5, 4)), torch.zeros(5, dtype=torch.long))
    nodes = graph(loss, net)
    leaf = "torch::autograd::AccumulateGrad"
    assert [node.op for node in nodes] == ["NllLoss", "LogSoftmax", "Addmm", leaf, "T", leaf]
    assert [node.shape for node in nodes] == [(), (5, 3), (5, 3), (3,), (4, 3), (3, 4)]
    assert [node.parameter for node in nodes] == [None, None, None, "net.bias", None, "net.weight"]


def test_operands_by_number_and_none_for_those_without_gradient() -> None:
    net = nn.Linear(4, 1)
    loss = (net(torch.randn(5, 4)) - torch.randn(5)).pow(2).mean()
    nodes = graph(loss, net)
    mean, power, difference = nodes[:3]
    assert (mean.op, power.op, difference.op) == ("Mean", "Pow", "Sub")
    assert (mean.inputs, power.inputs) == ((1,), (2,))
    assert difference.inputs[1] is None
    assert nodes[difference.inputs[0] or 0].shape == (5, 1)
    assert difference.shape == (5, 5)


@pytest.mark.parametrize(
    ("loss", "saved"),
    [
        (lambda y: F.softmax(y, dim=-1).sum(), {"dim": -1}),
        (lambda y: F.softmax(y, dim=1).sum(), {"dim": 1}),
        (lambda y: F.log_softmax(y, dim=-2).sum(), {"dim": -2}),
        (lambda y: F.mse_loss(y, torch.zeros(5, 3)), {"reduction": "mean"}),
        (lambda y: F.mse_loss(y, torch.zeros(5, 3), reduction="sum"), {"reduction": "sum"}),
        (lambda y: F.mse_loss(y, torch.zeros(5, 3), reduction="none").sum(), {"reduction": "none"}),
        (
            lambda y: F.nll_loss(y, torch.zeros(5, dtype=torch.long), ignore_index=-7),
            {"reduction": "mean", "ignore_index": -7},
        ),
        (lambda y: torch.sub(y, 1.0, alpha=3).sum(), {"alpha": 3}),
    ],
    ids=["last", "one", "negative", "mean", "sum", "none", "ignore", "alpha"],
)
def test_saved_numbers(loss: Any, saved: dict[str, float | str]) -> None:
    made = loss(torch.randn(5, 3, requires_grad=True))
    found = [node.saved for node in graph(made) if set(saved) <= set(node.saved)]
    assert found
    assert {key: found[0][key] for key in saved} == saved


def test_a_graph_that_is_longer_than_the_limit() -> None:
    value = torch.ones(3, requires_grad=True)
    made = value
    for _ in range(100):
        made = made * 2
    nodes, truncated = read_nodes(made.sum().grad_fn, {}, limit=10)
    assert (len(nodes), truncated) == (10, True)
    assert nodes[-1].inputs == (10, None)
    nodes, truncated = read_nodes(made.sum().grad_fn, {}, limit=200)
    assert (len(nodes), truncated) == (102, False)


def test_a_node_shared_by_two_is_one_node() -> None:
    value = torch.ones(3, requires_grad=True)
    shared = value.exp()
    nodes = graph((shared * shared + shared).sum())
    assert [node.op for node in nodes].count("Exp") == 1


def test_reading_leaves_the_graph_whole() -> None:
    net = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 1))
    loss = net(torch.randn(5, 4)).mean()
    graph(loss, net)
    read_rectifiers(loss.grad_fn, names_of(net))
    loss.backward()
    assert all(parameter.grad is not None for parameter in net.parameters())


# Rectifiers


def dead_units(model: nn.Module, x: torch.Tensor) -> list[tuple[str, int, int, float]]:
    looks = read_rectifiers(model(x).sum().grad_fn, names_of(model))
    return [(each.source, each.units, each.samples, each.counts[0].item()) for each in looks]


@torch.no_grad()
def kill(layer: nn.Linear | nn.Conv2d | nn.Conv1d, units: int) -> None:
    """These first units of a layer give less than zero whatever comes in."""
    layer.weight[:units] = 0.0
    assert layer.bias is not None
    layer.bias[:units] = -1.0
    layer.weight[units:] = 0.1
    layer.bias[units:] = 1.0


def test_dead_units_of_a_linear_layer() -> None:
    model = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 1))
    kill(model[0], 2)
    assert dead_units(model, torch.rand(8, 4)) == [("net.0", 6, 8, 2)]


def test_dead_channels_of_a_convolution() -> None:
    model = nn.Sequential(nn.Conv2d(1, 6, 3), nn.ReLU(), nn.Flatten(), nn.Linear(6 * 36, 1))
    kill(model[0], 4)
    assert dead_units(model, torch.rand(2, 1, 8, 8)) == [("net.0", 6, 2 * 36, 4)]


def test_dead_channels_of_a_convolution_in_one_dimension() -> None:
    model = nn.Sequential(nn.Conv1d(1, 6, 3), nn.ReLU(), nn.Flatten(), nn.Linear(36, 1))
    kill(model[0], 1)
    assert dead_units(model, torch.rand(2, 1, 8)) == [("net.0", 6, 2 * 6, 1)]


def test_units_of_sequences_are_their_features() -> None:
    model = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 1))
    kill(model[0], 3)
    assert dead_units(model, torch.rand(2, 5, 4)) == [("net.0", 6, 10, 3)]


def test_between_batch_norms() -> None:
    model = nn.Sequential(nn.Conv2d(1, 6, 3), nn.BatchNorm2d(6), nn.ReLU(), nn.Flatten(), nn.Linear(6 * 36, 1))
    with torch.no_grad():
        model[1].weight[:2], model[1].bias[:2] = 0.0, -1.0
    [(source, units, _, dead)] = dead_units(model, torch.rand(2, 1, 8, 8))
    assert (source, units, dead) == ("net.1", 6, 2)


@pytest.mark.parametrize(
    "rectify", [F.relu, torch.relu, lambda x: x.relu(), lambda x: F.relu(x, inplace=True), torch.relu_],
    ids=["F.relu", "torch.relu", "method", "inplace", "relu_"],
)  # fmt: skip
def test_however_it_is_written(rectify: Any) -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc, self.out = nn.Linear(4, 6), nn.Linear(6, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.out(rectify(self.fc(x)))

    model = Net()
    kill(model.fc, 2)
    assert dead_units(model, torch.rand(8, 4)) == [("net.fc", 6, 8, 2)]


def test_in_the_order_of_the_model() -> None:
    model = nn.Sequential(*[layer for _ in range(4) for layer in (nn.Linear(4, 4), nn.ReLU())])
    assert [source for source, *_ in dead_units(model, torch.rand(3, 4))] == [
        "net.0",
        "net.2",
        "net.4",
        "net.6",
    ]


def test_a_relu_of_no_layer_is_left_out() -> None:
    value = torch.randn(3, 4, requires_grad=True)
    assert read_rectifiers(value.relu().sum().grad_fn, {}) == []


def test_an_empty_batch_is_left_out() -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
    assert dead_units(model, torch.rand(0, 4)) == []


def test_the_share_of_zeros() -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 1))
    kill(model[0], 1)
    [look] = read_rectifiers(model(torch.rand(8, 4)).sum().grad_fn, names_of(model))
    record = look.record(*look.counts.tolist(), step=7)
    assert (record.name, record.dead_units, record.zeros, record.step) == ("relu after net.0", 1, 0.25, 7)


# Local variables


def test_tensors_of_a_frame() -> None:
    def frame(pred: torch.Tensor, target: torch.Tensor, other: str) -> FrameType:
        return sys._getframe()

    held = frame(torch.zeros(4, 1), torch.zeros(4, dtype=torch.long), "text")
    found = {each.name: (each.shape, each.dtype) for each in local_tensors(held)}
    assert found == {"pred": ((4, 1), "float32"), "target": ((4,), "int64")}
    assert local_tensors(None) == ()


def test_what_is_freed_or_overwritten_is_left_alone() -> None:
    layer = nn.Linear(3, 4)
    made = torch.relu(layer(torch.randn(2, 3)))
    made += 1
    loss = made.sum()
    names = {id(layer.weight): "fc.weight", id(layer.bias): "fc.bias"}
    assert read_rectifiers(loss.grad_fn, names) == []
    again = torch.relu(layer(torch.randn(2, 3))).sum()
    again.backward()
    assert read_rectifiers(again.grad_fn, names) == []
