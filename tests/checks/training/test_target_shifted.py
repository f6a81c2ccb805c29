from __future__ import annotations

import pytest

from tests.checks.graphs import chain, loss_graph, node
from tests.checks.training.loss_terms import tokens
from tests.fakes import judged
from torch_debugger.records import Finding, Record

GRAPH = chain(("NllLoss", ()), ("LogSoftmax", (320, 30)), ("View", (320, 30)))


def check(*records: Record) -> list[Finding]:
    return judged(records, "target-shifted")


def looks(*offsets: int | None) -> list[Record]:
    return [tokens(step, offset=offset, embedding="net.embed") for step, offset in enumerate(offsets, 1)]


def test_targets_that_are_the_inputs_are_an_error() -> None:
    (finding,) = check(GRAPH, *looks(0, 0))
    assert finding.severity == "error"
    assert finding.message == (
        "Every target of the loss at train.py:40 is the very token that `net.embed` read, in batches of "
        "16 x 20 tokens: the model has only to copy."
    )
    assert finding.fix == (
        "Shift them once: in the data, `inputs, targets = tokens[:, :-1], tokens[:, 1:]`; or in the loss, "
        "`scores[:, :-1]` with `targets[:, 1:]`."
    )


@pytest.mark.parametrize(
    ("offset", "words"),
    [(2, "two places on from the token that"), (-1, "shifted the wrong way")],
)
def test_other_wrong_distances_are_told(offset: int, words: str) -> None:
    (finding,) = check(GRAPH, *looks(offset, offset))
    assert words in finding.message


@pytest.mark.parametrize("offsets", [(1, 1), (None, None), (0,), (0, 1), (0, None)])
def test_next_tokens_and_unsure_looks_are_silent(offsets: tuple[int | None, ...]) -> None:
    assert not check(GRAPH, *looks(*offsets))


def test_several_likelihoods_are_silent() -> None:
    both = loss_graph(node("Add", (), 1, 2), node("NllLoss", (), 3), node("NllLoss", (), 3), node("Addmm", (8, 3)))
    assert not check(both, *looks(2, 2))
