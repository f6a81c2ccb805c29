"""Attention is heard in every form it is written in, and agrees with what the slow way gives."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from tests.pictures.models import Language, VisionTransformer, images, seeded, tokens
from tests.untouched_models import model_untouched
from torch_debugger import pictures
from torch_debugger.system.errors import UsageError

NEAR = 1e-5


def vectors(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(5))


def by_hand(attention: nn.MultiheadAttention, query: torch.Tensor, key: torch.Tensor) -> torch.Tensor:
    """softmax(q k^T / sqrt(d)) from the projections, [N, heads, out, in], for batch_first inputs."""
    q_weight, k_weight, _ = attention.in_proj_weight.chunk(3)
    q_bias, k_bias, _ = attention.in_proj_bias.chunk(3)
    heads, width = attention.num_heads, attention.head_dim
    q = F.linear(query, q_weight, q_bias).unflatten(2, (heads, width)).transpose(1, 2)
    k = F.linear(key, k_weight, k_bias).unflatten(2, (heads, width)).transpose(1, 2)
    return (q @ k.transpose(2, 3) / math.sqrt(width)).softmax(-1).detach()


class MultiHead(nn.Module):
    def __init__(self, batch_first: bool = True, **asked: Any) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(16, 4, dropout=0.2, batch_first=batch_first)
        self.asked = asked

    def forward(self, query: torch.Tensor, key: torch.Tensor) -> torch.Tensor:
        return self.attention(query, key, key, **self.asked)[0]


@pytest.mark.parametrize(
    "asked",
    [{}, {"need_weights": False}, {"average_attn_weights": False}],
    ids=["averaged", "without weights", "all heads"],
)
@pytest.mark.parametrize("batch_first", [True, False])
def test_multihead_attention_across(asked: dict[str, Any], batch_first: bool) -> None:
    model = seeded(lambda: MultiHead(batch_first, **asked))
    query, key = vectors(2, 3, 16), vectors(2, 5, 16)
    expected = by_hand(model.attention, query, key)
    given = (query, key) if batch_first else (query.transpose(0, 1), key.transpose(0, 1))
    with model_untouched(model, query, key):
        seen = pictures.attention(model, given)
    assert seen.layers == ("attention",)
    assert seen.weights[0].shape == (2, 4, 3, 5)
    np.testing.assert_allclose(seen.weights[0], expected.numpy(), atol=NEAR)


def test_masks_count_and_a_query_that_may_look_nowhere_has_zeros() -> None:
    hidden = torch.tensor([[False, False, True], [True, True, True]])
    model = seeded(lambda: MultiHead(need_weights=False, key_padding_mask=hidden))
    weights = pictures.attention(model, (vectors(2, 4, 16), vectors(2, 3, 16))).weights[0]
    np.testing.assert_allclose(weights[0].sum(-1), 1, atol=NEAR)
    assert (weights[0, :, :, 2] == 0).all() and (weights[0, :, :, :2] > 0).all()
    assert (weights[1] == 0).all()


def test_one_sequence_without_a_batch() -> None:
    model = seeded(MultiHead)
    assert pictures.attention(model, (vectors(3, 16), vectors(5, 16))).weights[0].shape == (1, 4, 3, 5)


@pytest.mark.parametrize("training", [True, False])
def test_encoder_layers_also_where_they_take_the_fast_path(training: bool) -> None:
    """In evaluation without gradients torch runs such a layer as one call, which shows nothing."""
    model = seeded(VisionTransformer).train(training)
    given = images()
    with model_untouched(model, given):
        seen = pictures.attention(model, given)
    first = model.encoder.layers[0]
    patches = model.patch(given).flatten(2).transpose(1, 2)
    tokens_in = torch.cat([model.cls.expand(2, -1, -1), patches], dim=1) + model.position
    expected = by_hand(first.self_attn, *[first.norm1(tokens_in)] * 2)
    assert seen.layers == ("encoder.layers.0.self_attn", "encoder.layers.1.self_attn")
    np.testing.assert_allclose(seen.weights[0], expected.numpy(), atol=NEAR)


class Fused(nn.Module):
    def __init__(self, **asked: Any) -> None:
        super().__init__()
        self.asked = asked

    def forward(self, q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
        return F.scaled_dot_product_attention(q, k, torch.ones_like(k), **self.asked)


BIAS = vectors(3, 4)
FORMS: dict[str, tuple[dict[str, Any], Callable[[torch.Tensor], torch.Tensor]]] = {
    "plain": ({}, lambda scores: scores / math.sqrt(8)),
    "scaled": ({"scale": 0.3}, lambda scores: scores * 0.3),
    "biased": ({"attn_mask": BIAS}, lambda scores: scores / math.sqrt(8) + BIAS),
    "masked": (
        {"attn_mask": BIAS > -0.5},
        lambda scores: (scores / math.sqrt(8)).masked_fill(~(BIAS > -0.5), -math.inf),
    ),
    "causal": (
        {"is_causal": True},
        lambda scores: (scores / math.sqrt(8)).masked_fill(torch.arange(4)[None] > torch.arange(3)[:, None], -math.inf),
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_fused_attention_is_recomputed(form: str) -> None:
    asked, score = FORMS[form]
    q, k = vectors(2, 2, 3, 8), vectors(2, 2, 4, 8)
    expected = score(q @ k.transpose(2, 3)).softmax(-1)
    seen = pictures.attention(Fused(**asked), (q, k))
    assert seen.layers == ("Fused",)
    np.testing.assert_allclose(seen.weights[0], expected.numpy(), atol=NEAR)


def test_heads_that_share_keys() -> None:
    q, k = vectors(2, 6, 3, 8), vectors(2, 2, 4, 8)
    expected = (q @ k.repeat_interleave(3, dim=1).transpose(2, 3) / math.sqrt(8)).softmax(-1)
    seen = pictures.attention(Fused(enable_gqa=True), (q, k))
    np.testing.assert_allclose(seen.weights[0], expected.numpy(), atol=NEAR)


def test_a_causal_bias_of_torch() -> None:
    from torch.nn.attention.bias import causal_lower_right

    seen = pictures.attention(Fused(attn_mask=causal_lower_right(3, 4)), (vectors(1, 2, 3, 8), vectors(1, 2, 4, 8)))
    assert (seen.weights[0][0, 0] > 0).tolist() == np.tri(3, 4, 1, dtype=bool).tolist()


class ByHand(nn.Module):
    """Self-attention as people write it; what differs is the line that mixes."""

    def __init__(self, mix: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]) -> None:
        super().__init__()
        self.qkv = nn.Linear(16, 48)
        self.drop = nn.Dropout(0.5)
        self.mix = mix

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = (part.unflatten(2, (4, 4)).transpose(1, 2) for part in self.qkv(x).chunk(3, dim=2))
        self.kept = (q @ k.transpose(-2, -1) / 2).softmax(dim=-1)
        return self.mix(self.drop(self.kept), v)


MIXES: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "the operator": lambda weights, values: weights @ values,
    "matmul": torch.matmul,
    "bmm": lambda weights, values: torch.bmm(weights.flatten(0, 1), values.flatten(0, 1)),
    "einsum": lambda weights, values: torch.einsum("bhqk,bhkd->bqhd", weights, values),
    "transposed": lambda weights, values: values.transpose(2, 3) @ weights.transpose(2, 3),
    "half precision": lambda weights, values: weights.to(torch.bfloat16) @ values.to(torch.bfloat16),
}


@pytest.mark.parametrize("mix", MIXES)
def test_attention_written_by_hand(mix: str) -> None:
    model = seeded(lambda: ByHand(MIXES[mix]))
    x = vectors(2, 5, 16)
    model(x)
    expected = model.kept.detach()
    seen = pictures.attention(model, x)
    assert seen.weights[0].shape == (2, 4, 5, 5)
    np.testing.assert_allclose(seen.weights[0], expected.numpy(), atol=NEAR)


class Speaking(nn.Module):
    """Additive attention, once for every word: the translating models of before transformers."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.GRU(8, 8, batch_first=True)
        self.decoder = nn.GRUCell(8, 8)
        self.score = nn.Linear(16, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        states, _ = self.encoder(x)
        hidden = states[:, -1]
        for _ in range(3):
            both = torch.cat([states, hidden[:, None].expand_as(states)], dim=2)
            weights = self.score(torch.tanh(both)).squeeze(2).softmax(dim=1)
            hidden = self.decoder(torch.bmm(weights.unsqueeze(1), states).squeeze(1), hidden)
        return hidden


def test_rows_that_a_decoder_makes_one_by_one_are_one_map() -> None:
    seen = pictures.attention(seeded(Speaking), vectors(2, 5, 8))
    assert seen.layers == ("Speaking",)
    assert seen.weights[0].shape == (2, 1, 3, 5)
    np.testing.assert_allclose(seen.weights[0].sum(-1), 1, atol=NEAR)


def test_probabilities_of_classes_and_soft_tables_are_no_attention() -> None:
    class Classes(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.score, self.table = nn.Linear(8, 6), nn.Parameter(torch.randn(6, 8))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.score(x).softmax(-1) @ self.table

    with pytest.raises(UsageError, match=r"no attention was seen while Classes ran.*give its weights"):
        pictures.attention(seeded(Classes), vectors(2, 5, 8))


class ReturnsItsWeights(nn.Module):
    """As a Hugging Face model with a way of its own: the weights are in the output, for those who ask."""

    def forward(self, x: torch.Tensor, output_attentions: bool = False) -> Any:
        scores = (x @ x.transpose(1, 2)).exp()
        weights = (scores / scores.sum(-1, keepdim=True)).unsqueeze(1)
        output = nn.Module()
        output.attentions = (weights, weights) if output_attentions else None
        return output


def test_weights_that_are_only_returned() -> None:
    seen = pictures.attention(ReturnsItsWeights(), {"x": vectors(2, 5, 4) / 4})
    assert seen.layers == ("attentions.0", "attentions.1") and seen.weights[1].shape == (2, 1, 5, 5)


@pytest.mark.parametrize("kind", ["compiled", "DataParallel", "bf16", "inference"])
def test_every_kind_of_model(kind: str) -> None:
    model = seeded(Language)
    plain = pictures.attention(model, tokens()).weights
    given: nn.Module = model
    if kind == "compiled":
        given = torch.compile(model)  # type: ignore[assignment]
    if kind == "DataParallel":
        given = nn.DataParallel(model)
    if kind == "bf16":
        given = model.to(torch.bfloat16)
    with torch.inference_mode(kind == "inference"):
        seen = pictures.attention(given, tokens())
    assert seen.layers == ("blocks.0", "blocks.1")
    np.testing.assert_allclose(seen.weights[1], plain[1], atol=0.02 if kind == "bf16" else NEAR)


def test_layers_are_chosen_by_path_pattern_place_or_module() -> None:
    model = seeded(VisionTransformer)
    last = ("encoder.layers.1.self_attn",)
    for wanted in (
        "encoder.layers.1",
        "*.1.self_attn",
        1,
        model.encoder.layers[1],
        [model.encoder.layers[1].self_attn],
    ):
        assert pictures.attention(model, images(), layers=wanted).layers == last


def test_layers_that_were_not_chosen_are_not_recomputed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of long inputs each one takes seconds and gigabytes."""
    from torch_debugger.pictures import attention_recording as listening_mode

    made: list[int] = []
    real = listening_mode.dot_product_weights
    monkeypatch.setattr(
        listening_mode, "dot_product_weights", lambda *given, **named: made.append(1) or real(*given, **named)
    )
    pictures.attention(seeded(Language), tokens(), layers="blocks.1")
    assert len(made) == 1


def test_more_than_memory_should_hold_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch_debugger.pictures.attention_recording._MOST_BYTES", 2000)
    with pytest.raises(UsageError, match=r"up to `blocks\.1` take more than .* choose some with `layers=`"):
        pictures.attention(seeded(Language), tokens())


def test_what_cannot_be_is_said() -> None:
    model = seeded(VisionTransformer)
    with pytest.raises(UsageError, match=r"no layer that was asked for attends.*`encoder\.layers\.0\.self_attn`"):
        pictures.attention(model, images(), layers="head")
    with pytest.raises(UsageError, match=r"head 4 was asked for, but `encoder\.layers\.0\.self_attn` has 4"):
        pictures.attention(model, images(), heads=4)
    with pytest.raises(UsageError, match=r"sample=2 was asked for, but the batch has 2"):
        pictures.attention(model, images(), sample=2)
    with pytest.raises(UsageError, match=r"a model needs an input"):
        pictures.attention(model)
    with pytest.raises(UsageError, match=r"a model needs an input"):
        pictures.attention_rollout(model)
    with pytest.raises(UsageError, match=r"heads=\[\] asks for no head at all"):
        pictures.attention(model, images(), heads=[])
    with pytest.raises(UsageError, match=r"shape \[3, 16, 16\], which looks like one image.*image\[None\]"):
        pictures.attention(model, images()[0])
    with pytest.raises(UsageError, match=r"the model is on cpu, but the input on meta"):
        pictures.attention(model, images().to("meta"))


def test_an_exception_of_the_model_passes_and_nothing_is_left() -> None:
    model = seeded(VisionTransformer)
    given = vectors(2, 3, 5, 7)
    with model_untouched(model, given), pytest.raises(RuntimeError, match="must match"):
        pictures.attention(model, given)
    assert not torch.overrides._get_current_function_mode_stack()
