from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch.nn import functional as F

from torch_debugger.probes.loss_graph import nodes_behind
from torch_debugger.probes.model.attention import AttentionsByHand

SQUARE = 2 * 4 * 128 * 128 * 4  # bytes


def heads(length: int = 128) -> tuple[torch.Tensor, ...]:
    return tuple(torch.randn(2, 4, length, 8, requires_grad=True) for _ in range(3))


def read(loss: torch.Tensor) -> list[Any]:
    looks, consumers = AttentionsByHand.__new__(AttentionsByHand), nodes_behind(loss.grad_fn)
    nodes = [node for node in consumers if node.name() == "SoftmaxBackward0"]
    return [found for node in nodes if (found := looks._read(node, consumers)) is not None]


def scores_of(q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
    return q @ k.transpose(-2, -1) / math.sqrt(8)


def test_the_square_of_weights_is_what_is_kept() -> None:
    q, k, v = heads()
    (found,) = read((scores_of(q, k).softmax(-1) @ v).sum())
    assert (found.shape, found.kept_bytes, found.has_dropout) == ((2, 4, 128, 128), SQUARE, False)


def test_masked_scores() -> None:
    q, k, v = heads()
    masked = scores_of(q, k).masked_fill(torch.ones(128, 128).triu(1).bool(), -math.inf)
    assert len(read((masked.softmax(-1) @ v).sum())) == 1


def test_dropout_keeps_more_of_them() -> None:
    q, k, v = heads()
    (found,) = read((F.dropout(scores_of(q, k).softmax(-1), 0.1) @ v).sum())
    assert found.has_dropout and found.kept_bytes == 3 * SQUARE


@pytest.mark.parametrize("length", [127, 64])
def test_short_sequences_are_left_alone(length: int) -> None:
    q, k, v = heads(length)
    assert not read((scores_of(q, k).softmax(-1) @ v).sum())


def test_other_uses_of_a_softmax_are_left_alone() -> None:
    q, k, v = heads()
    weights = scores_of(q, k).softmax(-1)
    assert not read((weights @ v).sum() + weights.square().sum())
    assert not read((scores_of(q, k).softmax(-2) @ v).sum())
    assert not read(scores_of(q, k).softmax(-1).square().sum())
    bias = torch.zeros(128, 128, requires_grad=True)
    assert not read(((scores_of(q, k) + bias).softmax(-1) @ v).sum())
    table = torch.randn(2, 128, 128, requires_grad=True)
    assert not read((table.softmax(-1) @ v[:, 0]).sum())


def test_the_fused_call_is_none() -> None:
    q, k, v = heads()
    assert not read(F.scaled_dot_product_attention(q, k, v).sum())
