"""Whole models in a small size: forward and backward beside a count by hand, and shapes beside a real run."""

from __future__ import annotations

import resource

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from tests.pictures.models import (
    Convolutional,
    Language,
    Recurrent,
    Segmenting,
    VisionTransformer,
    images,
    tokens,
)
from tests.untouched_models import model_untouched
from torch_debugger import flops
from torch_debugger.model.flop_counts import counts_of
from torch_debugger.model.flops import _run, _Way
from torch_debugger.model.inputs import Call
from torch_debugger.model.op_counter import BACKWARD, FORWARD


class Bottleneck(nn.Module):
    def __init__(self, given: int, width: int, stride: int) -> None:
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(given, width, 1, bias=False), nn.BatchNorm2d(width)
        self.conv2, self.bn2 = nn.Conv2d(width, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width)
        self.conv3, self.bn3 = nn.Conv2d(width, 4 * width, 1, bias=False), nn.BatchNorm2d(4 * width)
        self.relu = nn.ReLU(inplace=True)
        self.short = nn.Conv2d(given, 4 * width, 1, stride, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.relu(self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x))))))
        return self.relu(self.bn3(self.conv3(y)) + self.short(x))


def test_a_residual_network() -> None:
    model = nn.Sequential(
        nn.Conv2d(3, 8, 7, 2, 3, bias=False), nn.MaxPool2d(3, 2, 1), Bottleneck(8, 4, 1), Bottleneck(16, 8, 2),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10),
    )  # fmt: skip
    stem = 2 * 16 * 16 * 8 * (3 * 7 * 7)
    first = 2 * 8 * 8 * (8 * 4 + 4 * 4 * 9 + 4 * 16 + 8 * 16)
    second = 2 * 8 * 8 * 16 * 8 + 2 * 4 * 4 * (8 * 8 * 9 + 8 * 32 + 16 * 32)
    head = 2 * 32 * 10
    x = torch.randn(2, 3, 32, 32)
    with model_untouched(model, x):
        count = flops(model, x, backward=True)
    assert count.forward.macs == stem + first + second + head
    assert count.backward.macs == stem + 2 * (first + second + head)
    assert count.by_module["2"].backward.macs == 2 * first
    assert not count.uncounted
    assert not count.note


def test_a_vision_transformer() -> None:
    """Two encoder layers over 17 tokens of width 16; attention with dropout is no fused one."""
    patch, head = 2 * 16 * 16 * (3 * 4 * 4), 2 * 16 * 4
    linear = 2 * (2 * 17 * (4 * 16 * 16 + 2 * 16 * 32))
    squares = 2 * (2 * (2 * 17 * 17 * 16))
    count = flops(VisionTransformer(), images(), backward=True)
    assert count.forward.macs == patch + linear + squares + head
    assert count.backward.macs == patch + 2 * (linear + squares + head)
    assert flops(VisionTransformer().eval(), images()).macs == count.forward.macs


def test_a_language_model() -> None:
    linear = 2 * (2 * 7 * (16 * 48 + 16 * 16)) + 2 * 7 * 16 * 20
    square = 2 * (2 * 4 * 7 * 7 * 4)
    count = flops(Language(), tokens(), backward=True)
    assert count.forward.macs == linear + 2 * square
    assert count.backward.macs == 2 * linear + 5 * square, "fused attention computes its scores again"
    assert count.by_module["blocks"].forward.macs == linear + 2 * square - 2 * 7 * 16 * 20
    own = count.by_module["blocks.1"].own
    assert own.macs == (2 + 5) * square // 2, "attention is called by the block itself"


def test_a_u_net() -> None:
    down, deep = 2 * 16 * 16 * (3 * 8 * 9), 2 * 8 * 8 * (8 * 16 * 9)
    up, out = 2 * 8 * 8 * (16 * 8 * 4), 2 * 16 * 16 * (16 * 5)
    count = flops(Segmenting(), images(), backward=True)
    assert count.forward.macs == down + deep + up + out
    assert count.backward.macs == down + 2 * (deep + up + out)


def test_a_recurrent_model() -> None:
    steps, head = 2 * 7 * 4 * 12 * (8 + 12), 2 * 12 * 3
    count = flops(Recurrent(), tokens(), backward=True)
    assert count.forward.macs == steps + head
    assert count.backward.macs == 2 * (steps + head)


MODELS = [
    (Convolutional, images), (VisionTransformer, images), (Recurrent, tokens), (Language, tokens),
    (Segmenting, images),
]  # fmt: skip


@pytest.mark.parametrize(("maker", "inputs"), MODELS, ids=lambda each: each.__name__)
def test_shapes_alone_give_what_a_real_run_gives(maker: type[nn.Module], inputs: object) -> None:
    """Operation by operation, with their bytes."""
    model, call = maker(), Call((inputs(),), {})  # type: ignore[operator]
    shapes, real = (_run(model, call, _Way(on_shapes, True), backward=True) for on_shapes in (True, False))
    for phase in (FORWARD, BACKWARD):
        assert counts_of(shapes.counter, (phase,)) == counts_of(real.counter, (phase,))
    assert shapes.counter.calls == real.counter.calls


@pytest.mark.parametrize("maker", [Convolutional, Segmenting])
def test_torchs_own_counter_agrees_where_it_counts(maker: type[nn.Module]) -> None:
    model = maker()
    with FlopCounterMode(display=False) as peer:
        model(images()).sum().backward()
    assert flops(model, images(), backward=True).flops == peer.get_total_flops()


class Layer(nn.Module):
    """As in large language models of today: rotary positions, shared keys, a gated feed-forward."""

    def __init__(self, width: int, heads: int, shared: int, hidden: int) -> None:
        super().__init__()
        self.heads, self.shared, self.each = heads, shared, width // heads
        self.q, self.o = nn.Linear(width, width, bias=False), nn.Linear(width, width, bias=False)
        self.k = nn.Linear(width, shared * self.each, bias=False)
        self.v = nn.Linear(width, shared * self.each, bias=False)
        self.gate, self.up = nn.Linear(width, hidden, bias=False), nn.Linear(width, hidden, bias=False)
        self.down = nn.Linear(hidden, width, bias=False)
        self.norm1, self.norm2 = nn.RMSNorm(width), nn.RMSNorm(width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, _ = x.shape
        y = self.norm1(x)
        angles = torch.outer(torch.arange(length, device=x.device).float(), torch.ones(self.each // 2))
        turn = torch.cat([angles.cos(), angles.sin()], -1).to(x.dtype)
        q = self.q(y).view(batch, length, self.heads, self.each).transpose(1, 2) * turn
        k = self.k(y).view(batch, length, self.shared, self.each).transpose(1, 2) * turn
        v = self.v(y).view(batch, length, self.shared, self.each).transpose(1, 2)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        x = x + self.o(mixed.transpose(1, 2).reshape(batch, length, -1))
        y = self.norm2(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


def test_seventy_billion_parameters_take_no_memory() -> None:
    with torch.device("meta"):
        model = nn.Sequential(
            nn.Embedding(128256, 8192),
            *(Layer(8192, 64, 8, 28672) for _ in range(80)),
            nn.Linear(8192, 128256, bias=False),
        ).bfloat16()
    assert sum(value.numel() for value in model.parameters()) > 70e9
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    count = flops(model, torch.zeros(1, 4096, dtype=torch.int64), device="H200")
    grown_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    linear = 80 * (2 * 8192 * 8192 + 2 * 8192 * 1024 + 3 * 8192 * 28672) + 8192 * 128256
    assert count.macs == 4096 * linear + 80 * 2 * 4096 * 4096 * 8192
    assert count.by_module["1.gate"].bound == "compute-bound"
    assert count.by_module["1.norm1"].bound == "memory-bound"
    assert grown_kib < 200_000
