"""The memory of a training step: counted by hand, on tensors without data and on real ones."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable

import pytest
import torch
from torch import nn
from torch.nn import functional

from tests.trials.step_rehearsal.steps import (
    INPUT,
    OUTPUT,
    WEIGHT,
    Deep,
    Recurrent,
    classify,
    convolutions,
    linear,
    played,
    total,
    transformer,
)
from torch_debugger.trials.rehearsed_step import RunnableStep, perform
from torch_debugger.trials.step_to_rehearse import step_of

ONE = 512  # bytes of the smallest block: the loss, the gradient of the loss
SGD = functools.partial(torch.optim.SGD, lr=0.1)


def test_a_linear_layer_without_an_optimizer() -> None:
    peak = played(linear())
    assert peak.by_category == {
        "parameters": WEIGHT, "inputs": INPUT, "temporaries": OUTPUT + 2 * ONE, "gradients": WEIGHT,
    }  # fmt: skip
    assert peak.peak_bytes == 2 * WEIGHT + INPUT + OUTPUT + 2 * ONE
    assert peak.site.phase == "backward"


def test_plain_sgd_takes_nothing_besides() -> None:
    assert played(linear(SGD)).peak_bytes == played(linear()).peak_bytes


def test_momentum_takes_the_weights_once_more() -> None:
    peak = played(linear(functools.partial(SGD, momentum=0.9)))
    assert peak.by_category["optimizer state"] == WEIGHT
    assert peak.peak_bytes == 3 * WEIGHT + INPUT + OUTPUT + 2 * ONE


def test_adamw_takes_them_twice_and_once_more_within_its_step() -> None:
    peak = played(linear(torch.optim.AdamW))
    assert peak.by_category["optimizer state"] == 2 * WEIGHT
    assert peak.by_category["temporaries"] == WEIGHT + OUTPUT + ONE
    assert peak.peak_bytes == 5 * WEIGHT + INPUT + OUTPUT + ONE
    assert peak.site.phase == "optimizer step"


def test_fused_adamw_takes_nothing_within_its_step() -> None:
    peak = played(linear(functools.partial(torch.optim.AdamW, fused=True)))
    assert peak.peak_bytes == 4 * WEIGHT + INPUT + OUTPUT + 2 * ONE
    assert peak.site.phase == "backward"


def test_accumulated_gradients_meet_new_ones() -> None:
    peak = played(linear(SGD, accumulate=2))
    assert peak.peak_bytes == 3 * WEIGHT + INPUT + OUTPUT + 2 * ONE


def test_gradients_cleared_late_are_there_while_the_forward_runs() -> None:
    forward_only = functools.partial(linear, SGD, keeps_gradients=True)
    assert played(forward_only()).peak_bytes > played(linear(SGD)).peak_bytes


def test_a_forward_without_gradients() -> None:
    peak = played(linear(training=False))
    assert peak.by_category == {"parameters": WEIGHT, "inputs": INPUT, "temporaries": 2 * OUTPUT + ONE}
    assert peak.site.phase == "forward"


def test_bfloat16_keeps_a_copy_of_the_weights_half_as_large() -> None:
    """Only the second layer's is needed for a gradient: that of its input."""
    net = nn.Sequential(nn.Linear(64, 256, bias=False), nn.Linear(256, 64, bias=False))
    step, _ = step_of("net", net, (torch.zeros(512, 64),), total, None, None)
    peak = played(dataclasses.replace(step, dtype=torch.bfloat16))
    assert peak.by_category["weight copies"] == 256 * 64 * 2


def test_what_autograd_keeps_is_told_by_module() -> None:
    net = nn.Sequential(nn.Linear(64, 256), nn.Tanh(), nn.Linear(256, 1))
    step, _ = step_of("net", net, (torch.zeros(512, 64),), total, None, None)
    peak = played(step)
    assert peak.kept_by_module == {"net.1": 512 * 256 * 4}  # Tanh's output, which the next layer needs too
    assert sum(peak.kept_by_module.values()) == peak.by_category["activations"]


def test_the_line_and_the_module_of_the_peak_are_told() -> None:
    peak = played(classify(Recurrent(), 20, 6))
    assert peak.site.file.endswith("steps.py")
    assert peak.site.module in ("net.cells", "net.head")


def test_checkpointing_lowers_the_peak() -> None:
    inputs = (torch.zeros(512, 64),)
    plain, again = (played(step_of("net", Deep(again), inputs, total, None, None)[0]) for again in (False, True))
    assert again.peak_bytes < 0.75 * plain.peak_bytes


def test_an_operation_in_place_takes_no_memory() -> None:
    def peak_of(in_place: bool) -> int:
        net = nn.Sequential(nn.Linear(32, 256), nn.ReLU(inplace=in_place))
        step, _ = step_of("net", net, (torch.zeros(128, 32),), total, None, None)
        return played(dataclasses.replace(step, training=False)).peak_bytes

    assert peak_of(in_place=False) - peak_of(in_place=True) == 128 * 256 * 4


def test_dropout_keeps_one_byte_an_element_as_on_cuda() -> None:
    net = nn.Sequential(nn.Linear(16, 128), nn.Dropout(0.5))
    peak = played(step_of("net", net, (torch.zeros(64, 16),), total, None, None)[0])
    assert peak.by_category["activations"] == 64 * 128


class Attention(nn.Module):
    def __init__(self, shared: bool) -> None:
        super().__init__()
        self.qkv = nn.Linear(32, 96)
        self.shared = shared  # two heads of queries have one of keys

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = (part.unflatten(2, (4, 8)).transpose(1, 2) for part in self.qkv(x).split(32, dim=2))
        if self.shared:
            k, v = k[:, :2], v[:, :2]
        return functional.scaled_dot_product_attention(q, k, v, dropout_p=0.1, is_causal=True, enable_gqa=self.shared)


@pytest.mark.parametrize("shared", [False, True])
def test_attention_keeps_no_scores_as_on_cuda(shared: bool) -> None:
    step, _ = step_of("net", Attention(shared), (torch.zeros(2, 256, 32),), total, None, None)
    scores = 2 * 4 * 256 * 256 * 4
    assert played(step).peak_bytes < scores


def test_cuda_lists_of_autocast_are_heeded() -> None:
    """A layer norm gives float32 there, and bfloat16 on the CPU."""
    seen = []

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc, self.norm = nn.Linear(8, 8), nn.LayerNorm(8)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            made = self.fc(x)
            seen.append((made.dtype, self.norm(made).dtype, made.softmax(-1).dtype))
            return made

    step, _ = step_of("net", Net(), (torch.zeros(4, 8),), lambda output: output.float().sum(), None, None)
    perform(RunnableStep(step.models, step.run, None, 4, dtype=torch.bfloat16), 4)
    assert set(seen) == {(torch.bfloat16, torch.float32, torch.float32)}
    with torch.autocast("cpu", torch.bfloat16):  # afterwards all is as it was
        assert functional.layer_norm(torch.zeros(2, 8, dtype=torch.bfloat16), (8,)).dtype is torch.bfloat16


def test_cross_entropy_takes_the_precision_of_its_input_as_on_cuda() -> None:
    """Its log-softmax is made in bfloat16 there, and only what the negative log likelihood reads in float32."""
    net = nn.Linear(16, 4096, bias=False)
    targets = torch.zeros(256, dtype=torch.long)
    step, _ = step_of("net", net, (torch.zeros(256, 16),), functional.cross_entropy, targets, None)
    logits = 256 * 4096 * 2
    found = played(dataclasses.replace(step, dtype=torch.bfloat16))
    kept, made = (
        3 * logits,
        3 * logits,
    )  # log-softmax and its float32; the logits, and the gradient of that float32
    assert kept + made <= found.peak_bytes < kept + made + 2**20


STEPS: dict[str, Callable[[], RunnableStep]] = {
    "linear": lambda: linear(torch.optim.AdamW),
    "rmsprop": lambda: linear(functools.partial(torch.optim.RMSprop, momentum=0.9)),
    "adagrad": lambda: linear(torch.optim.Adagrad),
    "accumulated": lambda: linear(torch.optim.Adam, accumulate=3),
    "bfloat16": lambda: classify(convolutions(), 3, 16, 16, dtype=torch.bfloat16),
    "convolutions": lambda: classify(convolutions(), 3, 16, 16),
    "transformer": lambda: classify(transformer(), 10, 32),
    "transformer in float16": lambda: classify(transformer(), 10, 32, dtype=torch.float16),
    "recurrent": lambda: classify(Recurrent(), 12, 6),
    "deep": lambda: step_of("net", Deep(True), (torch.zeros(16, 64),), total, None, None)[0],
}


@pytest.mark.parametrize("name", STEPS)
def test_without_data_the_bytes_are_those_of_a_real_run(name: str) -> None:
    without, real = played(STEPS[name]()), played(STEPS[name](), real=True)
    assert without.peak_bytes == real.peak_bytes == sum(without.by_category.values())
    assert without.by_category == real.by_category
    assert without.kept_by_module == real.kept_by_module
    assert without.reserved_bytes == real.reserved_bytes


def test_twice_the_batch_takes_twice_the_activations() -> None:
    once, twice = (
        played(classify(convolutions(), 3, 16, 16)),
        played(classify(convolutions(), 3, 16, 16), batch=16),
    )
    assert twice.by_category["activations"] > 1.9 * once.by_category["activations"]
    assert twice.by_category["parameters"] == once.by_category["parameters"]
    real = played(classify(convolutions(), 3, 16, 16), batch=16, real=True)
    assert twice.peak_bytes == real.peak_bytes


def test_channels_last_needs_no_copies_of_cudnn() -> None:
    def workspace(form: torch.memory_format) -> int:
        net = nn.Conv2d(8, 16, 3, bias=False).to(memory_format=form)
        inputs = torch.zeros(4, 8, 12, 12).to(memory_format=form)
        return played(step_of("net", net, (inputs,), total, None, None)[0]).by_category.get("workspace", 0)

    assert workspace(torch.channels_last) == 0
    assert workspace(torch.contiguous_format) > 0
