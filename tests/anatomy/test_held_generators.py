"""Generators that a model holds draw on after a run that leaves no trace as if it had never been."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest
import torch
from torch import nn

from torch_debugger import SummaryWriter
from torch_debugger.model.reruns import leaving_no_trace


class Jitter:
    """A transform, as users write them."""

    def __init__(self) -> None:
        self.rng = random.Random(5)

    def random(self) -> float:
        return self.rng.random()


class Noisy(nn.Module):
    def __init__(self, source: Any, draw: Callable[[Any], float]) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)
        self.source = source
        self.draw = draw

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = self.layer(x) * self.draw(self.source)
        return result


def first_of(held: Any) -> float:
    return float(held[0].random())


SOURCES: dict[str, tuple[Callable[[], Any], Callable[[Any], float]]] = {
    "numpy's Generator": (lambda: numpy.random.default_rng(0), lambda rng: float(rng.random())),
    "numpy's RandomState": (lambda: numpy.random.RandomState(0), lambda rng: float(rng.rand())),
    "another bit generator": (
        lambda: numpy.random.Generator(numpy.random.MT19937(0)),
        lambda rng: float(rng.random()),
    ),
    "Python's Random": (lambda: random.Random(1), lambda rng: float(rng.random())),
    "torch's Generator": (
        lambda: torch.Generator().manual_seed(3),
        lambda rng: float(torch.rand((), generator=rng)),
    ),
    "one in a list": (lambda: [numpy.random.default_rng(0)], first_of),
    "one of a transform's": (Jitter, lambda jitter: float(jitter.random())),
    "one of a transform's in a list": (lambda: [Jitter()], first_of),
}


@pytest.mark.parametrize("kind", SOURCES)
def test_what_is_drawn_in_a_run_without_a_trace_is_as_if_never_drawn(kind: str) -> None:
    make, draw = SOURCES[kind]
    model = nn.Sequential(Noisy(make(), draw))
    expected = draw(make())
    held = model[0].source
    with leaving_no_trace(model):
        model(torch.ones(2, 4))
    assert model[0].source is held
    assert draw(held) == expected


@pytest.mark.parametrize("kind", SOURCES)
def test_a_graph_draws_nothing(kind: str, tmp_path: Path) -> None:
    make, draw = SOURCES[kind]
    model = Noisy(make(), draw)
    with SummaryWriter(str(tmp_path)) as writer:
        writer.add_graph(model, torch.ones(2, 4))
    assert draw(model.source) == draw(make())


def test_the_random_numbers_of_numpy_go_on_to_the_half_drawn_pair() -> None:
    numpy.random.seed(3)
    numpy.random.standard_normal()  # the second of a pair waits
    before = numpy.random.get_state()
    with leaving_no_trace(nn.Linear(2, 2)):
        drawn = numpy.random.standard_normal(1000)
    assert numpy.array_equal(numpy.random.standard_normal(1000), drawn)
    assert before[3] == 1, "else nothing was waiting"


def test_the_system_s_random_has_no_state_and_is_left_alone() -> None:
    model = Noisy(random.SystemRandom(), lambda rng: float(rng.random()))
    with leaving_no_trace(model):
        model(torch.ones(2, 4))


def test_models_that_hold_themselves_are_no_endless_walk() -> None:
    model = Noisy([], lambda rng: 1.0)
    model.source += [model, [model]]
    with leaving_no_trace(model):
        model(torch.ones(2, 4))
