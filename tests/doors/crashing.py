"""Crashes of many kinds for the doors to explain."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc1 = nn.Linear(8, 16)
        self.fc2 = nn.Linear(20, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.fc2(self.fc1(x))  # type: ignore[no-any-return]


def shapes_that_do_not_fit() -> None:
    Net()(torch.randn(4, 8))


def a_missing_key() -> None:
    {}["missing"]


def raised_by(call: Callable[[], object]) -> BaseException:
    try:
        call()
    except BaseException as error:
        return error
    raise AssertionError("it was meant to raise")
