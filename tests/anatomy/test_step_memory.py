"""A training step measured without memory, held against sizes worked out by hand."""

from __future__ import annotations

import time

import pytest
import torch
from torch import nn

from torch_debugger.model.step_memory import TooLongError, measure_step

FLOAT = 4


def chain() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(100, 200), nn.Tanh(), nn.Linear(200, 50), nn.Tanh(), nn.Linear(50, 1))


def test_what_autograd_saves_is_the_input_of_each_linear_layer() -> None:
    measured = measure_step(chain(), (torch.empty(64, 100),), {})
    assert (
        measured.saved_bytes == 64 * (200 + 50) * FLOAT
    )  # the batch itself is not counted; a tanh saves its output: the same tensor


def test_the_peak_holds_the_activations_and_the_gradients() -> None:
    net = chain()
    parameters = sum(parameter.numel() for parameter in net.parameters()) * FLOAT
    measured = measure_step(net, (torch.empty(4096, 100),), {})
    activations = 4096 * (200 + 200 + 50 + 50 + 1) * FLOAT
    assert activations < measured.peak_bytes < activations + 2 * parameters + 4096 * 250 * FLOAT


def test_half_a_batch_takes_half_the_activations() -> None:
    net, x = chain(), torch.empty(64, 100)
    half = measure_step(net, (x,), {}, keep=lambda tensor: tensor[:32].clone())
    assert half.saved_bytes * 2 == measure_step(net, (x,), {}).saved_bytes


def test_autocast_saves_half() -> None:
    net, x = chain(), torch.empty(4096, 100)
    full, mixed = measure_step(net, (x,), {}), measure_step(net, (x,), {}, autocast=True)
    assert mixed.saved_bytes < 0.75 * full.saved_bytes  # half, and the batch once more in bfloat16


def test_each_module_is_told_what_it_saves() -> None:
    net = chain()
    measured = measure_step(net, (torch.empty(64, 100),), {})
    assert measured.by_module[id(net)] == measured.saved_bytes
    assert measured.by_module[id(net[1])] == 64 * 200 * FLOAT
    assert measured.inputs[id(net[2])] == 64 * 200 * FLOAT


def test_nothing_is_left_behind() -> None:
    net = nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8), nn.Dropout())
    x, state = torch.randn(4, 8), torch.get_rng_state()
    before = {name: value.clone() for name, value in net.state_dict().items()}
    measure_step(net, (x,), {})
    assert torch.equal(torch.get_rng_state(), state)
    assert all(torch.equal(before[name], value) for name, value in net.state_dict().items())
    assert all(parameter.grad is None for parameter in net.parameters())
    assert type(net[1].running_mean) is torch.Tensor
    assert net(x).shape == (4, 8)


def test_an_attribute_set_in_forward_is_put_back() -> None:
    class Cache(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc, self.last = nn.Linear(4, 4), None

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.last = self.fc(x)
            return self.last

    net = Cache()
    measure_step(net, (torch.randn(2, 4),), {})
    assert net.last is None


def test_it_ends_at_its_deadline() -> None:
    with pytest.raises(TooLongError):
        measure_step(chain(), (torch.empty(2, 100),), {}, deadline=time.monotonic() - 1)


class Picky(nn.Module):
    """Its path depends on values, which tensors without memory do not have."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        made = self.fc(x)
        return made[made > 0] if made.sum().item() > 0 else made


def test_a_forward_that_needs_values_raises_and_leaves_the_model_usable() -> None:
    net, x = Picky(), torch.randn(2, 4)
    with pytest.raises(Exception, match="_local_scalar_dense"):
        measure_step(net, (x,), {})
    assert type(net.fc.weight) is nn.Parameter
    assert net(x).dtype == torch.float32
