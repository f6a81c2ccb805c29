"""Data as it reaches the first layer."""

from __future__ import annotations

import math

import torch
from torch import nn

from tests.probes.watching import watched
from torch_debugger.records import InputLook


def test_numbers_that_are_not_finite_are_counted_among_those_measured() -> None:
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.Flatten(), nn.Linear(4 * 22 * 22, 2))
    x = torch.zeros(40, 3, 24, 24)
    x[0, 0, 0, 0], x[1, 0, 0, 0] = math.nan, math.inf
    with watched(on_nan="off") as seen:
        model(x).sum().backward()
    (look,) = seen.of(InputLook)

    assert look.not_finite == 2
    assert 0 < look.measured < x.numel()
