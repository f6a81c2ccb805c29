"""Which steps are profiled, and that the training does not notice."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path

import pytest
import torch
from torch import nn

from tests.probes.watching import watched
from torch_debugger.records import Notice, ProfileFact
from torch_debugger.settings import PROFILED_FROM


def train(steps: int) -> nn.Module:
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(8, 16), nn.Dropout(0.5), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(steps):
        loss = net(torch.randn(4, 8)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return net


def test_so_many_steps_are_profiled_once_the_training_runs_evenly(tmp_path: Path) -> None:
    with watched(deep=False, profile_steps=3, log_dir=str(tmp_path)) as seen:
        train(PROFILED_FROM + 20)
    [fact] = seen.of(ProfileFact)
    assert (fact.first_step, fact.steps) == (PROFILED_FROM + 1, 3)
    assert fact.plain_s > 0 and fact.cost_s > 0
    assert "net" in {each.module for each in fact.modules}
    assert sys.gettrace() is None
    with gzip.open(tmp_path / "trace.json.gz") as file:
        assert json.load(file)["traceEvents"]


def test_what_a_profile_takes_is_told_by_itself_and_not_as_a_cost_of_watching() -> None:
    with watched(deep=False, profile_steps=3) as seen:
        train(PROFILED_FROM + 40)
    governor = seen.plumbing.watch.governor
    [fact] = seen.of(ProfileFact)
    assert governor.base_s >= 0 and governor.light_s >= 0
    assert governor.base_s < fact.cost_s


def test_a_training_that_ends_before_is_told_as_far_as_it_came() -> None:
    with watched(deep=False, profile_steps=50) as seen:
        train(PROFILED_FROM + 4)
    [fact] = seen.of(ProfileFact)
    assert (fact.first_step, fact.steps) == (PROFILED_FROM + 1, 4)
    assert sys.gettrace() is None


def test_nothing_is_profiled_unless_somebody_asks() -> None:
    with watched(deep=False) as seen:
        train(PROFILED_FROM + 4)
    assert seen.of(ProfileFact) == []


def test_a_finding_gets_one_window_if_the_budget_pays_for_it() -> None:
    with watched(deep=False, budget=1e6) as seen:
        seen.plumbing.profiles.want(3)
        train(PROFILED_FROM + 8)
        seen.plumbing.profiles.want(3)
        train(8)
    [fact] = seen.of(ProfileFact)
    assert fact.steps == 3
    with watched(deep=False, budget=0.0) as seen:
        seen.plumbing.profiles.want(3)
        train(PROFILED_FROM + 8)
    assert seen.of(ProfileFact) == []


def test_the_weights_are_the_same_with_a_profile_and_without() -> None:
    plain = train(PROFILED_FROM + 12)
    with watched(deep=False, profile_steps=5):
        profiled = train(PROFILED_FROM + 12)
    for one, other in zip(plain.parameters(), profiled.parameters(), strict=True):
        assert torch.equal(one, other)


def test_beside_another_tracer_the_lines_are_left_out_and_that_is_said() -> None:
    def tracer(*_: object) -> None:
        return None

    with watched(deep=False, profile_steps=2) as seen:
        sys.settrace(tracer)
        try:
            train(PROFILED_FROM + 6)
        finally:
            sys.settrace(None)
    [fact] = seen.of(ProfileFact)
    assert fact.lines == () and fact.modules
    assert any("another tool traces" in notice.text for notice in seen.of(Notice))


@pytest.mark.parametrize("steps", [1, 2])
def test_a_single_step_can_be_profiled(steps: int) -> None:
    with watched(deep=False, profile_steps=steps) as seen:
        train(PROFILED_FROM + 6)
    assert [fact.steps for fact in seen.of(ProfileFact)] == [steps]
