"""Clips of gradients: how large they found them, and whether they came in time."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from tests.probes.watching import watched
from torch_debugger.records import ClipFact


def train(steps: int, late: bool = False, by_value: bool = False) -> None:
    net = nn.Linear(4, 1)
    opt = torch.optim.SGD(net.parameters(), lr=1e-3)
    for _ in range(steps):
        opt.zero_grad()
        net(torch.ones(2, 4)).sum().backward()
        if late:
            opt.step()
        nn.utils.clip_grad_value_(net.parameters(), 0.1) if by_value else nn.utils.clip_grad_norm_(
            net.parameters(), 0.1
        )
        if not late:
            opt.step()


def test_a_clip_in_time_tells_its_norm_and_limit() -> None:
    with watched() as seen:
        train(3)
    facts = seen.of(ClipFact)
    assert [(fact.step, fact.late, fact.limit, fact.optimizer) for fact in facts] == [
        (step, False, 0.1, "opt") for step in (1, 2, 3)
    ]
    assert facts[0].norm == torch.tensor([2.0, 2.0, 2.0, 2.0, 2.0]).norm().item()
    assert facts[0].place.code is not None and "clip_grad_norm_" in facts[0].place.code


def test_a_clip_after_the_step_is_late() -> None:
    with watched() as seen:
        train(3, late=True)
    assert {fact.late for fact in seen.of(ClipFact)} == {True}


def test_a_clip_by_value_is_told_by_the_norms_before_and_after_it() -> None:
    with watched() as seen:
        train(2, by_value=True)
    for fact in seen.of(ClipFact):
        assert (fact.limit, fact.left) == (0.1, pytest.approx(0.1 * math.sqrt(5)))
        assert fact.norm == pytest.approx(2 * math.sqrt(5))


def test_two_optimizers_are_told_apart() -> None:
    with watched() as seen:
        first, second = nn.Linear(4, 1), nn.Linear(4, 1)
        one, two = (torch.optim.SGD(net.parameters(), lr=1e-3) for net in (first, second))
        for _ in range(2):
            for net, opt in ((first, one), (second, two)):
                opt.zero_grad()
                net(torch.ones(2, 4)).sum().backward()
                nn.utils.clip_grad_norm_(net.parameters(), 0.1)
                opt.step()
    assert [(fact.optimizer, fact.late) for fact in seen.of(ClipFact)][-2:] == [("one", False), ("two", False)]


def test_most_steps_are_not_told() -> None:
    with watched(deep=False) as seen:
        train(400)
    assert 30 < len(seen.of(ClipFact)) < 150
