"""Each kind of condition stops where its user expects it, with the names at hand."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

import torch_debugger
from tests.breakpoints.conftest import Stop
from tests.breakpoints.models import Block, Functional, Net, Several, train
from torch_debugger import break_on_shape, break_when
from torch_debugger.probes.breakpoints_stops import _free_names, _own_step
from torch_debugger.system.errors import UsageError

BAD = -torch.ones(8, 4)


def test_in_the_forward_that_the_user_wrote(stops: list[Stop]) -> None:
    model = Net()
    with break_when("nan(output)", at="encoder.0"):
        model(BAD * 1000)
    (stop,) = stops
    assert (stop.function, stop.line) == ("forward", "return hidden.log()")
    assert stop.names["module"] is model.encoder[0]
    assert stop.names["hidden"].shape == (8, 4) and stop.names["self"] is model.encoder[0]
    assert stop.names["output"].isnan().any() and stop.names["step"] == 1


def test_also_where_no_module_is_inside(stops: list[Stop]) -> None:
    with break_when("nan(output)"):
        Functional()(torch.zeros(3))
    assert [(stop.function, stop.line) for stop in stops] == [("forward", "return shifted.sqrt()")]
    assert stops[0].names["shifted"].tolist() == [-1, -1, -1]


def test_in_the_caller_of_a_layer_of_torch_s(stops: list[Stop]) -> None:
    with break_when("numel(output) > 0", at="head"):
        Net()(torch.rand(8, 4))
    assert [(stop.function, stop.line) for stop in stops] == [("forward", "return self.head(hidden)")]
    assert stops[0].names["input"].shape == (8, 4) and stops[0].names["output"].shape == (8, 2)


def test_before_the_first_line_for_a_condition_on_the_input(stops: list[Stop]) -> None:
    with break_when("min(input) < 0", at="encoder.0"):
        Net()(BAD)
    (stop,) = stops
    assert stop.function == "forward" and stop.line.startswith("def forward(self, x")
    assert stop.names["x"] is stop.names["input"] and "hidden" not in stop.names


def test_where_backward_is_called_for_a_gradient(stops: list[Stop]) -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(inplace=True), nn.Linear(4, 1))
    with break_when("norm(grad) > 0.1", at="2"):
        output = model(torch.rand(8, 4))
        (output.sum() * 3).backward()
    (stop,) = stops
    assert stop.line == "(output.sum() * 3).backward()"
    assert torch.equal(stop.names["grad"], torch.full((8, 1), 3.0))
    assert stop.names["module"] is model[2]
    assert stop.names["output"] is output


def test_gradients_of_every_tensor_and_of_modules_that_write_in_place(stops: list[Stop]) -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(inplace=True), nn.LSTM(4, 3))
    with break_when("norm(grad) >= 0"):
        output, (hidden, _) = model(torch.rand(5, 4))
        (output.sum() + hidden.sum()).backward()
    kinds = [type(stop.names["module"]).__name__ for stop in stops]
    assert kinds.count("LSTM") == 2 and "ReLU" in kinds and "Linear" in kinds and "Sequential" in kinds


def test_gradient_and_output_together(stops: list[Stop]) -> None:
    with break_when("norm(grad) > 2 * norm(output) and max(input) == 1", at="0"):
        nn.Sequential(nn.Linear(4, 1, bias=False))(torch.ones(2, 4)).mul(1000).sum().backward()
    assert len(stops) == 1


def test_at_backward_for_the_loss(stops: list[Stop]) -> None:
    with break_when("nan(loss)"):
        train(Net(), 1, BAD * 1000)
    (stop,) = stops
    assert (stop.function, stop.line) == ("train", "loss.backward()")
    assert "loss" in stop.names and "optimizer" in stop.names


def test_before_the_model_for_a_step(stops: list[Stop]) -> None:
    with break_when("step == 2"):
        train(Net(), 4)
    (stop,) = stops
    assert stop.function == "train" and stop.line.startswith("output = net(")
    assert isinstance(stop.names["module"], Net) and stop.names["step"] == 2


def test_a_step_stops_once_however_many_calls_it_has(stops: list[Stop]) -> None:
    model = Net()
    with break_when("step >= 1"):
        for _ in range(5):
            model(torch.rand(2, 4))
    assert len(stops) == 1


def test_two_optimizers_do_not_count_twice(stops: list[Stop]) -> None:
    nets = [nn.Linear(2, 1), nn.Linear(2, 1)]
    optimizers = [torch.optim.SGD(net.parameters(), lr=0.1) for net in nets]
    with break_when("step == 3"):
        for iteration in range(4):
            assert iteration < 4
            for net, optimizer in zip(nets, optimizers, strict=True):
                net(torch.ones(1, 2)).sum().backward()
                optimizer.step()
    assert [stop.names["iteration"] for stop in stops] == [1]  # as soon as one of them has stepped twice


def test_the_watch_counts_where_there_is_one(stops: list[Stop]) -> None:
    net = nn.Linear(4, 1)
    with torch_debugger.Debugger():
        train(net, 3)
        with break_when("step >= 4"):
            train(net, 2)
    assert [stop.names["step"] for stop in stops] == [4, 5]


def test_the_model_s_own_name_may_be_left_out_or_not(stops: list[Stop]) -> None:
    wise = Net()
    for glob in ("encoder.0.fc", "wise.encoder.0.fc", "*.fc", "wise.*.fc", "encoder.*c"):
        with break_when("numel(output) > 0", at=glob):
            wise(torch.rand(2, 4))
        assert len(stops) == 1, glob
        stops.clear()


def test_one_model_of_two(stops: list[Stop]) -> None:
    first, second = Net(), Net()
    with break_when("numel(output) > 0", at="head", model=second):
        first(torch.rand(2, 4))
        second(torch.rand(2, 4))
    assert [stop.names["module"] for stop in stops] == [second.head]


def test_keywords_and_outputs_of_all_kinds(stops: list[Stop]) -> None:
    model = Several()
    with break_when("nan(output['hidden'][0]) and max(input['mask']) == 2", model=model):
        model(torch.zeros(3), mask=torch.tensor(2.0))
    (stop,) = stops
    assert stop.names["module"] is model and stop.names["input"]["mask"] == 2


def test_a_module_used_twice_is_asked_twice(stops: list[Stop]) -> None:
    with break_when("numel(output) > 0", at="part"):
        Several()(torch.ones(3), mask=torch.ones(3))
    assert len(stops) == 2


class Twice(nn.Module):
    def __init__(self, inner: nn.Module | None = None) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.inner(x) + 1 if self.inner is not None else x


def test_a_module_inside_another_of_its_class(stops: list[Stop]) -> None:
    outer = Twice(Twice())
    with break_when("numel(output) > 0", at="outer"):
        outer(torch.zeros(1))
    assert [stop.names["output"].item() for stop in stops] == [1.0]
    stops.clear()
    with break_when("numel(output) > 0", at="inner"):
        outer(torch.zeros(1))
    assert [stop.names["output"].item() for stop in stops] == [0.0]


class Decorated(nn.Module):
    @torch.no_grad()
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        doubled = x * 2
        return doubled + 0


def test_through_decorators(stops: list[Stop]) -> None:
    with break_when("numel(output) > 0"):
        Decorated()(torch.zeros(1))
    assert [stop.line for stop in stops] == ["return doubled + 0"]


@pytest.mark.parametrize("reentrant", [False, True])
def test_a_checkpointed_block_is_asked_once(reentrant: bool, stops: list[Stop]) -> None:
    block = nn.Sequential(nn.Linear(4, 4), nn.Tanh())
    x = torch.rand(2, 4, requires_grad=True)
    with break_when("numel(output) > 0", at="1"), break_when("norm(grad) >= 0", at="0"):
        checkpoint(block, x, use_reentrant=reentrant).sum().backward()
    assert ["grad" in stop.names for stop in stops] == [False, True]


def test_a_tracer_of_somebody_else_s_is_left_alone(stops: list[Stop]) -> None:
    def tracer(*_: object) -> None:
        return None

    sys.settrace(tracer)
    try:
        with break_when("numel(output) > 0", at="model"):
            model = Block()
            model(torch.rand(2, 4))
        assert sys.gettrace() is tracer
    finally:
        sys.settrace(None)
    assert [stop.line for stop in stops] == ["model(torch.rand(2, 4))"]


def test_the_user_s_own_variables_are_not_hidden(stops: list[Stop]) -> None:
    output = "mine"
    with break_when("numel(output) > 0"):
        nn.ReLU()(torch.zeros(2))
    (stop,) = stops
    assert stop.names["output"] == output and stop.names["_output"].tolist() == [0, 0]


def test_a_loop_that_counts_from_0_and_the_step_of_the_report() -> None:
    def frame_of_a_loop() -> FrameType:
        step = 0
        assert step == 0
        return sys._getframe()

    names = {"step": 1, "loss": 0.5}
    at_hand = _free_names(frame_of_a_loop(), names)
    assert at_hand == {"_step": 1, "loss": 0.5}
    assert _own_step(names, at_hand) == (
        "`step` here is the script's own; `_step` counts as the report does, from 1: 1. "
    )
    assert _own_step(names, names) == ""


def test_shapes(stops: list[Stop]) -> None:
    net = nn.Linear(4, 2)
    with break_on_shape((1, None), at="net"):
        net(torch.zeros(3, 4))
        assert not stops
        net(torch.zeros(1, 4))
    assert len(stops) == 1
    stops.clear()
    with break_on_shape(other_than=(..., 2)), break_on_shape(other_than=(3, 2)):
        net(torch.zeros(3, 4))
        assert not stops
        net(torch.zeros(5, 4))
    assert len(stops) == 1


@pytest.mark.parametrize("given", [{}, {"shape": (1,), "other_than": (1,)}])
def test_one_shape_is_expected(given: dict[str, tuple[int, ...]]) -> None:
    with pytest.raises(UsageError, match="break_on_shape takes one shape"):
        break_on_shape(**given)


def test_a_stop_inside_a_stop_does_not_happen(at_stop: Callable[[Callable[[], object]], None]) -> None:
    net, calls = nn.Linear(4, 2), []

    def prompt() -> None:
        calls.append(net(torch.zeros(1, 4)))  # as a user would try it

    at_stop(prompt)
    with break_when("numel(output) > 0") as handle:
        net(torch.zeros(1, 4))
    assert len(calls) == handle.hits == 1
