"""A forward run once more: the op that made a NaN or Inf, its line and module, and no trace left."""

from __future__ import annotations

import random
from collections import deque
from typing import Any

import numpy
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from torch_debugger.records import Origin
from torch_debugger.source.variables import module_paths
from torch_debugger.trials.nan_in_forward import Model, find_in_model


class Net(nn.Module):
    """A layer, then a function of the test's choice inside a module of its own."""

    def __init__(self, function: Any) -> None:
        super().__init__()
        self.first = nn.Linear(4, 4, bias=False)  # lets everything through; gradients have somewhere to go
        nn.init.eye_(self.first.weight)
        self.middle = Function(function)
        self.last = nn.Linear(4, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.last(self.middle(self.first(x)))


class Function(nn.Module):
    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.function(x)


X = torch.tensor([[0.0, 1.0, 2.0, 3.0], [4.0, 0.0, 6.0, 7.0]])


def origin_of(model: nn.Module, *arguments: Any, slopes: bool = False, **keywords: Any) -> Origin | None:
    call = (arguments or (X,), keywords)
    held = Model(model, module_paths(model, "net"), call, torch.get_rng_state())
    return find_in_model(held, slopes=slopes)


def log(x: torch.Tensor) -> torch.Tensor:
    return torch.log(x)  # log of zero


def log_method(x: torch.Tensor) -> torch.Tensor:
    return x.log() - x.log()  # inf - inf


def log_in_place(x: torch.Tensor) -> torch.Tensor:
    return x.clone().log_()


def root_in_place(x: torch.Tensor) -> torch.Tensor:
    y = x - 1
    y.sqrt_()
    return y * 2


def divide(x: torch.Tensor) -> torch.Tensor:
    return 1.0 / x


def divide_zero(x: torch.Tensor) -> torch.Tensor:
    return x / x


def root(x: torch.Tensor) -> torch.Tensor:
    return (x - 1).sqrt()


def overflow(x: torch.Tensor) -> torch.Tensor:
    return torch.exp(x * 100)


def zero_times_inf(x: torch.Tensor) -> torch.Tensor:
    large = torch.exp(x * 100 + 1)
    return large * x


def empty_row(x: torch.Tensor) -> torch.Tensor:
    scores = x.masked_fill(torch.ones_like(x, dtype=torch.bool), float("-inf"))
    return F.softmax(scores, dim=-1)


def power(x: torch.Tensor) -> torch.Tensor:
    return (x - 1) ** 0.5


@pytest.mark.parametrize(
    ("function", "op", "line"),
    [
        (log, "log", "return torch.log(x)  # log of zero"),
        (log_method, "log", "return x.log() - x.log()  # inf - inf"),
        (log_in_place, "log", "return x.clone().log_()"),
        (root_in_place, "sqrt", "y.sqrt_()"),
        (divide, "div", "return 1.0 / x"),
        (divide_zero, "div", "return x / x"),
        (root, "sqrt", "return (x - 1).sqrt()"),
        (overflow, "exp", "return torch.exp(x * 100)"),
        (zero_times_inf, "exp", "large = torch.exp(x * 100 + 1)"),
        (empty_row, "softmax", "return F.softmax(scores, dim=-1)"),
        (power, "pow", "return (x - 1) ** 0.5"),
    ],
)
def test_the_op_its_line_and_its_module(function: Any, op: str, line: str) -> None:
    found = origin_of(Net(function))
    assert found is not None
    assert found.op == op
    assert (found.phase, found.module, found.place.code) == ("forward", "net.middle", line)
    assert found.place.file == __file__


def test_the_operands_as_they_were_before() -> None:
    found = origin_of(Net(root_in_place))
    assert found is not None
    [operand] = found.operands
    assert (operand.name, operand.dtype, operand.shape) == ("y", "float32", (2, 4))
    assert (operand.low, operand.high, operand.zeros, operand.negatives, operand.elements) == (-1, 6, 1, 2, 8)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x + 1,
        lambda x: F.softmax(x.masked_fill(x > 3, float("-inf")), dim=-1),
        lambda x: torch.where(x > 0, x, torch.full_like(x, float("-inf"))).max(dim=0).values.expand(2, 4),
        lambda x: torch.log(x.clamp_min(1e-6)),
        lambda x: x.clone().fill_(float("inf")).clamp(max=3.0),
    ],
    ids=["sum", "masked softmax", "masked maximum", "clamped log", "filled"],
)
def test_a_healthy_forward_blames_nobody(function: Any) -> None:
    assert origin_of(Net(function)) is None


def test_attention_with_a_causal_mask_is_healthy() -> None:
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    mask = nn.Transformer.generate_square_subsequent_mask(5)
    assert origin_of(layer, torch.randn(2, 5, 8), src_mask=mask) is None


def test_nan_in_the_input() -> None:
    bad = X.clone()
    bad[0, 0] = float("nan")
    found = origin_of(Net(log), bad)
    assert found is not None
    assert (found.phase, found.given, found.op, found.rows) == ("input", "input", None, (0,))
    [operand] = found.operands
    assert (operand.nans, operand.low, operand.high, operand.zeros) == (1, 0, 7, 1)


def test_nan_in_a_keyword_input() -> None:
    found = origin_of_keyword(torch.tensor([[float("inf"), 1.0, 2.0, 3.0]]))
    assert found is not None
    assert (found.phase, found.given) == ("input", "x")


def origin_of_keyword(x: torch.Tensor) -> Origin | None:
    model = Net(lambda x: x + 1)
    return find_in_model(Model(model, module_paths(model, "net"), ((), {"x": x})), slopes=False)


def test_a_weight_that_is_nan() -> None:
    model = Net(lambda x: x + 1)
    with torch.no_grad():
        model.last.weight[0, 0] = float("nan")
    found = origin_of(model)
    assert found is not None
    assert (found.phase, found.given, found.module) == ("weights", "net.last.weight", "net.last")


# Slopes: a finite forward whose gradient is not


@pytest.mark.parametrize(
    ("function", "op"),
    [
        (lambda x: x.sqrt(), "sqrt"),
        (lambda x: torch.sqrt(x) * 2, "sqrt"),
        (lambda x: x.clone().sqrt_(), "sqrt"),
        (lambda x: x**0.5, "pow"),
        (lambda x: torch.acos(x / 7), "acos"),
        (lambda x: x - (x * 0).var().sqrt(), "sqrt"),
    ],
    ids=["method", "function", "in place", "power", "acos", "deviation of equal values"],
)
def test_an_infinite_slope(function: Any, op: str) -> None:
    assert origin_of(Net(function)) is None
    found = origin_of(Net(function), slopes=True)
    assert found is not None
    assert found.op == op
    assert (found.phase, found.module) == ("backward", "net.middle")


@pytest.mark.parametrize(
    "function",
    [lambda x: (x + 1).sqrt(), lambda x: x**2, lambda x: x**2.5, lambda x: x.norm() + x, lambda x: x - x.std()],
    ids=["away from zero", "square", "power above one", "norm", "std"],
)
def test_a_slope_that_is_finite(function: Any) -> None:
    assert origin_of(Net(function), slopes=True) is None


# No trace


class Restless(nn.Module):
    """Everything a forward can change."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(4)
        self.drop = nn.Dropout(0.5)
        self.register_buffer("seen", torch.zeros(()))
        self.count = 0
        self.memory = torch.zeros(4)
        self.history: list[float] = []
        self.recent: deque[int] = deque(maxlen=2)
        self.named: dict[str, int] = {}
        self.own = torch.Generator().manual_seed(3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        print("forward")
        x.mul_(2)
        self.count += 1
        self.seen += 1
        self.memory.add_(1)
        self.history.append(random.random())
        self.recent.append(self.count)
        self.named[str(self.count)] = int(numpy.random.randint(10))
        self.late = torch.rand(1)
        noise = torch.rand(x.shape, generator=self.own)
        return torch.log(self.drop(self.norm(x)) * 0 * noise)


def test_no_trace_is_left(capfd: pytest.CaptureFixture[str]) -> None:
    model, x = Restless(), torch.randn(6, 4)

    def everything() -> list[Any]:
        plain = {name: value for name, value in vars(model).items() if not isinstance(value, torch.Generator)}
        return [
            x.clone(), x._version, torch.get_rng_state(), random.getstate(), str(numpy.random.get_state()),
            {name: tensor.clone() for name, tensor in model.state_dict().items()},
            model.memory.clone(), model.memory._version, list(model.history), list(model.recent),
            dict(model.named), model.count, sorted(plain), model.own.get_state(),
        ]  # fmt: skip

    before = everything()
    found = origin_of(model, x)
    after = everything()
    assert found is not None
    assert found.op == "log"
    assert capfd.readouterr() == ("", "")
    for one, other in zip(before, after, strict=True):
        assert str(one) == str(other)


def test_the_users_backward_still_runs() -> None:
    """The input was saved for backward; a replay that wrote into it would make that raise."""

    class InPlace(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc = nn.Linear(4, 4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y = self.fc(x)
            x.add_(0.0) if not torch.is_grad_enabled() else None
            return y

    model, x = InPlace(), torch.randn(3, 4)
    loss = model(x).sum()
    assert origin_of(model, x) is None
    loss.backward()


def test_the_same_dropout_as_in_the_step() -> None:
    """The NaN hangs on the random numbers of the step; only the same ones find it."""

    class Unlucky(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.log(x * (torch.rand(1) > 0.5))

    model, x = Unlucky(), torch.ones(3)
    for seed in range(10):
        torch.manual_seed(seed)
        state = torch.get_rng_state()
        failed = not model(x).isfinite().all()
        torch.manual_seed(1234)
        found = find_in_model(Model(model, {id(model): "net"}, ((x,), {}), state), slopes=False)
        assert (found is not None) == failed


def test_attention_whose_mask_forbids_a_whole_row() -> None:
    """The mask is as it should be written; what it leaves is nothing."""
    layer = nn.MultiheadAttention(8, 2, batch_first=True)
    mask = torch.zeros(5, 5)
    mask[2] = float("-inf")
    x = torch.randn(2, 5, 8)
    found = origin_of(layer, x, x, x, attn_mask=mask)
    assert found is not None
    assert (found.phase, found.op) == ("forward", "multi_head_attention_forward")


def test_minus_infinity_in_the_data_of_a_layer() -> None:
    bad = X.clone()
    bad[1, 2] = float("-inf")
    found = origin_of(Net(lambda x: x + 1), bad)
    assert found is not None
    assert (found.phase, found.given, found.rows) == ("input", "input", (1,))
