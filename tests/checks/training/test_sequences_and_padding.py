from __future__ import annotations

import dataclasses

import pytest

from tests.checks.graphs import chain, loss_graph, node
from tests.checks.training.loss_terms import targets, tokens
from tests.fakes import findings_of, judged, only, place
from torch_debugger.records import PaddedState, Record

NAME = "last-state-of-padded-sequence"
CALL, TAKEN = place(36), place(37, code="last = states[:, -1]")


def look(step: int = 1, **others: object) -> PaddedState:
    """Tokens, most of them in short rows of a batch with one long row."""
    usual = PaddedState(
        "net.gru", "GRU", "last step", 32, 40, True, True, 0.8, 0.6, 0.0, 0, 35, "lengths", True, CALL, TAKEN, step
    )
    return dataclasses.replace(usual, **others)  # type: ignore[arg-type]


def states(**others: object) -> list[PaddedState]:
    return [look(step, **others) for step in (1, 2, 3)]


def test_the_last_step_of_padded_rows() -> None:
    (finding,) = judged(states(), NAME)
    assert finding.message == (
        "Of `net.gru` (GRU) only the last step of its output is used, and 80% of its sequences end in padding: "
        "60% of all steps it reads come after the end."
    )
    assert "`[torch.arange(len(lengths)), lengths - 1]` in place of the index -1" in finding.fix
    assert (finding.severity, finding.where.line, finding.first_step) == ("warning", 37, 1)


def test_the_final_state_of_padded_rows() -> None:
    assert only(judged(states(used="final state", taken=CALL, batch_first=False, lengths=""), NAME)).fix == (
        "Give `net.gru` packed sequences: `pack_padded_sequence(x, lengths.cpu(), enforce_sorted=False)` "
        "(the lengths without padding); then its final state is that of each row."
    )


def test_little_padding_even_ends_and_one_look_are_silent() -> None:
    assert not judged(states(ended=0.4), NAME)
    assert not judged(states(in_tails=0.2), NAME)
    assert not judged(states(shortest=10, longest=11), NAME)  # a silence of one length belongs to the task
    assert not judged(states(elsewhere=0.3), NAME)
    assert not judged([look()], NAME)
    assert not judged([*states(in_tails=0.0), look(4), look(5)], NAME)


def test_vectors_need_a_row_without_padding_and_no_blanks_inside() -> None:
    assert judged(states(tokens=False), NAME)
    assert not judged(states(tokens=False, filled=False), NAME)
    assert not judged(states(tokens=False, shortest=4), NAME)
    assert not judged(states(tokens=False, elsewhere=0.05), NAME)


counted = findings_of("padding-counted-in-loss")


def padded(**others: object) -> list[Record]:
    return [targets(), *(tokens(step, **others) for step in (1, 2))]


def test_padding_that_the_embedding_knows_is_an_error() -> None:
    (finding,) = counted(*padded(padding=0))
    assert finding.severity == "error"
    assert finding.message.startswith("40% of the targets of the loss at train.py:39 are the token 0")
    assert "padding_idx=0" in finding.message
    assert finding.fix == "Add `ignore_index=0` to the loss at train.py:39."


def test_a_token_that_looks_like_padding_is_a_warning() -> None:
    assert only(counted(*padded())).severity == "warning"


@pytest.mark.parametrize(
    "others",
    [
        {"ignore_index": 0},
        {"weight": 0.0},
        {"elsewhere": 0.5},
        {"shortest": 6, "longest": 6},
        {"in_tails": 0.15},
        {"in_tails": 0.05, "padding": 0},
        {"ended": 0.1},
    ],
    ids=["ignored", "no weight", "a class like others", "one length", "little", "hardly any", "few rows"],
)
def test_other_rows_are_silent(others: dict[str, object]) -> None:
    assert not counted(*padded(**others))


def test_a_loss_that_is_masked_by_hand_or_seen_once_is_silent() -> None:
    # a loss that is masked by hand
    assert not counted(targets(reduction="none"), tokens(1, padding=0), tokens(2, padding=0))
    assert not counted(targets(), tokens(1, padding=0)), "one look is not enough"


GRAPH = chain(("NllLoss", ()), ("LogSoftmax", (320, 30)), ("View", (320, 30)))
shifted = findings_of("target-shifted")


def offset_by(*offsets: int | None) -> list[Record]:
    return [tokens(step, offset=offset, embedding="net.embed") for step, offset in enumerate(offsets, 1)]


def test_targets_that_are_the_inputs_are_an_error() -> None:
    (finding,) = shifted(GRAPH, *offset_by(0, 0))
    assert finding.severity == "error"
    assert finding.message == (
        "Every target of the loss at train.py:40 is the very token that `net.embed` read, in batches of "
        "16 x 20 tokens: the model has only to copy."
    )
    assert finding.fix == (
        "Shift them once: in the data, `inputs, targets = tokens[:, :-1], tokens[:, 1:]`; or in the loss, "
        "`scores[:, :-1]` with `targets[:, 1:]`."
    )


@pytest.mark.parametrize(("offset", "words"), [(2, "two places on from the token that"), (-1, "shifted the wrong way")])
def test_other_wrong_distances_are_told(offset: int, words: str) -> None:
    assert words in only(shifted(GRAPH, *offset_by(offset, offset))).message


@pytest.mark.parametrize("offsets", [(1, 1), (None, None), (0,), (0, 1), (0, None)])
def test_next_tokens_and_unsure_looks_are_silent(offsets: tuple[int | None, ...]) -> None:
    assert not shifted(GRAPH, *offset_by(*offsets))


def test_several_likelihoods_are_silent() -> None:
    both = loss_graph(node("Add", (), 1, 2), node("NllLoss", (), 3), node("NllLoss", (), 3), node("Addmm", (8, 3)))
    assert not shifted(both, *offset_by(2, 2))
