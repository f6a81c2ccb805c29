"""The first NaN or Inf of a run: noticed at the loss or at a gradient, and traced to what made it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from tests.probes.watching import Seen, watched
from torch_debugger.crashes.values_not_finite import look_for_the_origin
from torch_debugger.records import NonFinite, Origin, ProbeFault
from torch_debugger.runner.anomalies import AnomalyError, detect_anomaly


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


def origin(seen: Seen) -> Origin:
    found = the_one(seen).origin
    assert found is not None
    return found


def test_a_healthy_run_has_none() -> None:
    assert train(torch.relu).of(NonFinite) == []


def test_in_forward() -> None:
    seen = train(lambda x: torch.log(x * 0))
    found, made = the_one(seen), origin(seen)
    assert (found.step, found.what, found.how, found.value) == (1, "loss", "step", "nan")
    assert (made.phase, made.op, made.module, made.made) == ("forward", "log", "net", "-inf")
    assert made.place.code is not None
    assert "torch.log(x * 0)" in made.place.code
    assert found.site.code == "loss.backward()"
    assert made.operands[0].zeros == 24


def test_in_backward_where_a_fork_cannot_run_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """As with a GPU in the machine, also for a model on the CPU."""
    monkeypatch.setattr("torch_debugger.trials.nan_in_step._in_fork", lambda scene, attempt: None)
    root_of_zero = lambda output: (output * 0).sqrt().mean()  # noqa: E731
    assert origin(train(torch.relu, root_of_zero)).op is None
    monkeypatch.setattr(torch.accelerator, "is_available", lambda: True)
    found = origin(train(torch.relu, root_of_zero))
    assert (found.phase, found.op) == ("backward", "sqrt")


def test_an_inf_that_reaches_the_loss() -> None:
    found = origin(train(lambda x: x, lambda output: (output / 0).mean()))
    assert (found.phase, found.op, found.arguments) == ("loss", "div", ("0",))


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
    seen = train(lambda x: x, loss)
    assert (origin(seen).phase, origin(seen).op, origin(seen).module) == ("loss", op, None)
    assert the_one(seen).how == "step"


def test_nan_in_the_batch() -> None:
    x = torch.randn(6, 4)
    x[2, 1] = float("nan")
    found = origin(train(lambda x: x, x=x))
    assert (found.phase, found.op, found.given, found.rows) == ("input", None, "x", (2,))
    assert found.operands[0].nans == 1


def test_nan_in_the_weights() -> None:
    with watched() as seen:
        net = Net(lambda x: x)
        with torch.no_grad():
            net.fc1.weight[0, 0] = float("nan")
        net(torch.randn(3, 4)).mean().backward()
    assert (origin(seen).phase, origin(seen).given) == ("weights", "net.fc1.weight")
    assert the_one(seen).parameters == ("net.fc1.weight",)
    assert the_one(seen).optimizer == "", "no update has touched it"


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
    assert (origin(seen).phase, origin(seen).op, the_one(seen).parameters) == ("forward", "log", ())


def test_only_in_the_gradient() -> None:
    """sqrt(0) is 0, its slope is not: the loss is finite, the gradient is not."""
    seen = train(lambda x: torch.sqrt(x * 0), steps=1)
    found, made = the_one(seen), origin(seen)
    assert (found.what, made.phase, made.op, made.module) == ("gradient", "backward", "sqrt", "net")
    assert found.parameters == ("net.fc1.weight", "net.fc1.bias")
    assert found.how == "step"


def test_the_first_one_only() -> None:
    assert the_one(train(lambda x: torch.log(x * 0), steps=6)).step == 1


def test_a_mask_of_minus_infinity_is_healthy() -> None:
    mask = torch.tensor([True, False, False, False])
    assert train(lambda x: F.softmax(x.masked_fill(mask, float("-inf")), dim=-1)).of(NonFinite) == []


def test_a_row_that_is_all_masked() -> None:
    found = origin(train(lambda x: F.softmax(x.masked_fill(torch.ones(4) > 0, float("-inf")), dim=-1)))
    assert (found.phase, found.op, found.masked_row) == ("forward", "softmax", True)


def test_inputs_by_keyword_in_the_very_first_call() -> None:
    with watched() as seen:
        net = Net(lambda x: torch.log(x * 0))
        net(x=torch.randn(3, 4)).mean().backward()
    assert origin(seen).op == "log"


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


@pytest.mark.parametrize("deep", [True, False])
def test_a_gradient_goes_bad_in_a_step_that_is_not_looked_at(deep: bool) -> None:
    """Every step has a glance at one gradient, whatever the budget allows."""
    with watched(deep=deep, budget=1e-9) as seen:
        torch.manual_seed(0)
        net = Net(torch.sigmoid)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
        for step in range(60):
            output = net(torch.randn(6, 4))
            loss = torch.sqrt(output.pow(2).sum() * (step != 50))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    found = the_one(seen)
    assert (found.step, found.what, origin(seen).op, found.how) == (51, "gradient", "sqrt", "step")


def test_gradients_that_are_large_but_finite() -> None:
    """Their squares overflow float32: the norm is Inf, the gradients are not."""
    assert train(lambda x: x, lambda output: output.mean() * 1e30, steps=1).of(NonFinite) == []


def test_gradients_changed_by_the_script_itself() -> None:
    with watched() as seen:
        net = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
        for _ in range(2):
            loss = net(torch.zeros(3, 4)).mul(0).mean()
            optimizer.zero_grad()
            loss.backward()
            total = torch.sqrt(sum((p.grad**2).sum() for p in net.parameters() if p.grad is not None))
            for p in net.parameters():
                p.grad = p.grad / total if p.grad is not None else None
            optimizer.step()
    found = origin(seen)
    assert (found.op, found.operands[1].name) == ("div", "total")


def test_an_update_that_makes_weights_nan() -> None:
    with watched() as seen:
        net = nn.Embedding(10, 3)
        optimizer = torch.optim.Adam(net.parameters(), lr=0.01, eps=0.0)
        for _ in range(3):
            loss = net(torch.tensor([1, 2])).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    found = the_one(seen)
    assert (found.step, found.what, origin(seen).phase) == (2, "weight", "weights")
    assert found.optimizer == "optimizer"
    assert found.update["eps"] == 0.0
    assert origin(seen).place.code is not None
    assert "torch.optim.Adam" in origin(seen).place.code


def test_what_the_lines_do_besides_is_lost_with_the_fork(tmp_path: Path) -> None:
    """The step runs again; lists, files, iterators and counters of the script must not."""
    done: list[int] = []
    batches = iter([torch.randn(3, 4) for _ in range(10)])
    with watched() as seen, (tmp_path / "log").open("w") as log:
        net = nn.Linear(4, 1)
        for step in range(3):
            done.append(step)
            batch = next(batches)
            log.write(f"{step}\n")
            output = net(batch)
            (torch.log(output * 0) if step == 1 else output).mean().backward()
    assert origin(seen).op == "log"
    assert done == [0, 1, 2]
    assert len(list(batches)) == 7
    assert (tmp_path / "log").read_text() == "0\n1\n2\n"


def test_the_sample_of_a_dataset() -> None:
    data = torch.randn(40, 4)
    data[17, 2] = float("nan")
    with watched() as seen:
        net = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
        for (x,) in DataLoader(TensorDataset(data), batch_size=8):
            loss = net(x).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    found = origin(seen)
    assert (the_one(seen).step, found.given, found.rows, found.samples) == (3, "x", (1,), (17,))


def test_the_earlier_of_several_accumulated_batches() -> None:
    with watched(deep=False) as seen:
        torch.manual_seed(0)
        net = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
        for step in range(1, 7):
            optimizer.zero_grad()
            for part in range(3):
                loss = torch.sqrt(net(torch.rand(5, 4)).pow(2).sum() * (step != 4 or part != 1))
                loss.backward()
            optimizer.step()
    found = the_one(seen)
    assert (found.step, found.what, origin(seen).op, found.how) == (4, "gradient", "sqrt", "step")


def test_several_statements_on_the_line_of_the_backward() -> None:
    with watched() as seen:
        net = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
        for _ in range(2):
            loss = torch.log(net(torch.randn(3, 4)) * 0).mean()
            # fmt: off
            optimizer.zero_grad(); loss.backward(); optimizer.step()  # noqa: E702
            # fmt: on
    assert (origin(seen).op, the_one(seen).how) == ("log", "step")


def test_behind_an_exception_of_anomaly_mode() -> None:
    """torch names the product behind the root, whose NaN it met first; the root's slope was inf."""
    with watched() as seen:
        torch.manual_seed(0)
        net, x = Net(torch.relu), torch.randn(6, 4)
        with torch.autograd.set_detect_anomaly(True):
            loss = (net(x) * 0).sqrt().mean()
            with (
                pytest.raises(RuntimeError, match="MulBackward0") as raised,
                pytest.warns(UserWarning, match="Error"),
            ):
                loss.backward()
        look_for_the_origin(seen.plumbing.hunt, raised.value)
    found, made = the_one(seen), origin(seen)
    assert (found.what, found.policy, found.how) == ("gradient", "anomaly", "step")
    assert (made.phase, made.op, made.made) == ("backward", "sqrt", "inf")


def test_behind_an_exception_of_our_own() -> None:
    """The region holds the backward alone; under `run` the step can be run again all the same."""
    with watched() as seen:
        torch.manual_seed(0)
        net, x = Net(torch.relu), torch.randn(6, 4)
        loss = (net(x) * 0).sqrt().mean()
        with pytest.raises(AnomalyError) as raised, detect_anomaly():
            loss.backward()
        look_for_the_origin(seen.plumbing.hunt, raised.value)
    found, made = the_one(seen), origin(seen)
    assert (found.what, found.policy, found.how) == ("gradient", "detect_anomaly", "step")
    assert (made.phase, made.op) == ("backward", "sqrt")
    assert made.operands


def test_behind_an_assert_on_the_loss() -> None:
    with watched() as seen:
        net, x = Net(torch.relu), torch.randn(6, 4)
        with pytest.raises(AssertionError) as raised:  # noqa: PT012  the line of the assert is the subject
            loss = torch.log(net(x) * 0 - 1).mean()
            assert not torch.isnan(loss)
        look_for_the_origin(seen.plumbing.hunt, raised.value)
    assert (the_one(seen).what, origin(seen).op) == ("value", "log")


def test_an_exception_that_no_number_has_caused() -> None:
    with watched() as seen:
        net, x = Net(torch.relu), torch.randn(6, 4)
        with pytest.raises(AssertionError) as raised:  # noqa: PT012  as above
            loss = net(x).mean()
            assert loss > 1e9
        look_for_the_origin(seen.plumbing.hunt, raised.value)
    assert seen.of(NonFinite) == []
