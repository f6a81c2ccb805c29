"""Loss graphs written as short chains, the way autograd gives them."""

from __future__ import annotations

from tests.fakes import place
from torch_debugger.records import AutogradNode, LocalTensor, LossGraph, Place

Shape = tuple[int, ...]


def node(op: str, shape: Shape, *inputs: int | None, parameter: str | None = None, **saved: float) -> AutogradNode:
    return AutogradNode(op, shape, inputs, parameter, dict(saved))


def loss_graph(*nodes: AutogradNode, tensors: tuple[LocalTensor, ...] = (), code: str | None = None) -> LossGraph:
    """`code` is the line that computes the loss, if it is known."""
    made = place(39, code=code) if code else Place()
    return LossGraph("loss", place(40, code="loss.backward()"), 1.5, nodes, tensors, step=1, made=made)


def chain(*ops: tuple[str, Shape]) -> LossGraph:
    """Each op takes the next one; the last takes a parameter of `net`."""
    nodes = [node(op, shape, index + 1) for index, (op, shape) in enumerate(ops)]
    return loss_graph(*nodes, node("AccumulateGrad", ops[-1][1], parameter="net.fc.weight"))
