"""The first NaN or Inf of a run: noticed at the loss or at a gradient, and traced to what made it."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from tests.probes.watching import Seen, watched
from torch_debugger.records import NonFinite, ProbeFault


class Net(nn.Module):
    def __init__(self, function: Any) -> None:
        super().__init__()
        self.fc1 = nn.Linear(4, 4)
        self.fc2 = nn.Linear(4, 2)
        self.function = function

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.fc2(self.function(self.fc1(x)))


def train(function: Any, loss_of: Any = None, *, x: torch.Tensor | None = None, steps: int = 4) -> Seen:
    """Trains a net with this function in the middle and this loss; returns what was seen."""
    with watched() as seen:
        torch.manual_seed(0)
        net, x = Net(function), torch.randn(6, 4) if x is None else x
        optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
        for _ in range(steps):
            optimizer.zero_grad()
            output = net(x)
            loss = loss_of(output) if loss_of else output.pow(2).mean()
            loss.backward()
            optimizer.step()
    return seen


def the_one(seen: Seen) -> NonFinite:
    [found] = seen.of(NonFinite)
    return found


def test_a_healthy_run_has_none() -> None:
    assert train(torch.relu).of(NonFinite) == []


def test_in_forward() -> None:
    found = the_one(train(lambda x: torch.log(x * 0)))
    assert (found.step, found.what, found.phase, found.op, found.module) == (1, "loss", "forward", "log", "net")
    assert found.value in ("nan", "inf")
    assert found.replayed
    assert found.place.code is not None
    assert "torch.log(x * 0)" in found.place.code
    assert found.site.code == "loss.backward()"
    assert "24 zeros" in found.operands[0]


def test_an_inf_that_reaches_the_loss() -> None:
    found = the_one(train(lambda x: x, lambda output: (output / 0).mean()))
    assert (found.what, found.phase, found.op) == ("loss", "loss", "div")


@pytest.mark.parametrize(
    ("loss", "op"),
    [
        (lambda output: torch.log(output * 0).mean(), "log"),
        (lambda output: (output.abs() * -1).sqrt().mean(), "sqrt"),
        (lambda output: (output.abs() * 1e6).exp().mean(), "exp"),
        (lambda output: (output / output.detach().mul(0)).mean(), "div"),
    ],
    ids=["log", "sqrt", "exp", "div"],
)
def test_between_the_model_and_the_loss(loss: Any, op: str) -> None:
    found = the_one(train(lambda x: x, loss))
    assert (found.phase, found.op, found.module, found.replayed) == ("loss", op, None, False)


def test_nan_in_the_batch() -> None:
    x = torch.randn(6, 4)
    x[2, 1] = float("nan")
    found = the_one(train(lambda x: x, x=x))
    assert (found.phase, found.module, found.op) == ("input", "net", None)
    assert "1 not finite" in found.operands[0]


def test_nan_in_the_weights() -> None:
    with watched() as seen:
        net = Net(lambda x: x)
        with torch.no_grad():
            net.fc1.weight[0, 0] = float("nan")
        net(torch.randn(3, 4)).mean().backward()
    found = the_one(seen)
    assert (found.phase, found.parameters, found.replayed) == ("weights", ("net.fc1.weight",), False)


def test_half_precision_weights_are_not_called_infinite() -> None:
    """Their sum overflows float16; the weights themselves are fine."""

    class Wide(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scale = nn.Parameter(torch.full((70_000,), 2.0, dtype=torch.float16))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.log(x * 0) * self.scale.float().mean()

    with watched() as seen:
        net = Wide()
        net(torch.ones(3)).mean().backward()
    found = the_one(seen)
    assert (found.phase, found.op, found.parameters) == ("forward", "log", ())


def test_only_in_the_gradient() -> None:
    """sqrt(0) is 0, its slope is not: the loss is finite, the gradient is not."""
    seen = train(lambda x: torch.sqrt(x * 0), steps=1)
    found = the_one(seen)
    assert (found.what, found.phase, found.op, found.module) == ("gradient", "backward", "sqrt", "net")
    assert found.parameters == ("net.fc1.weight", "net.fc1.bias")
    assert found.replayed


def test_the_first_one_only() -> None:
    assert the_one(train(lambda x: torch.log(x * 0), steps=6)).step == 1


def test_a_mask_of_minus_infinity_is_healthy() -> None:
    mask = torch.tensor([True, False, False, False])
    assert train(lambda x: F.softmax(x.masked_fill(mask, float("-inf")), dim=-1)).of(NonFinite) == []


def test_a_row_that_is_all_masked() -> None:
    found = the_one(train(lambda x: F.softmax(x.masked_fill(torch.ones(4) > 0, float("-inf")), dim=-1)))
    assert (found.phase, found.op) == ("forward", "softmax")


def test_inputs_by_keyword_in_the_very_first_call() -> None:
    with watched() as seen:
        net = Net(lambda x: torch.log(x * 0))
        net(x=torch.randn(3, 4)).mean().backward()
    assert the_one(seen).op == "log"


def test_a_forward_that_cannot_be_run_again_costs_only_the_replay() -> None:
    """Data used up, a file closed: the loss is still watched."""

    class Once(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc = nn.Linear(4, 1)

        def forward(self, batches: Any) -> torch.Tensor:
            return torch.log(self.fc(next(batches)) * 0)

    with watched(faults=True) as seen:
        net = Once()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.0)
        for _ in range(3):
            optimizer.zero_grad()
            net(iter([torch.randn(2, 4)])).mean().backward()
            optimizer.step()
    assert the_one(seen).step == 1
    assert sorted(seen.scalars("loss")) == [1, 2, 3]
    assert [fault.probe for fault in seen.of(ProbeFault)] in ([], ["replay"])


def test_the_training_goes_on_as_without() -> None:
    def weights(watch: bool) -> list[torch.Tensor]:
        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Linear(8, 1))
        optimizer = torch.optim.SGD(net.parameters(), lr=0.01)

        def loop() -> None:
            for step in range(4):
                optimizer.zero_grad()
                loss = net(torch.randn(6, 4)).mean() + (float("nan") if step == 1 else 0.0)
                loss.backward()
                optimizer.step()

        if watch:
            with watched() as seen:
                loop()
            assert the_one(seen).step == 2
        else:
            loop()
        return [*(tensor.clone() for tensor in net.state_dict().values()), torch.get_rng_state()]

    assert all(torch.equal(one, other) for one, other in zip(weights(False), weights(True), strict=True))


def test_lazy_parameters_do_not_get_in_the_way() -> None:
    with watched() as seen:
        net = nn.Linear(4, 1)
        late = nn.LazyLinear(3)
        held = nn.ModuleList([net, late])
        torch.log(net(torch.randn(2, 4)) * 0).mean().backward()
    assert held
    assert the_one(seen).what == "loss"
