"""What a GPU would say: devices that meet, and the memory of a step."""

from __future__ import annotations

import dataclasses

import pytest
import torch
from torch import nn

from tests.trials.preflight.cases import CLASSES, case, outcome, refused
from torch_debugger.trials.preflight import try_gpu, try_memory


class LeftBehind(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(8, CLASSES)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.fc(x) + torch.ones(CLASSES)


class ByValue(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(8, CLASSES)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.fc(x) * x.sum().item()


@pytest.fixture(scope="module", autouse=True)
def _warm() -> None:
    """Fake tensors load much on first use: here, so that the forks find it done."""
    from torch_debugger.trials.pretended_gpu import Pretence

    with torch.no_grad(), Pretence("cuda", {}):
        nn.Linear(8, CLASSES)(torch.ones(2, 8))


def test_a_model_that_would_run_on_a_gpu() -> None:
    result = outcome(try_gpu, case())
    assert (result.outcome, result.message) == (
        "passed", "The forward of `net` meets tensors of one device only.",
    )  # fmt: skip


def test_a_tensor_left_on_the_cpu() -> None:
    result = outcome(try_gpu, case(LeftBehind()))
    assert result.outcome == "failed"
    assert "test_device.py:" in result.message and "torch.ones(CLASSES)" in result.message


def test_a_script_that_names_no_gpu_is_not_blamed() -> None:
    subject = dataclasses.replace(case(LeftBehind()), on_gpu=False)
    assert refused(try_gpu, subject).startswith("The script names no GPU. On a GPU")


def test_the_memory_of_a_step() -> None:
    plain = case(nn.Linear(8, CLASSES), optimizer=lambda parameters: torch.optim.SGD(parameters, lr=0.1))
    adam = case(nn.Linear(8, CLASSES), optimizer=lambda parameters: torch.optim.Adam(parameters, lr=0.1))
    found = [outcome(try_memory, each) for each in (plain, adam)]
    weights = 4 * (8 * CLASSES + CLASSES)
    assert [each.numbers["weights"] for each in found] == [weights, weights]
    assert found[0].numbers["optimizer"] == 0
    assert 2 * weights <= found[1].numbers["optimizer"] <= 2 * weights + 64
    assert found[0].message.startswith("A step would take ")


def test_a_forward_that_needs_values() -> None:
    assert "needs numbers" in refused(try_memory, case(ByValue()))
