"""Weights and results between a forward and the backward that reaches it: replaced, written, or neither."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from tests.probes.watching import Seen, watched
from torch_debugger.probes import gradients_changed_weights as graph_weights
from torch_debugger.probes import gradients_changed_weights as replaced_parameters
from torch_debugger.records import DataWritten, ReplacedParameter


@pytest.fixture(autouse=True)
def of_this_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """A suite has more files of the user's than are searched."""
    for module in (graph_weights, replaced_parameters):
        monkeypatch.setattr(module, "user_files", lambda: (__file__,))


def net() -> nn.Sequential:
    return nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 2))


def test_what_is_replaced_after_each_update_is_told() -> None:
    with watched() as seen:
        model = net()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(5):
            optimizer.zero_grad()
            model(torch.ones(3, 4)).square().mean().backward()
            optimizer.step()
            head = model[2]
            head.weight = nn.Parameter(F.normalize(head.weight.detach()))
    told = seen.of(ReplacedParameter)
    assert [(each.name, each.looks, each.in_step) for each in told] == [
        ("model.2.weight", looks, False) for looks in (1, 2, 3, 4)
    ]


def test_between_forward_and_backward_too() -> None:
    with watched() as seen:
        model = net()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(5):
            optimizer.zero_grad()
            loss = model(torch.ones(3, 4)).square().mean()
            head = model[2]
            head.weight = nn.Parameter(head.weight.detach() * 0.9)
            loss.backward()
            optimizer.step()
    assert {(each.name, each.in_step) for each in seen.of(ReplacedParameter)} == {("model.2.weight", True)}


def test_a_copy_for_each_task_is_another_model() -> None:
    with watched() as seen:
        model = net()
        for _ in range(5):
            learner = copy.deepcopy(model)
            optimizer = torch.optim.SGD(learner.parameters(), lr=0.1)
            learner(torch.ones(3, 4)).square().mean().backward()
            optimizer.step()
            head = model[2]
            head.weight = nn.Parameter(learner[2].weight.detach().clone())
    assert not seen.of(ReplacedParameter)


def train_with_code(first_write: bool, last_write: bool) -> Seen:
    with watched() as seen:
        encoder, decoder = nn.Linear(4, 6), nn.Linear(6, 4)
        x = torch.randn(3, 4)
        for _ in range(3):
            if first_write:
                code = encoder(x)
                code.data = code.data.sign()
                loss = F.mse_loss(decoder(code), x)
                loss.backward()
            if last_write:
                early = encoder(x)
                total = early.square().mean()
                early.data.clamp_(-0.1, 0.1)
                total.backward()
    return seen


def test_a_result_that_is_written_before_it_is_used() -> None:
    assert not train_with_code(True, False).of(DataWritten)


def test_a_result_that_is_written_after_its_use() -> None:
    assert {each.name for each in train_with_code(False, True).of(DataWritten)} == {"early"}


def test_an_output_that_its_own_backward_reads() -> None:
    with watched() as seen:
        encoder, decoder = nn.Linear(4, 6), nn.Linear(6, 4)
        for _ in range(3):
            code = torch.tanh(encoder(torch.ones(3, 4)))
            code.data.sign_()  # into the memory from which tanh takes its derivative
            decoder(code).square().mean().backward()
    assert {each.name for each in seen.of(DataWritten)} == {"code"}


def test_weights_that_are_written_after_a_pass_that_is_not_trained_on() -> None:
    def train(again: bool) -> set[str]:
        with watched() as seen:
            model = net()
            for _ in range(3):
                output = model(torch.ones(3, 4))
                model[2].weight.data.mul_(0.5)
                if again:
                    output = model(torch.ones(3, 4))
                output.square().mean().backward()
        return {each.name for each in seen.of(DataWritten)}

    assert train(again=False) == {"model.2.weight"}
    assert not train(again=True)


def test_weights_that_no_gradient_reads() -> None:
    with watched() as seen:
        model = net()
        for _ in range(3):
            output = model(torch.ones(3, 4))
            model[0].weight.data.mul_(0.5)  # its input needs no gradient
            model[2].bias.data.add_(1.0)
            output.square().mean().backward()
    assert not seen.of(DataWritten)
