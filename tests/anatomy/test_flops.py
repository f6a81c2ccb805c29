"""The counts of single layers, each beside the same count written out by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from tests.untouched_models import model_untouched
from torch_debugger import flops


class Calls(nn.Module):
    """A function as a module, with layers of its own."""

    def __init__(self, function: Callable[..., Any], **layers: nn.Module) -> None:
        super().__init__()
        self.function = function
        for name, layer in layers.items():
            self.add_module(name, layer)

    def forward(self, *inputs: Any, **keywords: Any) -> Any:
        return self.function(self, *inputs, **keywords)


def test_a_linear_layer_on_three_dimensions_is_counted_for_every_row() -> None:
    count = flops(nn.Linear(8, 16), torch.randn(2, 5, 8), backward=True)
    assert count.forward.macs == 2 * 5 * 8 * 16
    assert count.backward.macs == 2 * 5 * 8 * 16, "of the weight alone: the input requires no gradient"
    assert count.macs == 2 * (2 * 5 * 8 * 16)
    assert count.flops == 2 * count.macs


def test_the_gradient_of_an_input_is_counted_where_it_is_required() -> None:
    count = flops(nn.Linear(8, 16), torch.randn(2, 5, 8, requires_grad=True), backward=True)
    assert count.backward.macs == 2 * (2 * 5 * 8 * 16)


def test_convolutions_plain_depthwise_and_transposed() -> None:
    layers = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 8, 3, groups=8), nn.ConvTranspose2d(8, 4, 2, stride=2)
    )
    plain, depthwise, transposed = 2 * 8 * 16 * 16 * (3 * 9), 2 * 8 * 14 * 14 * 9, 2 * 8 * 14 * 14 * (4 * 4)
    count = flops(layers, torch.randn(2, 3, 16, 16), backward=True)
    assert count.forward.macs == plain + depthwise + transposed
    assert count.backward.macs == plain + 2 * depthwise + 2 * transposed, "no gradient for the images"
    assert [count.by_module[str(place)].forward.macs for place in range(3)] == [plain, depthwise, transposed]


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("need_weights", [True, False])
def test_multi_head_attention_is_four_projections_and_two_squares(training: bool, need_weights: bool) -> None:
    attend = nn.MultiheadAttention(16, 4, batch_first=True).train(training)
    model = Calls(lambda self, x: self.attend(x, x, x, need_weights=need_weights)[0], attend=attend)
    count = flops(model, torch.randn(3, 5, 16))
    assert count.macs == 4 * (3 * 5 * 16 * 16) + 2 * (3 * 5 * 5 * 16)


def test_fused_attention_on_the_cpu() -> None:
    model = Calls(lambda self, q: F.scaled_dot_product_attention(q, q, q, is_causal=True))
    square = 2 * 4 * 6 * 6 * 8
    count = flops(model, torch.randn(2, 4, 6, 8, requires_grad=True), backward=True)
    assert count.forward.macs == 2 * square, "the whole square, as papers count it"
    assert count.backward.macs == 5 * square, "the scores once more, and four gradients"
    assert list(count.by_op)[:2] == [
        "_scaled_dot_product_flash_attention_for_cpu_backward",
        "_scaled_dot_product_flash_attention_for_cpu",
    ]


def test_queries_may_share_heads_of_keys_and_values_may_have_another_width() -> None:
    def attend(self: Any, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        return F.scaled_dot_product_attention(q, k, v, enable_gqa=True)

    count = flops(Calls(attend), (2, 4, 6, 8), (2, 2, 7, 8), (2, 2, 7, 3))
    assert count.macs == 2 * 4 * 6 * 7 * 8 + 2 * 4 * 6 * 7 * 3


PRODUCTS: dict[str, tuple[Callable[[torch.Tensor, torch.Tensor], Any], int]] = {
    "@, with a batch that is spread out": (lambda a, b: a @ b[0], 3 * 4 * 5 * 6),
    "@ with vectors": (lambda a, b: a @ b[0, :, 0], 3 * 4 * 5),
    "einsum": (lambda a, b: torch.einsum("bij,bjk->bik", a, b), 3 * 4 * 5 * 6),
    "einsum over both": (lambda a, b: torch.einsum("bij,cjk->bcik", a, b), 3 * 3 * 4 * 5 * 6),
    "F.linear": (lambda a, b: F.linear(a, b[0].T), 3 * 4 * 5 * 6),
    "bmm": (lambda a, b: torch.bmm(a, b), 3 * 4 * 5 * 6),
    "baddbmm": (lambda a, b: torch.baddbmm(torch.zeros(3, 4, 6), a, b), 3 * 4 * 5 * 6),
    "addbmm": (lambda a, b: torch.addbmm(torch.zeros(4, 6), a, b), 3 * 4 * 5 * 6),
    "addmm": (lambda a, b: torch.addmm(torch.zeros(6), a[0], b[0]), 4 * 5 * 6),
    "addmm by name": (lambda a, b: torch.addmm(torch.zeros(6), mat1=a[0], mat2=b[0]), 4 * 5 * 6),
    "mv": (lambda a, b: torch.mv(a[0], b[0, :, 0]), 4 * 5),
    "dot": (lambda a, b: torch.dot(a[0, 0], a[0, 1]), 5),
    "tensordot": (lambda a, b: torch.tensordot(a, b, dims=([2], [1])), 3 * 4 * 5 * 3 * 6),
    "chain_matmul": (lambda a, b: torch.linalg.multi_dot([a[0], b[0], b[0].T]), 4 * 5 * 6 + 4 * 6 * 5),
    "matmul into a tensor": (lambda a, b: torch.mm(a[0], b[0], out=torch.empty(4, 6)), 4 * 5 * 6),
    "outer, which adds nothing up": (lambda a, b: torch.outer(a[0, 0], b[0, 0]), 0),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_products_however_they_are_written(name: str) -> None:
    function, macs = PRODUCTS[name]
    count = flops(Calls(lambda self, a, b: function(a, b)), torch.randn(3, 4, 5), torch.randn(3, 5, 6))
    assert count.macs == macs
    assert not count.note
    assert not count.uncounted


@pytest.mark.parametrize(("layer", "gates"), [(nn.LSTM, 4), (nn.GRU, 3), (nn.RNN, 1)])
@pytest.mark.parametrize("directions", [1, 2])
@pytest.mark.parametrize("batch_first", [False, True])
def test_recurrent_layers(layer: Any, gates: int, directions: int, batch_first: bool) -> None:
    model = layer(5, 6, num_layers=2, bidirectional=directions == 2, batch_first=batch_first)
    steps = 7 * 2
    first = steps * directions * gates * 6 * (5 + 6)
    second = steps * directions * gates * 6 * (6 * directions + 6)
    count = flops(model, torch.randn(2, 7, 5) if batch_first else torch.randn(7, 2, 5))
    assert count.macs == first + second
    assert not count.note


@pytest.mark.skipif(not torch.backends.mkldnn.is_available(), reason="this torch has no fused LSTM on the CPU")
def test_the_backward_of_a_fused_lstm_is_twice_its_forward() -> None:
    """Its kernel makes all gradients, asked for or not. What ran before may have left it switched off."""
    with torch.backends.mkldnn.flags(enabled=True):
        count = flops(nn.LSTM(5, 6), torch.randn(7, 2, 5), backward=True)
    forward = 7 * 2 * 4 * 6 * (5 + 6)
    assert count.by_op["mkldnn_rnn_layer"].macs == forward
    assert count.backward.macs == 2 * forward


def test_the_backward_of_an_lstm_step_by_step_has_no_gradient_for_what_requires_none() -> None:
    """As a GRU below: where oneDNN is switched off, or not there, torch multiplies for each step."""
    with torch.backends.mkldnn.flags(enabled=False):
        count = flops(nn.LSTM(5, 6), torch.randn(7, 2, 5), backward=True)
    weights, recurrent = 7 * 2 * 4 * 6 * (5 + 6), 6 * 2 * 4 * 6 * 6  # the state before the first step is given
    assert "mkldnn_rnn_layer" not in count.by_op
    assert count.backward.macs == weights + recurrent
    assert count.macs - count.backward.macs == weights  # the forward meets each of them once


def test_the_backward_of_a_gru_has_no_gradient_for_what_requires_none() -> None:
    count = flops(nn.GRU(5, 6), torch.randn(7, 2, 5), backward=True)
    weights, recurrent = 7 * 2 * 3 * 6 * (5 + 6), 6 * 2 * 3 * 6 * 6  # the state before the first step is given
    assert count.backward.macs == weights + recurrent


def test_an_lstm_with_projections_and_a_single_cell() -> None:
    projected = flops(nn.LSTM(5, 6, proj_size=3), torch.randn(7, 2, 5))
    assert projected.macs == 7 * 2 * (4 * 6 * 5 + 4 * 6 * 3 + 6 * 3)
    assert flops(nn.LSTMCell(5, 6), torch.randn(2, 5)).macs == 2 * 4 * 6 * (5 + 6)
    assert flops(nn.GRUCell(5, 6), torch.randn(2, 5)).macs == 2 * 3 * 6 * (5 + 6)


@pytest.mark.parametrize(("layer", "gates"), [(nn.LSTM, 4), (nn.GRU, 3)])
def test_packed_sequences_are_counted_by_their_own_lengths(layer: Any, gates: int) -> None:
    def run(self: Any, x: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        return pad_packed_sequence(self.layer(packed)[0], batch_first=True)[0]

    model = Calls(run, layer=layer(5, 6, batch_first=True))
    count = flops(model, torch.randn(3, 7, 5), torch.tensor([3, 7, 5]))
    assert count.macs == (3 + 7 + 5) * gates * 6 * (5 + 6)
    assert not count.note


@pytest.mark.parametrize("training", [True, False])
def test_a_transformer_layer_costs_the_same_in_both_modes(training: bool) -> None:
    layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True).train(training)
    x = torch.randn(3, 5, 16)
    with model_untouched(layer, x):
        count = flops(layer, x)
    projections, squares, feed_forward = 4 * (3 * 5 * 16 * 16), 2 * (3 * 5 * 5 * 16), 2 * (3 * 5 * 16 * 32)
    assert count.macs == projections + squares + feed_forward
    assert count.by_module["self_attn"].macs == projections + squares
    assert count.by_module["linear1"].macs == 3 * 5 * 16 * 32


def test_torchs_own_fused_layers_are_counted_as_well() -> None:
    """Where somebody calls them by hand: one operation for a whole encoder layer."""
    layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True).eval()

    def fused(self: Any, x: torch.Tensor) -> torch.Tensor:
        part = self.layer
        attend = part.self_attn
        return torch._transformer_encoder_layer_fwd(
            x, 16, 4, attend.in_proj_weight, attend.in_proj_bias, attend.out_proj.weight, attend.out_proj.bias,
            False, False, 1e-5, part.norm1.weight, part.norm1.bias, part.norm2.weight, part.norm2.bias,
            part.linear1.weight, part.linear1.bias, part.linear2.weight, part.linear2.bias,
        )  # fmt: skip

    count = flops(Calls(fused, layer=layer), torch.randn(3, 5, 16))
    assert list(count.by_op) == ["_transformer_encoder_layer_fwd"]
    assert count.macs == flops(layer, torch.randn(3, 5, 16)).macs

    def attention(self: Any, x: torch.Tensor) -> torch.Tensor:
        part = self.layer.self_attn
        given = 16, 4, part.in_proj_weight, part.in_proj_bias, part.out_proj.weight, part.out_proj.bias
        return torch._native_multi_head_attention(x, x, x, *given)[0]

    count = flops(Calls(attention, layer=layer), torch.randn(3, 5, 16))
    assert count.macs == 4 * (3 * 5 * 16 * 16) + 2 * (3 * 5 * 5 * 16)


def test_a_layer_that_is_used_four_times_counts_four_times() -> None:
    model = Calls(lambda self, x: self.fc(self.fc(self.fc(self.fc(x)))), fc=nn.Linear(8, 8))
    count = flops(model, torch.randn(2, 8), backward=True)
    assert count.forward.macs == 4 * (2 * 8 * 8)
    assert count.backward.macs == (4 + 3) * (2 * 8 * 8), "four gradients of the weight, three of inputs"
    assert count.by_module["fc"].calls == 4


def test_a_bilinear_layer_and_groups_and_dilation() -> None:
    assert flops(nn.Bilinear(3, 4, 5), torch.randn(2, 3), torch.randn(2, 4)).macs == 2 * 3 * 4 * 5
    grouped = nn.Conv1d(6, 4, 3, groups=2, dilation=2)
    assert flops(grouped, torch.randn(2, 6, 11)).macs == 2 * 4 * 7 * (3 * 3)
    volume = nn.Conv3d(2, 4, 2)
    assert flops(volume, torch.randn(1, 2, 4, 5, 6)).macs == 4 * (3 * 4 * 5) * (2 * 8)


def test_a_complex_product_is_four_real_ones() -> None:
    layer = nn.Linear(8, 4, dtype=torch.complex64)
    assert flops(layer, torch.randn(2, 8, dtype=torch.complex64)).macs == 4 * (2 * 8 * 4)


def test_whole_numbers_and_sparse_matrices() -> None:
    assert flops(Calls(lambda self, x: torch._int_mm(x, x)), torch.ones(32, 32, dtype=torch.int8)).macs == 32**3
    sparse = torch.eye(6).to_sparse()
    count = flops(Calls(lambda self, x: torch.sparse.mm(sparse, x)), torch.randn(6, 4))
    assert count.macs == 6 * 4, "six entries meet four columns"
    rows = flops(Calls(lambda self, x: sparse.to_sparse_csr() @ x), torch.randn(6, 4))
    assert rows.macs == 6 * 4


def test_what_is_not_a_product_stands_apart() -> None:
    model = nn.Sequential(nn.ReLU(), nn.LayerNorm(8), nn.Softmax(-1))
    count = flops(model, torch.randn(2, 8))
    assert count.macs == count.flops == 0
    assert count.by_module["0"].elementwise == 16, "one an element made"
    assert count.by_module["1"].elementwise == 16, "one an element read"
    assert count.elementwise == 3 * 16
    assert flops(Calls(lambda self, x: x.sum()), torch.randn(2, 8)).elementwise == 16


def test_bytes_are_every_operand_once_and_an_embedding_reads_its_rows() -> None:
    linear = flops(nn.Linear(8, 4, bias=False), torch.randn(2, 8))
    assert linear.bytes == 4 * (2 * 8 + 8 * 4 + 2 * 4)
    assert linear.intensity == 2 * (2 * 8 * 4) / linear.bytes
    assert flops(nn.Linear(8, 4, bias=False).half(), torch.randn(2, 8).half()).bytes == linear.bytes // 2
    words = flops(nn.Embedding(1000, 8), torch.zeros(3, dtype=torch.int64))
    assert words.bytes == 2 * (4 * 3 * 8) + 8 * 3
    bag = flops(nn.EmbeddingBag(1000, 8), torch.zeros(3, 5, dtype=torch.int64))
    assert bag.elementwise == 3 * 5 * 8, "every row that is added up"
    assert bag.macs == 0
    assert flops(Calls(lambda self, x: x.view(-1).t().unsqueeze(0)), torch.randn(2, 8)).bytes == 0
