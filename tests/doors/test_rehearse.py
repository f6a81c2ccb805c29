"""torch_debugger.rehearse: what comes back, what stays as it was, what is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional

import torch_debugger
from tests.untouched_models import model_untouched
from torch_debugger.system.errors import DebuggerError, UsageError


def small() -> nn.Module:
    return nn.Sequential(nn.Linear(64, 256), nn.BatchNorm1d(256), nn.ReLU(), nn.Dropout(0.1), nn.Linear(256, 10))


class Noisy(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(8, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        noise = torch.randn(x.shape[0], 8)
        return self.fc(x + noise)


class Choosy(nn.Module):
    """What it computes depends on the numbers it meets."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(8, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.fc(x[x[:, 0] >= 0]) * (2 if x.mean().item() > 5 else 1)


def test_a_step_is_told_by_category_and_the_largest_batch_fits() -> None:
    net, x, y = small(), torch.randn(32, 64), torch.zeros(32, dtype=torch.long)
    optimizer = torch.optim.AdamW(net.parameters())
    with model_untouched(net, x):
        step = torch_debugger.rehearse(
            net, x, loss=functional.cross_entropy, targets=y, optimizer=optimizer, gpu_memory="1GB"
        )
    assert not optimizer.state
    assert optimizer.param_groups[0]["params"][0] is net[0].weight
    assert sum(step.by_category.values()) == step.peak_bytes <= step.reserved_bytes
    assert step.by_category["optimizer state"] == 2 * step.by_category["parameters"]
    assert step.fits is True
    assert step.passed
    assert step.device_bugs == ()
    assert step.largest_batch is not None
    more = step.largest_batch + step.largest_batch // 50
    for batch, fits in ((step.largest_batch, True), (more, False)):
        other = torch_debugger.rehearse(
            net, x, loss=functional.cross_entropy, targets=y, optimizer=optimizer, batch=batch
        )
        assert (other.needed_bytes <= 10**9) == fits


def test_the_result_is_text_a_table_and_plain_values() -> None:
    net = small()
    step = torch_debugger.rehearse(net, torch.zeros(4, 64), dtype="bf16", gpu_memory=2 * 10**9)
    text = str(step)
    assert text.startswith("A step of net (19,722 parameters), batch of 4, no optimizer, bf16, rehearsed without")
    assert "It fits into 2GB. The largest batch that fits is" in text
    assert "No optimizer was rehearsed" in text
    assert "<table>" in step._repr_html_()
    assert json.loads(json.dumps(step.to_dict()))["peak_bytes"] == step.peak_bytes


def test_a_tensor_made_on_the_cpu_is_a_device_bug() -> None:
    step = torch_debugger.rehearse(Noisy(), torch.randn(16, 8), optimizer=torch.optim.Adam)
    (bug,) = step.device_bugs
    assert bug.where.code == "noise = torch.randn(x.shape[0], 8)"
    assert bug.edit is not None and bug.edit.after == "noise = torch.randn(x.shape[0], 8, device=x.device)"
    assert not step.passed
    assert "device bug: test_rehearse.py:" in str(step)


def test_a_forward_that_needs_numbers_is_made_for_real_in_a_process_of_its_own() -> None:
    net, x = Choosy(), torch.randn(16, 8)
    with model_untouched(net, x):
        step = torch_debugger.rehearse(net, x, optimizer=torch.optim.Adam, gpu_memory="1GB")
    assert step.on_real_data
    assert step.by_category["optimizer state"] == 2 * step.by_category["parameters"]
    assert "The step needs numbers, not shapes alone" in str(step)
    assert "Device bugs were not looked for: the forward needs numbers" in str(step)


def test_keywords_and_wrapped_models_are_taken() -> None:
    class Named(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc = nn.Linear(8, 4)

        def forward(self, x: torch.Tensor, labels: torch.Tensor) -> dict[str, torch.Tensor]:
            return {"loss": functional.cross_entropy(self.fc(x), labels)}

    given = {"x": torch.zeros(6, 8), "labels": torch.zeros(6, dtype=torch.long)}
    plain = torch_debugger.rehearse(Named(), given)
    wrapped = torch_debugger.rehearse(nn.DataParallel(Named()), given)
    assert plain.batch == wrapped.batch == 6
    assert plain.peak_bytes == wrapped.peak_bytes


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_the_mode_around_it_does_not_matter(mode: Any) -> None:
    net = small()
    plain = torch_debugger.rehearse(net, torch.zeros(4, 64))
    with mode():
        assert torch_debugger.rehearse(net, torch.zeros(4, 64)).peak_bytes == plain.peak_bytes


def test_a_model_too_large_for_this_machine_needs_no_memory() -> None:
    net = nn.Sequential(*(nn.Linear(20_000, 20_000, device="meta") for _ in range(20)))
    x = torch.empty(8, 20_000, device="meta")
    step = torch_debugger.rehearse(net, x, optimizer=torch.optim.AdamW, gpu_memory="80GiB")
    numbers = 20 * (20_000 * 20_000 + 20_000)
    assert 4 * numbers <= step.by_category["parameters"] <= 1.001 * 4 * numbers  # blocks are rounded up
    assert step.fits is False
    assert step.largest_batch == 0


def test_lbfgs_is_left_out() -> None:
    step = torch_debugger.rehearse(nn.Linear(8, 4), torch.zeros(4, 8), optimizer=torch.optim.LBFGS)
    assert step.optimizer == ""


def test_no_gradients_without_training() -> None:
    step = torch_debugger.rehearse(small().eval(), torch.zeros(4, 64), training=False)
    assert "gradients" not in step.by_category
    assert "activations" not in step.by_category


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"gpu_memory": "a lot"}, "is a size such as 24GB or 80GiB, or one of t4"),
        ({"dtype": "int8"}, "dtype is one of fp32, bf16, fp16, not 'int8'"),
        ({"batch": 0}, "batch is a whole number from 1 on, not 0"),
        ({"optimizer": 3}, "optimizer is one of torch.optim, or a class of it, not int"),
        ({"targets": torch.zeros(4)}, "has targets but no loss"),
        ({"loss": lambda output: output}, "loss must give one number as a tensor, not a tensor of shape [4, 10]"),
        ({"loss": lambda output, y: output.sum(), "targets": torch.zeros(3), "batch": 8}, "different first dim"),
    ],
)
def test_what_cannot_be_rehearsed_is_said(arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError) as refused:
        torch_debugger.rehearse(small(), torch.zeros(4, 64), **arguments)
    assert said in str(refused.value)


def test_a_model_without_shapes_or_without_input_is_refused() -> None:
    with pytest.raises(UsageError, match="has no shape yet"):
        torch_debugger.rehearse(nn.LazyLinear(4), torch.zeros(2, 3))
    with pytest.raises(UsageError, match="takes what the model is given"):
        torch_debugger.rehearse(small())


def test_the_users_own_error_is_told() -> None:
    with pytest.raises(DebuggerError, match="cannot be rehearsed: RuntimeError: mat1 and mat2"):
        torch_debugger.rehearse(small(), torch.zeros(4, 63))
