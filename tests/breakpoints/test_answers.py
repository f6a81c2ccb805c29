"""What conditions answer, against the obvious way of asking torch."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import pytest
import torch
from torch import nn

from torch_debugger.probes.breakpoints_answers import MEASURES, call_input, holds
from torch_debugger.probes.breakpoints_answers import ConditionNames as Scene
from torch_debugger.source.breakpoint_conditions import parse_condition


def ask(text: str, **tensors: Any) -> bool:
    module = tensors.pop("module", None)
    scene = Scene(step=tensors.pop("step", 7), module=module, path="net.fc", loss=tensors.pop("loss", None))
    scene.tensors = tensors
    return holds(parse_condition(text).tree, scene)


X = torch.tensor([[1.0, -2.0, 0.0], [4.0, 0.5, 0.0]])
NAN = torch.tensor([1.0, math.nan])
INF = torch.tensor([1.0, -math.inf])


@pytest.mark.parametrize(
    "text",
    [
        "max(output) == 4 and min(output) == -2",
        "sum(output) == 3.5",
        "mean(output) > 0.58 and mean(output) < 0.59",
        "zeros(output) > 0.33 and zeros(output) < 0.34",
        "dim(output) == 2 and numel(output) == 6 and len(output) == 2",
        "shape(output) == (2, 3)",
        "shape(output) == (None, 3)",
        "shape(output) == (..., 3) and shape(output) == (2, ...) and shape(output) == (...,)",
        "shape(output) == (2, ..., 3)",
        "shape(output) != (3, 2)",
        "shape(output) != (2, 3, ...) or shape(output) == (2, 3, ...)",
        "shape(output) != (2, 3, None)",
        "shape(output)[0] == 2 and shape(output)[-1] == 3",
        "len(shape(output)) == 2",
        "dtype(output) == 'float32' and device(output) == 'cpu'",
        "any(output > 3) and not all(output > 3) and all(abs(output) < 5)",
        "max(abs(output * 2 - 1)) == 7",
        "max(output ** 2) == 16",
        "max(output[1]) == 4 and min(output[0]) == -2",
        "max(-output) == 2",
        "finite(output) and not nan(output) and not inf(output)",
        "step == 7 and step % 5 == 2 and step // 2 == 3 and step / 2 == 3.5 and step ** 2 == 49",
        "path == 'net.fc' and path != 'net'",
        "1 < 2 < 3 and not 1 < 2 < 2",
        "9 ** 9 ** 9 > 10",
        "1 / 0 > 1 or True",
        "nan(grad) or True",
    ],
)
def test_it_holds(text: str) -> None:
    assert ask(text, output=X)


@pytest.mark.parametrize(
    ("text", "value", "answer"),
    [
        ("nan(output)", NAN, True),
        ("nan(output)", INF, False),
        ("inf(output)", INF, True),
        ("inf(output)", NAN, False),
        ("finite(output)", NAN, False),
        ("finite(output)", INF, False),
        ("nan(output)", torch.tensor([3e38, 3e38]), False),  # their sum is not finite, they are
        ("inf(output)", torch.tensor([3e38, 3e38]), False),
        ("finite(output)", torch.tensor([3e38, 3e38]), True),
        ("inf(output)", torch.tensor([math.inf, -math.inf]), True),  # their sum is NaN
        ("nan(output)", torch.tensor([math.inf, -math.inf]), False),
        ("finite(output)", torch.tensor([60000.0] * 4, dtype=torch.float16), True),
        ("norm(output) == 120000", torch.tensor([60000.0] * 4, dtype=torch.float16), True),
        ("mean(output) == 60000", torch.tensor([60000.0] * 4, dtype=torch.float16), True),
        ("mean(output) == 1.5 and max(output) == 2", torch.tensor([1, 2]), True),
        ("sum(output) == 1 and zeros(output) == 0.5", torch.tensor([True, False]), True),
        ("max(output) == 5", torch.tensor([3 + 4j]), True),
        ("nan(output)", torch.tensor([complex(0, math.nan)]), True),
        ("max(output) == 2", torch.tensor([1.0, 2.0]).to(torch.float8_e5m2), True),
        ("sum(output) == 5", torch.tensor([[0.0, 2.0], [3.0, 0.0]]).to_sparse(), True),
        ("nan(output)", torch.tensor([]), False),
        ("numel(output) == 0", torch.tensor([]), True),
        ("max(output) > 0", torch.empty(3, device="meta"), False),
        ("shape(output) == (3,)", torch.empty(3, device="meta"), True),
        ("std(output) == 1", torch.tensor([0.0, 1.0, 2.0]), True),
        ("std(output) >= 0", torch.tensor(1.0), False),
        ("len(output) == 1", torch.tensor(1.0), False),
        ("shape(output)[3] == 1", X, False),
        ("nan(output['x'])", X, False),
        ("nan(output)", None, False),
        ("nan(output)", "text", False),
        ("nan(output)", 3, False),
    ],
)
def test_edges(text: str, value: Any, answer: bool) -> None:
    assert ask(text, output=value) is answer


@dataclasses.dataclass
class Output:
    logits: torch.Tensor
    hidden: tuple[torch.Tensor, ...]


def test_outputs_of_several_tensors_count_together() -> None:
    pair = (X, NAN)
    assert ask("nan(output)", output=pair)
    assert not ask("nan(output[0])", output=pair)
    assert ask("nan(output[1])", output=pair)
    assert ask("len(output) == 2 and numel(output) == 8", output=pair)
    assert ask("norm(output) == 5", output=(torch.tensor([3.0]), torch.tensor([4.0])))
    assert ask("max(output) == 4 and min(output) == 3", output={"a": torch.tensor([3.0]), "b": torch.tensor([4])})
    assert ask("nan(output['b'])", output={"a": X, "b": NAN})
    assert ask("nan(output)", output=Output(X, (X, NAN)))


def test_names_of_the_module() -> None:
    layer = nn.Linear(2, 2)
    nn.init.constant_(layer.weight, 3.0)
    assert ask("max(weight) == 3 and module == 'Linear' and training", module=layer)
    assert ask("max(parameter('weight')) == 3", module=layer)
    assert not ask("max(parameter('nothing')) == 3", module=layer)
    assert not ask("max(weight) == 3", module=nn.ReLU())
    assert not ask("max(weight) == 3", module=nn.LazyLinear(3))
    assert ask("not training", module=nn.ReLU().eval())
    assert ask("max(parameter('running_var')) == 1", module=nn.BatchNorm1d(3))


def test_what_is_not_known_does_not_hold() -> None:
    assert not ask("loss > 1")
    assert not ask("nan(grad)")
    assert not ask("not nan(grad)")
    assert not ask("nan(grad) and True")
    assert not ask("not (nan(grad) and False) and nan(grad)")
    assert ask("not (nan(grad) and False)")
    assert not ask("1 / 0 > 1") and not ask("(-8) ** 0.5 == 1") and not ask("step % 0 == 1")
    assert ask("loss > 1", loss=2.0)
    assert ask("nan(loss)", loss=math.nan)


def test_inputs() -> None:
    assert call_input((X,), {}) is X
    assert call_input((X, NAN), {}) == (X, NAN)
    assert ask("nan(input[1]) and not nan(input[0])", input=call_input((X, NAN), {}))
    assert ask("nan(input['mask']) and not nan(input[0])", input=call_input((X,), {"mask": NAN}))


@pytest.mark.parametrize("name", ["min", "max", "mean", "std", "sum"])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_numbers_against_float64(name: str, dtype: torch.dtype) -> None:
    x = torch.linspace(-3, 5, 1001).to(dtype).reshape(7, 143).t()
    slow = getattr(x.double(), name)().item()
    assert MEASURES[name](x) == pytest.approx(slow, rel=1e-4)
    assert MEASURES["norm"](x) == pytest.approx(x.double().norm().item(), rel=1e-4)


def test_nothing_is_changed() -> None:
    x = torch.randn(5, requires_grad=True)
    y = x * 2
    state, version = torch.get_rng_state(), y._version
    assert ask("norm(output) > 0 and finite(output) and max(abs(output)) > 0 and zeros(output) < 2", output=y)
    assert torch.equal(torch.get_rng_state(), state)
    assert y._version == version and y.grad_fn is not None
