"""Products of scores and masks, told from scales, dropout and masks that are used once more."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn

from tests.probes.watching import watched
from torch_debugger.records import MultipliedMask

MASK = torch.tril(torch.ones(6, 6))


class Scores(nn.Module):
    def __init__(self, weigh: Callable[[torch.Tensor], torch.Tensor]) -> None:
        super().__init__()
        self.layer, self.weigh = nn.Linear(4, 4), weigh

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q = self.layer(x)
        return self.weigh(q @ q.transpose(1, 2)) @ q


def told(weigh: Callable[[torch.Tensor], torch.Tensor]) -> list[MultipliedMask]:
    with watched() as seen:
        net = Scores(weigh)
        net(torch.randn(3, 6, 4)).square().mean().backward()
    return seen.of(MultipliedMask)


@pytest.mark.parametrize(
    "weigh",
    [
        lambda scores: torch.softmax(scores * MASK, -1),
        lambda scores: torch.softmax(MASK * scores / 2.0, -1),
        lambda scores: torch.softmax(scores.mul(MASK.bool()), -1),
    ],
)
def test_a_mask_in_front_of_the_softmax(weigh: Callable[[torch.Tensor], torch.Tensor]) -> None:
    [look] = told(weigh)
    assert look.binary and not look.again
    assert look.shape == (3, 6, 6) and look.zeros == pytest.approx(15 / 36)


def test_what_is_no_mask_or_is_used_again() -> None:
    assert told(lambda scores: torch.softmax(scores.masked_fill(MASK == 0, -torch.inf) / 2, -1)) == []
    [scale] = told(lambda scores: torch.softmax(scores * (MASK + 0.5), -1))
    assert not scale.binary
    [again] = told(lambda scores: torch.softmax(scores * MASK, -1) * MASK)
    assert again.binary and again.again
