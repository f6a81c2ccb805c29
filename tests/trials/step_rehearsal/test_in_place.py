"""Where a fork cannot make a backward, the step is made here, and nothing shows that it was."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from torch import nn

from torch_debugger.model.nested_tensors import exchanged
from torch_debugger.trials import step_rehearsal as apart
from torch_debugger.trials.rehearsed_step import RunnableStep
from torch_debugger.trials.step_rehearsal import perform_in_place
from torch_debugger.trials.step_to_rehearse import step_of

CUBLAS_BYTES = 1000


class Counting(nn.Module):
    """Changes itself in forward, as some models do."""

    def __init__(self, fails: bool = False) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.Dropout(), nn.Linear(16, 4))
        self.memory = nn.LSTM(4, 4, batch_first=True)
        self.calls, self.fails = 0, fails

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        self.seen = x
        if self.fails:
            raise RuntimeError("no such luck")
        hidden: torch.Tensor = self.memory(self.net(x).unsqueeze(1))[0]
        return hidden


def step(fails: bool = False) -> RunnableStep:
    model = Counting(fails)
    optimizer = torch.optim.AdamW(model.parameters())
    made, _ = step_of("model", model, (torch.randn(6, 8),), None, None, optimizer)
    return made


def told(step: RunnableStep) -> tuple[Any, ...]:
    model, optimizer = step.models["model"], step.optimizer
    assert optimizer is not None
    return (
        {name: (id(value), value.tolist(), value.grad) for name, value in model.named_parameters()},
        {name: (id(value), value.tolist()) for name, value in model.named_buffers()},
        [sorted(vars(module)) for module in model.modules()],
        [len(module._forward_hooks) for module in model.modules()],
        [id(value) for value in model.get_submodule("memory")._flat_weights],  # type: ignore[union-attr]
        model.calls,
        exchanged(optimizer.state_dict(), torch.Tensor.tolist),
        [[id(value) for value in group["params"]] for group in optimizer.param_groups],
        sorted(vars(optimizer)),
        torch.get_rng_state().tolist(),
        torch.distributions.Distribution._validate_args,
    )


def test_the_peak_is_that_of_a_fork() -> None:
    made = step()
    here = perform_in_place(made, made.batch, cublas_bytes=CUBLAS_BYTES)
    there = apart.perform_apart(made, made.batch, real=False, cublas_bytes=CUBLAS_BYTES)
    assert here.by_category == there.by_category
    assert (here.peak_bytes, here.reserved_bytes) == (there.peak_bytes, there.reserved_bytes)


@pytest.mark.parametrize("trained", [False, True])
def test_model_optimizer_and_random_numbers_stay_as_they_are(trained: bool) -> None:
    made = step()
    if trained:
        made.models["model"](torch.randn(6, 8)).sum().backward()
        assert made.optimizer is not None
        made.optimizer.step()
        made.optimizer.zero_grad()
    before = copy.deepcopy(told(made))
    perform_in_place(made, made.batch, cublas_bytes=CUBLAS_BYTES)
    assert told(made) == before


def test_also_after_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    made = step(fails=True)
    before = copy.deepcopy(told(made))
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_rng_state_all", list)
    with pytest.raises(apart.FailedError, match="RuntimeError: no such luck"):
        apart.perform_apart(made, made.batch, real=False, cublas_bytes=CUBLAS_BYTES)
    assert told(made) == before


def test_a_step_that_needs_values_is_refused_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    with pytest.raises(apart.FailedError, match="Rehearse it in a fresh process"):
        apart.perform_apart(step(), 6, real=True, cublas_bytes=CUBLAS_BYTES)
