"""find_nan: one call that says whether a model makes a NaN or Inf of these inputs, and where."""

from __future__ import annotations

import torch
from torch import nn

from torch_debugger import find_nan


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.norm = nn.BatchNorm1d(4)

    def forward(self, x: torch.Tensor, scale: float = 1.0) -> torch.Tensor:
        return (self.norm(self.fc(x)) * scale).abs().sqrt()


def test_a_healthy_model() -> None:
    found = find_nan(Net(), torch.randn(3, 4))
    assert not found
    assert str(found) == "All finite: no op of the model made a NaN or Inf."


def test_the_backward_is_looked_at_unless_it_is_not_wanted() -> None:
    net, x = Net(), torch.randn(3, 4)
    found = find_nan(net, x, scale=0.0)
    assert found.origin is not None and (found.origin.phase, found.origin.op) == ("backward", "sqrt")
    assert str(found).startswith("A gradient became inf: the backward of `(self.norm(self.fc(x)) * scale)")
    assert not find_nan(net, x, scale=0.0, backward=False)


def test_the_loss_is_looked_at_as_well() -> None:
    found = find_nan(Net(), torch.randn(3, 4), loss=lambda y: (y - y).log().mean())
    assert found.origin is not None
    assert (found.origin.phase, found.origin.module, found.origin.op) == ("loss", None, "log")
    assert str(found).startswith("The loss became -inf: `(y - y).log()` at test_find_nan.py:")


def test_bad_inputs_and_bad_weights() -> None:
    net, x = Net(), torch.randn(3, 4)
    x[1, 2] = torch.nan
    assert "1 of 12 values of `input` is NaN, in row 1 of the batch" in str(find_nan(net, x))
    with torch.no_grad():
        net.fc.weight[0, 0] = torch.inf
    assert "`net.fc.weight` was not finite" in str(find_nan(net, torch.randn(3, 4)))


def test_it_leaves_no_trace() -> None:
    net, x = Net(), torch.randn(3, 4)
    state = {name: value.clone() for name, value in net.state_dict().items()}
    rng = torch.get_rng_state()
    find_nan(net, x, scale=0.0)
    assert all(torch.equal(value, state[name]) for name, value in net.state_dict().items())
    assert all(parameter.grad is None for parameter in net.parameters())
    assert torch.equal(rng, torch.get_rng_state())
