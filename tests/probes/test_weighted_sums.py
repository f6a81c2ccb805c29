"""Which dimensions weights are summed over, in real graphs; and what is told of a softmax over another one."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn

from tests.probes.watching import watched
from torch_debugger.probes.loss_graph import nodes_behind
from torch_debugger.probes.model.attention import weighted_over
from torch_debugger.records import WeightedSum

Use = Callable[[torch.Tensor], torch.Tensor]


@pytest.mark.parametrize(
    ("shape", "use", "over"),
    [
        ((3, 4, 1), lambda w: (w * torch.randn(3, 4, 5)).sum(1), {1}),
        ((3, 4), lambda w: (w.unsqueeze(-1) * torch.randn(3, 4, 5)).sum(dim=-2), {1}),
        ((3, 4), lambda w: (w.t()[:, :, None] * torch.randn(4, 3, 5)).sum(0), {1}),
        ((3, 4), lambda w: torch.bmm(w.unsqueeze(1), torch.randn(3, 4, 5)), {1}),
        ((3, 4), lambda w: torch.einsum("bt,btd->bd", w, torch.randn(3, 4, 5)), {1}),
        ((3, 2, 4, 6), lambda w: nn.functional.dropout(w) @ torch.randn(3, 2, 6, 5), {3}),
        ((3, 4, 6), lambda w: w.transpose(1, 2).contiguous() @ torch.randn(3, 4, 5), {1}),
        ((3, 4), lambda w: w.permute(1, 0) @ torch.randn(3, 5), {0}),
        ((3, 4), lambda w: torch.randn(5, 3) @ w, {0}),
        ((3, 4), lambda w: (w * torch.randn(3, 4)).mean(), {0, 1}),
    ],
)
def test_the_dimensions_of_weights_are_followed_to_their_sum(shape: tuple[int, ...], use: Use, over: set[int]) -> None:
    weights = torch.randn(*shape, requires_grad=True).softmax(0)
    consumers = nodes_behind(use(weights).grad_fn)
    assert [set(found) for found in weighted_over(weights.grad_fn, consumers)] == [over]


@pytest.mark.parametrize("use", [lambda w: (w / w.sum(1, keepdim=True)).mul(2).sum(1), lambda w: w.sum(1)])
def test_weights_that_are_normalised_again_or_weigh_nothing_are_not_followed(use: Use) -> None:
    weights = torch.randn(3, 4, requires_grad=True).softmax(0)
    assert not list(weighted_over(weights.grad_fn, nodes_behind(use(weights).grad_fn)))


class Pool(nn.Module):
    def __init__(self, dim: int) -> None:
        super().__init__()
        self.score, self.out, self.dim = nn.Linear(3, 1), nn.Linear(3, 1), dim

    def forward(self, bag: torch.Tensor) -> torch.Tensor:
        return self.out((torch.softmax(self.score(bag), dim=self.dim) * bag).sum(1))


def trained(dim: int) -> list[WeightedSum]:
    model = Pool(dim)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with watched() as seen:
        for _ in range(5):
            model(torch.randn(6, 4, 3)).square().mean().backward()
            optimizer.step()
            optimizer.zero_grad()
    return seen.of(WeightedSum)


def test_a_softmax_over_the_batch_is_told_of_a_few_times() -> None:
    looks = trained(dim=0)
    assert len(looks) == 3
    assert (looks[0].shape, looks[0].dim, looks[0].summed) == ((6, 4, 1), 0, (1,))
    assert looks[0].samples_first
    assert not looks[0].of_pairs
    assert not trained(dim=1)
