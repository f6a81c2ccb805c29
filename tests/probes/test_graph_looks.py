"""What the graph behind a loss shows: masks of dropout, misread axes, tokens that attention can see."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from torch_debugger.model.autograd_graph import dropped_share
from torch_debugger.probes.data.inputs_targets import RawArrays
from torch_debugger.probes.loss_graph import nodes_behind
from torch_debugger.probes.loss_graph_looks import misread_axes
from torch_debugger.probes.loss_token_targets import next_tokens
from torch_debugger.probes.model.attention import _attends_to_itself, _made_from, _next_weights
from torch_debugger.records import Place


@pytest.mark.parametrize("share", [0.1, 0.5, 0.95])
def test_dropout_is_told_by_its_mask(share: float) -> None:
    torch.manual_seed(0)
    made = F.dropout(nn.Linear(8, 64)(torch.randn(32, 8)), share)
    assert dropped_share(made.grad_fn) == pytest.approx(share)


def test_a_mask_of_another_kind_is_no_dropout() -> None:
    torch.manual_seed(0)
    scores = nn.Linear(8, 64)(torch.randn(32, 8))
    assert dropped_share((scores * (torch.rand(32, 64) > 0.5).float()).grad_fn) is None
    assert dropped_share((scores * torch.rand(32, 64)).grad_fn) is None
    assert dropped_share((scores * 2.0).grad_fn) is None


def test_axes_that_a_view_misreads() -> None:
    assert misread_axes((32, 12, 64), (32, 4, 12, 16)) == "heads split"
    assert misread_axes((32, 4, 12, 16), (32, 12, 64)) == "heads merged"
    assert misread_axes((32, 20, 3), (32, 3, 20)) == "exchanged"


def test_views_that_only_split_or_join_neighbours() -> None:
    assert not misread_axes((32, 12, 64), (32, 12, 4, 16))
    assert not misread_axes((32, 12, 12, 4), (32, 12, 48))
    assert not misread_axes((32, 64, 9), (32, 4, 16, 9))
    assert not misread_axes((32, 20, 1), (32, 1, 20))


def seen_places(mask: Any, is_causal: bool = False) -> list[float]:
    """The weights on the next place in a model of the next token, with torch's own attention."""
    torch.manual_seed(0)
    tokens, table = torch.randint(0, 9, (4, 13)), nn.Embedding(9, 8)
    x = table(tokens[:, :-1]).view(4, 12, 2, 4).transpose(1, 2)
    mixed = F.scaled_dot_product_attention(x, x, x, attn_mask=mask, is_causal=is_causal)
    scores = mixed.transpose(1, 2).reshape(4, 12, 8) @ torch.randn(8, 9)
    loss = F.cross_entropy(scores.flatten(0, 1), tokens[:, 1:].flatten())
    consumers = nodes_behind(loss.grad_fn)
    read = next_tokens(list(consumers), {})
    assert read is not None
    behind = _made_from(read.embedding, consumers)
    found = [_next_weights(node, 12) for node in behind if _attends_to_itself(node, behind)]
    assert len(found) == 1
    return [float(weight) for weight in found[0]]


def test_attention_that_sees_the_next_token() -> None:
    assert all(weight > 0 for weight in seen_places(None))
    late = torch.ones(12, 12).triu(2).bool().logical_not()
    assert all(weight > 0 for weight in seen_places(late))


def test_attention_with_a_causal_mask() -> None:
    assert not any(seen_places(None, is_causal=True))
    assert not any(seen_places(torch.ones(12, 12).tril().bool()))
    assert not any(seen_places(nn.Transformer.generate_square_subsequent_mask(12)))


def test_targets_that_are_not_the_next_tokens() -> None:
    tokens, table = torch.randint(0, 9, (4, 12)), nn.Embedding(9, 9)
    loss = F.cross_entropy(table(tokens).flatten(0, 1), tokens.flatten())
    assert next_tokens(list(nodes_behind(loss.grad_fn)), {}) is None


def test_data_is_recognised_by_the_array_it_came_from() -> None:
    torch.manual_seed(0)
    pictures = torch.rand(40, 6, 7, 3)
    scrambled = pictures.view(40, 3, 6, 7)[torch.randperm(40)[:8]] * 2 - 1
    moved = pictures.permute(0, 3, 1, 2)[torch.randperm(40)[:8]] * 2 - 1
    assert RawArrays().shape_before(scrambled, Place())[0] == (8, 6, 7, 3)
    assert RawArrays().shape_before(moved, Place())[0] == ()
