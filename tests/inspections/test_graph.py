"""The autograd graph as text and as a drawing: names, shapes, cuts; no two boxes touch."""

from __future__ import annotations

import gc
import itertools
import warnings
import weakref
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

import torch_debugger
from tests.inspections.models import NAMES, build
from tests.untouched_models import model_untouched
from torch_debugger.pictures import autograd_graph as graph_boxes
from torch_debugger.pictures.autograd_graph import (
    MOST_BOXES,
    Graph,
    Operation,
    OperationBox,
    _size,
    boxes_of,
    graph,
    links_of,
)
from torch_debugger.report.graph_layout import GAP_X, box_size, lay_out
from torch_debugger.system.errors import UsageError

SVG = "{http://www.w3.org/2000/svg}"


def nodes_by_hand(tensor: torch.Tensor) -> set[Any]:
    """By recursion, without any of our names."""
    found: set[Any] = set()

    def walk(node: Any) -> None:
        if node is not None and node not in found:
            found.add(node)
            for operand, _ in node.next_functions:
                walk(operand)

    walk(tensor.grad_fn)
    return found


@pytest.mark.parametrize("name", NAMES)
def test_every_operation_and_leaf_is_there(name: str) -> None:
    model, inputs, keywords, loss = build(name)
    value = loss(model(*inputs, **keywords))
    with model_untouched(model):
        found = graph(value, model=model)
    nodes = nodes_by_hand(value)
    leaves = {id(node.variable) for node in nodes if hasattr(node, "variable")}
    expected = {path for path, each in model.named_parameters() if id(each) in leaves}
    assert set(found.leaves) == expected
    turned = sum(node.name() in ("TBackward0", "TransposeBackward0", "ToCopyBackward0") for node in nodes)
    operations = [node for node in nodes if not hasattr(node, "variable")]
    assert len(operations) - turned <= len(found.operations) <= len(operations)
    for place, operation in enumerate(found.operations):
        assert all(operand < place for operand in operation.operands), "producers come first"
    value.backward()
    assert len(graph(value, model=model).operations) == len(found.operations), "also after backward"


def test_text() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    x, labels = torch.randn(3, 4), torch.tensor([0, 1, 1])
    loss = F.cross_entropy(model(x), labels)
    assert str(graph(loss)).splitlines() == [
        "graph of `loss`: 5 operations, 4 leaves",
        "1  Addmm       [3, 8]    0.bias [8], 0.weight [8, 4], x [3, 4] (no gradient)",
        "2  Relu        [3, 8]",
        "3  Addmm       [3, 2]    2.bias [2], 2.weight [2, 8]",
        "4  LogSoftmax  [3, 2]",
        "5  NllLoss     []",
    ]


def test_where_an_operation_takes_more_than_the_line_above() -> None:
    w = torch.ones(2, requires_grad=True)
    a = w * 2
    total = (a.exp() + a.sin()).sum()
    lines = str(graph(total)).splitlines()[1:]
    assert lines == [
        "1  Mul  [2]           w [2]",
        "2  Exp  [2]",
        "3  Sin  [2]  of 1",
        "4  Add  [2]  of 2, 3",
        "5  Sum  []",
    ]


def test_a_cut_is_seen() -> None:
    enc, head = nn.Linear(4, 4), nn.Linear(4, 2)
    model = nn.ModuleDict({"enc": enc, "head": head})
    hidden = enc(torch.ones(3, 4)).detach()
    loss = head(hidden).sum()
    found = graph(loss, model=model)
    assert found.unreached == ("enc.weight", "enc.bias")
    assert found.operations[0].without_gradient == ("hidden [3, 4]",)
    assert str(found).splitlines()[-1] == "not in this graph: `enc.weight`, `enc.bias`"
    assert "hidden [3, 4]" in found.to_svg() and "not in this graph: `enc.weight`" in found.to_svg()
    added = hidden + head.bias.sum()
    assert graph(added).operations[-1].without_gradient == ("constant or detached",)


def test_names_from_everywhere() -> None:
    netG, netD = nn.Linear(2, 2, bias=False), nn.Linear(2, 1, bias=False)
    noise = torch.ones(1, 2, requires_grad=True)
    loss_g = netD(netG(noise)).sum()
    assert set(graph(loss_g).leaves) == {"netG.weight", "netD.weight", "noise"}
    assert graph(loss_g).name == "loss_g"
    assert set(graph(loss_g, model=netG).leaves) == {"weight", "netD.weight", "noise"} - {"netD.weight"}
    assert "z" in graph(loss_g, names={"z": noise}).leaves
    assert torch_debugger.graph(loss_g).name == "loss_g"


def test_other_models_in_reach_are_not_missed() -> None:
    used, unused = nn.Linear(2, 2), nn.Linear(2, 2)
    assert graph(used(torch.ones(1, 2)).sum()).unreached == ()
    assert unused.weight.grad is None


@pytest.mark.parametrize("grad", [True, False])
def test_no_graph(grad: bool) -> None:
    value = torch.ones(3, requires_grad=grad)
    found = graph(value)
    reason = "it is a leaf, made by no operation." if grad else "it does not require a gradient. It was made under"
    assert str(found).startswith(f"`value` has no graph: {reason}")
    assert "has no graph" in found.to_svg()
    with pytest.raises(UsageError, match=r"^graph\(\) takes a tensor, but got float\.$"):
        graph(3.0)  # type: ignore[arg-type]


def test_nothing_is_held_and_nothing_runs() -> None:
    model = nn.Linear(4, 4)
    calls: list[int] = []
    model.register_forward_pre_hook(lambda *_: calls.append(1))
    loss = checkpoint(model, torch.ones(2, 4), use_reentrant=False).sum()
    found = graph(loss)
    assert calls == [1], "a checkpointed block was run again"
    node = weakref.ref(loss.grad_fn) if hasattr(loss.grad_fn, "__weakref__") else None
    gone = weakref.ref(loss)
    del loss
    gc.collect()
    assert gone() is None and (node is None or node() is None)
    assert len(found.operations) == 2


def test_thousands_of_operations_in_a_row() -> None:
    """Deeper than Python's stack."""
    x = w = torch.ones(2, requires_grad=True)
    for _ in range(5000):
        x = x * 1.0001
    found = graph(x, names={"w": w})
    assert len(found.operations) == 5000
    assert str(found).splitlines()[1] == "... 4,000 operations before these"
    assert "5,000 operations are drawn as 79 boxes: neighbours share one" in found.to_svg()


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return x * 2

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        return grad * 2


def test_functions_of_the_users_own() -> None:
    w = torch.ones(2, requires_grad=True)
    total = Doubled.apply(w).sum()
    assert str(graph(total)).splitlines() == [
        "graph of `total`: 2 operations, 1 leaf", "1  Doubled  [2]    w [2]", "2  Sum      []"
    ]  # fmt: skip


def test_nested_tensors() -> None:
    w = torch.ones(3, requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch says that nested tensors are a prototype
        for layout in (torch.strided, torch.jagged):
            nested = torch.nested.as_nested_tensor([w[:2] * 1, w * 2], layout=layout)
            assert graph(nested).leaves == ("w",)
            assert "w [3]" in str(graph(nested))


def test_a_graph_too_large_to_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch_debugger.pictures.autograd_graph.MOST_NODES", 10)
    x = torch.ones(2, requires_grad=True)
    for _ in range(50):
        x = x.sin()
    found = graph(x)
    assert not found.complete and "and more that were not read" in str(found)
    found.to_svg()


# Drawings


def drawn(found: Graph) -> ElementTree.Element:
    return ElementTree.fromstring(found.to_svg())


def unet(depth: int) -> torch.Tensor:
    x = torch.ones(1, 2, 32, 32, requires_grad=True)
    kept = []
    for _ in range(depth):
        x = F.relu(F.max_pool2d(x, 2) * 2)
        kept.append(x)
    for skip in reversed(kept):
        x = F.interpolate(torch.cat([x, skip], 1), scale_factor=2)[:, :2]
    return x.sum()


def dense() -> torch.Tensor:
    made = [torch.ones(2, requires_grad=True)]
    for _ in range(12):
        made.append(torch.stack(made).sum(0).sin())
    return made[-1].sum()


def transformer() -> torch.Tensor:
    torch.manual_seed(0)
    return nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2)(torch.randn(2, 3, 8)).sum()


DRAWINGS = {"unet": lambda: unet(4), "dense": dense, "transformer": transformer, "cells": lambda: cells(9)}


def cells(steps: int) -> torch.Tensor:
    torch.manual_seed(0)
    cell, h, c = nn.LSTMCell(3, 3), torch.zeros(2, 3), torch.zeros(2, 3)
    for _ in range(steps):
        h, c = cell(torch.ones(2, 3), (h, c))
    return h.sum()


@pytest.mark.parametrize("name", DRAWINGS)
def test_no_two_boxes_touch_and_no_edge_crosses_one(name: str) -> None:
    boxes = boxes_of(graph(DRAWINGS[name]()).operations)
    layout = lay_out([box_size(*_size(box)) for box in boxes], links_of(boxes))
    spots = layout.spots[: len(boxes)]
    for one, other in itertools.combinations(spots, 2):
        apart = abs(one.x - other.x) - (one.width + other.width) / 2
        above, below = sorted((one, other), key=lambda spot: spot.y)
        assert apart > GAP_X - 1e-6 or above.y + above.height < below.y, (one, other)
    for way in layout.ways:
        heights = [layout.spots[index].y for index in way]
        assert heights == sorted(heights), "edges lead down"
    for bend in layout.spots[len(boxes) :]:  # straight where boxes stand beside it
        beside = [spot for spot in spots if spot.row == bend.row]
        assert all(abs(bend.x - spot.x) > spot.width / 2 for spot in beside)
        assert all(bend.y <= spot.y and spot.y + spot.height <= bend.y + bend.height for spot in beside)
    assert all(spot.x - spot.width / 2 >= -1e-6 and spot.x + spot.width / 2 <= layout.width + 1e-6 for spot in spots)


@pytest.mark.parametrize("name", DRAWINGS)
def test_all_operations_and_ways_are_drawn(name: str) -> None:
    found = graph(DRAWINGS[name]())
    root = drawn(found)
    boxes = [group for group in root.iter(f"{SVG}g") if group.get("class")]
    assert sum(group.get("class") != "constant" for group in boxes) == len(found.operations)
    edges = [path for path in root.iter(f"{SVG}path") if "edge" in (path.get("class") or "")]
    constants = sum(len(operation.without_gradient) for operation in found.operations)
    assert len(edges) == sum(len(operation.operands) for operation in found.operations) + constants


def reachable(boxes: list[OperationBox]) -> Iterator[tuple[int, int]]:
    yield from ((operand, user) for user, box in enumerate(boxes) for operand in box.operands)


@pytest.mark.parametrize("make", [lambda: unet(5), dense, transformer, lambda: cells(60)], ids=["u", "d", "t", "c"])
@pytest.mark.parametrize("most", [5, 20])
def test_too_many_operations_share_boxes(make: Any, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    operations = graph(make()).operations
    monkeypatch.setattr(graph_boxes, "MOST_BOXES", most)
    monkeypatch.setattr(graph_boxes, "_COLLAPSED", most)
    boxes = boxes_of(operations)
    assert len(boxes) <= most
    assert all(operand < user for operand, user in reachable(boxes)), "no box is made from a later one"
    held = sum(int(box.title.split()[0]) if " operations, " in box.title else 1 for box in boxes)
    assert held == len(operations)


def test_blocks_are_drawn_together() -> None:
    """Residual blocks: the boxes form a chain, and none ends inside a block."""
    x = w = torch.ones(2, requires_grad=True)
    for _ in range(100):
        x = x + (x.sin() + x.cos()).exp()
    boxes = boxes_of(graph(x, names={"w": w}).operations)
    assert len(boxes) <= 80
    assert [box.operands for box in boxes] == [(), *((place,) for place in range(len(boxes) - 1))]
    assert all(box.title.endswith("to Add [2]") for box in boxes)


def test_at_the_limit_each_operation_has_its_box() -> None:
    row = [Operation("Sin", (2,), (place - 1,) if place else ()) for place in range(MOST_BOXES + 1)]
    assert len(boxes_of(row[:MOST_BOXES])) == MOST_BOXES
    assert len(boxes_of(row)) == 76  # two in each


def test_text_is_escaped(tmp_path: Path) -> None:
    w = torch.ones(2, requires_grad=True)
    found = graph((w * 2).sum(), names={"<script>&\x1b[31m": w})
    file = tmp_path / "graph.svg"
    assert found.to_svg(file) == file.read_text(encoding="utf-8")
    texts = ["".join(text.itertext()) for text in ElementTree.parse(file).iter(f"{SVG}text")]
    assert "<script>&?[31m [2]" in texts
    assert "<script>" not in file.read_text(encoding="utf-8")
    assert found._repr_svg_() == found.to_svg()
