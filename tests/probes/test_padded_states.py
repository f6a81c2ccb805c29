"""Which recurrent layers end in the loss by their last step alone, and how their rows end."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence

from tests.probes.watching import watched
from torch_debugger.records import PaddedState

LENGTHS = torch.tensor([9, 3, 2, 4, 3])
TOKENS = torch.randint(1, 20, (5, 9)) * (torch.arange(9) < LENGTHS[:, None])
Use = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


class Reader(nn.Module):
    def __init__(self, use: Use, kind: type[nn.RNNBase] = nn.GRU, packs: bool = False) -> None:
        super().__init__()
        self.embed, self.rnn = nn.Embedding(20, 4), kind(4, 6, batch_first=True)
        self.head = nn.Linear(6, 2)
        self.use, self.packs = use, packs

    def forward(self, tokens: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        read = self.embed(tokens)
        if self.packs:
            _, state = self.rnn(pack_padded_sequence(read, lengths, batch_first=True, enforce_sorted=False))
            out = state.transpose(0, 1)
        else:
            out, state = self.rnn(read)
        made: torch.Tensor = self.head(self.use(out, state[0] if isinstance(state, tuple) else state))
        return made


def told(net: nn.Module) -> list[PaddedState]:
    with watched() as seen:
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(2):
            net(TOKENS, LENGTHS).square().mean().backward()
            optimizer.step()
    return seen.of(PaddedState)


@pytest.mark.parametrize("kind", [nn.RNN, nn.GRU, nn.LSTM])
@pytest.mark.parametrize(
    ("use", "words"),
    [
        (lambda out, state: out[:, -1], "last step"),
        (lambda out, state: torch.relu(out)[:, -1:, :].squeeze(1), "last step"),
        (lambda out, state: state[-1], "final state"),
    ],
)
def test_only_the_end_is_used(kind: type[nn.RNNBase], use: Use, words: str) -> None:
    first, second = told(Reader(use, kind))
    assert (first.layer, first.used, first.lengths) == ("net.rnn", words, "lengths")
    assert (first.rows, first.length, first.tokens, first.step, second.step) == (5, 9, True, 1, 2)
    assert first.ended == pytest.approx(4 / 5)
    assert first.in_tails == pytest.approx((45 - LENGTHS.sum().item()) / 45)
    assert (first.shortest, first.longest, first.elsewhere) == (0, 7, 0.0)


@pytest.mark.parametrize(
    "use",
    [
        lambda out, state: out.mean(1),
        lambda out, state: out[torch.arange(5), LENGTHS - 1],
        lambda out, state: out[:, -1] + out.mean(1),
        lambda out, state: out[:, 0],
    ],
)
def test_everything_else_is_another_use(use: Use) -> None:
    assert told(Reader(use)) == []


def test_packed_sequences_have_no_padding() -> None:
    assert told(Reader(lambda out, state: out[:, -1], packs=True)) == []


def test_vectors_are_told_from_the_one_that_ends_most_rows() -> None:
    class Plain(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.rnn = nn.GRU(3, 6, batch_first=True)

        def forward(self, tokens: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
            out, _ = self.rnn(tokens[:, :, None] * torch.tensor([1.0, 2.0, 3.0]))
            last: torch.Tensor = out[:, -1]
            return last

    look = told(Plain())[0]
    assert not look.tokens and look.filled and look.lengths == "lengths"
    assert look.taken.code == "last: torch.Tensor = out[:, -1]"
    assert (look.shortest, look.longest) == (0, 7)
