"""What loss functions compared, read from real graphs and held against the plain computation."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from torch_debugger.model.autograd_graph import walk_nodes
from torch_debugger.probes.loss_terms import read_terms
from torch_debugger.probes.loss_token_targets import read_token_targets
from torch_debugger.records import ClassTargets, Comparison, Place, Record, TokenTargets

VOCABULARY = 11


@pytest.fixture(autouse=True)
def _same_numbers() -> None:
    torch.manual_seed(0)


def terms(loss: Tensor) -> list[Record]:
    nodes, _, _ = walk_nodes(loss.grad_fn, 64)
    return [look.record(look.numbers.tolist()) for look in read_terms(nodes, "loss", 1, Place())]


def tokens(loss: Tensor, model: nn.Module) -> TokenTargets | None:
    nodes, _, _ = walk_nodes(loss.grad_fn, 64)
    names = {id(parameter): f"net.{name}" for name, parameter in model.named_parameters()}
    look = read_token_targets(nodes, names, "loss", 1, Place())
    found = look.record(look.numbers.tolist()) if look is not None else None
    assert found is None or isinstance(found, TokenTargets)
    return found


def test_both_sides_of_an_error_are_measured() -> None:
    prediction, target = torch.randn(6, 2, requires_grad=True), 10 * torch.randn(6, 2)
    (found,) = terms(3 * F.mse_loss(prediction, target))
    assert isinstance(found, Comparison) and found.shape == (6, 2)
    assert found.target.mean == pytest.approx(target.mean().item(), rel=1e-4)
    assert found.prediction.std == pytest.approx(prediction.std(correction=0).item(), rel=1e-4)
    assert found.below_zero == pytest.approx((target < 0).float().mean().item())
    assert math.isnan(found.pos_weight)


@pytest.mark.parametrize(
    ("model", "error"),
    [
        (nn.Linear(3, 2), lambda out, y: ((out - y) ** 2).mean()),
        (nn.Linear(3, 2), lambda out, y: (y - out).abs().sum()),
        (nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 2)), F.l1_loss),
        (nn.Sequential(nn.Linear(3, 2), nn.Tanh()), lambda out, y: (y - out).square().mean()),
    ],
    ids=["square", "absolute", "l1_loss", "activation"],
)
def test_an_error_written_by_hand_has_its_two_sides_as_well(model: nn.Module, error: Any) -> None:
    x, target = torch.randn(40, 3), 10 * torch.randn(40, 2)
    output = model(x)
    (found,) = terms(error(output, target))
    assert isinstance(found, Comparison) and found.op in ("Pow", "Abs") and found.shape == (40, 2)
    assert found.target.mean == pytest.approx(target.mean().item(), rel=1e-3)
    assert found.target.highest == pytest.approx(target.max().item(), rel=1e-3)
    assert found.prediction.mean == pytest.approx(output.mean().item(), rel=1e-3, abs=1e-5)


def test_other_differences_are_left_alone() -> None:
    layer, x, y = nn.Linear(3, 2), torch.randn(8, 3), torch.randn(8, 2)
    both = (layer(x) - layer(x + 1)).square().mean()
    cubed, penalty = ((layer(x) - y) ** 3).mean(), (layer(x).norm(dim=1) - 1).square().mean()
    spread = (layer(x) - torch.randn(8, 4, 2).movedim(1, 0)).square().mean()
    assert [terms(loss) for loss in (both, cubed, penalty, spread)] == [[], [], [], []]


@pytest.mark.parametrize("shape", [(12, 5), (3, 5, 4), (2, 5, 3, 3), (200, 5), (2, 5, 40, 40)])
def test_log_probabilities_sum_up_to_one_in_every_layout(shape: tuple[int, ...]) -> None:
    scores = torch.randn(shape, requires_grad=True)
    target = torch.randint(0, 5, (shape[0], *shape[2:]))
    (found,) = terms(F.cross_entropy(scores, target, weight=torch.arange(1.0, 6.0), ignore_index=7))
    assert isinstance(found, ClassTargets)
    assert max(abs(found.lowest_sum), abs(found.highest_sum)) < 1e-5
    assert found.weights == (1, 2, 3, 4, 5) and found.ignore_index == 7 and found.reduction == "mean"
    if target.numel() <= 64:
        assert found.surprise == pytest.approx(F.cross_entropy(scores, target).item(), rel=1e-4)
        assert found.counts == tuple(torch.bincount(target.reshape(-1), minlength=5).tolist())


def test_raw_scores_do_not() -> None:
    (found,) = terms(F.nll_loss(torch.zeros(8, 4, requires_grad=True) + 1.0, torch.zeros(8, dtype=torch.long)))
    assert isinstance(found, ClassTargets) and found.lowest_sum == pytest.approx(1 + math.log(4))


class Reader(nn.Module):
    def __init__(self, rnn: nn.Module, padding: int | None = None) -> None:
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, 8, padding_idx=padding)
        self.rnn = rnn
        self.head = nn.Linear(8, VOCABULARY)

    def forward(self, tokens: Tensor) -> Tensor:
        scores: Tensor = self.head(self.rnn(self.embed(tokens))[0])
        return scores


@pytest.fixture(params=["fused", "steps"])
def _lstm_in_both_forms(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """One node of oneDNN, which not every build of torch has (a Mac's has not), or a graph of single steps."""
    if request.param == "fused" and not torch.backends.mkldnn.is_available():
        pytest.skip("this torch was built without oneDNN")
    monkeypatch.setattr(torch.backends.mkldnn, "enabled", request.param == "fused")


class ByHand(nn.Module):
    """A cell in a loop"""

    def __init__(self, joined: Any) -> None:
        super().__init__()
        self.cell = nn.GRUCell(8, 8)
        self.joined = joined

    def forward(self, x: Tensor) -> tuple[Tensor]:
        state, states = x.new_zeros(len(x), 8), []
        for place in range(x.shape[1]):
            state = self.cell(x[:, place], state)
            states.append(state)
        return (self.joined(states),)


RECURRENT = {
    "LSTM": lambda: nn.LSTM(8, 8, batch_first=True),
    "GRU": lambda: nn.GRU(8, 8, batch_first=True),
    "RNN": lambda: nn.RNN(8, 8, batch_first=True),
    "two layers": lambda: nn.LSTM(8, 8, 2, batch_first=True),
    "both ways": lambda: nn.LSTM(8, 4, batch_first=True, bidirectional=True),
    "stacked": lambda: ByHand(lambda states: torch.stack(states, 1)),
    "joined": lambda: ByHand(lambda states: torch.cat([state.unsqueeze(1) for state in states], 1)),
}


@pytest.mark.usefixtures("_lstm_in_both_forms")
@pytest.mark.parametrize("kind", RECURRENT)
def test_every_recurrent_layer_leads_back_to_the_tokens(kind: str) -> None:
    model = Reader(RECURRENT[kind]())
    text = torch.randint(0, VOCABULARY, (4, 9))
    found = tokens(F.cross_entropy(model(text).transpose(1, 2), text), model)
    assert found is not None and (found.offset, found.embedding) == (0, "net.embed")
    cut = F.cross_entropy(model(text)[:, :-1].transpose(1, 2), text[:, 1:])
    found = tokens(cut, model)
    assert found is not None and found.offset == 1


@pytest.mark.usefixtures("_lstm_in_both_forms")
@pytest.mark.parametrize("flat", [True, False])
@pytest.mark.parametrize("offset", [-1, 0, 1, 2, 3])
def test_the_distance_of_targets_from_the_tokens_read_is_told(offset: int, flat: bool) -> None:
    model = Reader(nn.LSTM(8, 8, batch_first=True))
    text = torch.randint(0, VOCABULARY, (4, 15))
    inputs, targets = text[:, 3:10], text[:, 3 + offset : 10 + offset]
    scores = model(inputs)
    if flat:
        loss = F.cross_entropy(scores.view(-1, VOCABULARY), targets.reshape(-1))
    else:
        loss = F.cross_entropy(scores.transpose(1, 2), targets)
    found = tokens(loss, model)
    assert found is not None and (found.rows, found.length) == (4, 7)
    assert found.offset == (offset if offset < 3 else None)
    assert found.embedding == ("net.embed" if offset < 3 else "")


@pytest.mark.usefixtures("_lstm_in_both_forms")
def test_sequences_that_run_down_the_columns_are_read_as_well() -> None:
    model = Reader(nn.LSTM(8, 8))
    text = torch.randint(0, VOCABULARY, (9, 4))
    loss = F.cross_entropy(model(text[:-1]).view(-1, VOCABULARY), text[:-1].reshape(-1))
    found = tokens(loss, model)
    assert found is not None and found.offset == 0


@pytest.mark.usefixtures("_lstm_in_both_forms")
@pytest.mark.parametrize("both_ways", [False, True])
@pytest.mark.parametrize("loop", [False, True])
def test_a_state_that_a_decoder_begins_with_keeps_no_places_apart(loop: bool, both_ways: bool) -> None:
    encoder = nn.GRU(8, 4 if both_ways else 8, batch_first=True, bidirectional=both_ways)
    model, decoder = Reader(encoder), nn.GRU(8, 8, batch_first=True)
    text = torch.randint(0, VOCABULARY, (4, 7))
    states = encoder(model.embed(text))[1]
    state = states.transpose(0, 1).reshape(4, 8)
    if loop:  # a decoder that goes on by itself
        cell, made = nn.GRUCell(8, 8), [state]
        for _ in range(7):
            made.append(cell(torch.zeros(4, 8), made[-1]))
        read = torch.stack(made[1:], 1)
    else:
        read = decoder(torch.zeros(4, 7, 8), state[None])[0]
    found = tokens(F.cross_entropy(model.head(read).transpose(1, 2), text), model)
    assert found is not None and found.offset is None


@pytest.mark.usefixtures("_lstm_in_both_forms")
def test_a_code_of_the_whole_sequence_keeps_no_places_apart() -> None:
    encoder, decoder = nn.LSTM(8, 8, batch_first=True), nn.LSTM(8, 8, batch_first=True)
    model = Reader(encoder)
    text = torch.randint(0, VOCABULARY, (4, 7))
    _, (code, _) = encoder(model.embed(text))
    scores = model.head(decoder(code[0].unsqueeze(1).expand(-1, 7, -1))[0])
    found = tokens(F.cross_entropy(scores.transpose(1, 2), text), model)
    assert found is not None and found.offset is None


def test_padding_behind_the_ends_is_measured() -> None:
    model = Reader(nn.GRU(8, 8, batch_first=True), padding=0)
    target = torch.tensor([[1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 0, 0], [5, 4, 0, 0, 0, 0], [3, 0, 0, 0, 0, 0]])
    found = tokens(F.cross_entropy(model(target).view(-1, VOCABULARY), target.view(-1)), model)
    assert found is not None
    assert (found.last, found.shortest, found.longest, found.padding) == (0, 0, 5, 0)
    assert (found.ended, found.in_tails, found.elsewhere) == pytest.approx((0.75, 11 / 24, 0.0))


def test_plain_classes_are_no_sequence() -> None:
    model = nn.Linear(3, VOCABULARY)
    assert tokens(F.cross_entropy(model(torch.randn(8, 3)), torch.arange(8)), model) is None
