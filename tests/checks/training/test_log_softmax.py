"""On graphs as autograd really builds them: kl_div is no node of its own."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from tests.checks.graphs import chain, loss_graph, node
from tests.checks.training.loss_terms import targets
from tests.fakes import findings_of, judged, model
from torch_debugger.model.autograd_graph import read_nodes
from torch_debugger.records import AutogradNode, Finding, LossGraph, Record

TARGET = torch.rand(8, 5).softmax(1)
LABELS = torch.arange(8) % 5


def scores() -> Tensor:
    return torch.nn.Linear(3, 5)(torch.randn(8, 3))


def kl_div(loss: Tensor, code: str = "loss = kl(student(x), target)") -> list[Finding]:
    nodes, _ = read_nodes(loss.grad_fn, {}, factors=True)
    return judged([loss_graph(*nodes, code=code)], "kl-div-on-probabilities")


def test_probabilities_in_place_of_their_logarithms_are_an_error() -> None:
    (finding,) = kl_div(F.kl_div(F.softmax(scores(), 1), TARGET, reduction="batchmean"))
    assert finding.severity == "error"
    assert finding.message == (
        "The Kullback-Leibler divergence in the loss at train.py:39 is given the output of a softmax as its "
        "input, where it expects log-probabilities."
    )


def test_the_line_is_changed_where_it_holds_the_one_softmax() -> None:
    wrong = F.kl_div(F.softmax(scores(), 1), TARGET, reduction="batchmean")
    (finding,) = kl_div(wrong, "loss = F.kl_div(F.softmax(out, dim=1), target)")
    assert finding.edit is not None and finding.edit.after == "loss = F.kl_div(F.log_softmax(out, dim=1), target)"


def test_it_is_seen_as_one_term_of_several() -> None:
    out = scores()
    assert kl_div(4 * F.kl_div(F.softmax(out, 1), TARGET, reduction="sum") + F.cross_entropy(out, LABELS))


@pytest.mark.parametrize(
    "loss",
    [
        lambda: F.kl_div(F.log_softmax(scores(), 1), TARGET, reduction="batchmean"),
        lambda: F.kl_div(F.softmax(scores(), 1).log(), TARGET, reduction="sum"),
        lambda: -(TARGET * F.softmax(scores(), 1)).sum(),
        lambda: (1 - TARGET * F.softmax(scores(), 1)).mean(),
        lambda: (TARGET - 0.5 * F.softmax(scores(), 1)).mean(),
        lambda: (TARGET - F.softmax(scores(), 1)).pow(2).mean(),
        lambda: F.cross_entropy(scores(), LABELS, label_smoothing=0.1),
    ],
)
def test_other_uses_of_probabilities_are_silent(loss: Callable[[], Tensor]) -> None:
    assert not kl_div(loss())


NET = model({"net": "Net", "net.fc": "Linear"}, {"net.fc.weight": (5, 3)})


def twice(outer: int = 1, inner: int = 1, *between: AutogradNode) -> LossGraph:
    start = [node("NllLoss", (), 1), node("LogSoftmax", (8, 5), 2, dim=outer), *between]
    last = len(start)
    return loss_graph(*start, node("LogSoftmax", (8, 5), last + 1, dim=inner), node("Addmm", (8, 5)))


check_twice = findings_of("log-softmax-twice", NET)


def test_a_second_log_softmax_is_a_note() -> None:
    (finding,) = check_twice(twice())
    assert finding.severity == "note"
    assert finding.message == (
        "The loss behind backward() at train.py:40 takes the log-softmax of a log_softmax in the model a "
        "second time; the loss is the same without it."
    )
    assert finding.fix.endswith("pass raw scores to the loss, or call `nll_loss` instead.")
    assert check_twice(twice(1, -1)), "the same dimension, counted from the end"


@pytest.mark.parametrize(
    "healthy",
    [
        twice(1, 0),
        twice(1, 1, node("Add", (8, 5), 3)),
        loss_graph(node("NllLoss", (), 1), node("LogSoftmax", (8, 5), 2, dim=1), node("Addmm", (8, 5))),
    ],
    ids=["another dimension", "changed between", "once"],
)
def test_other_chains_are_silent(healthy: LossGraph) -> None:
    assert not check_twice(healthy)


RAW = chain(("NllLoss", ()), ("Addmm", (64, 4)))
nll = findings_of("nll-on-raw-logits")


def test_raw_scores_are_an_error() -> None:
    (finding,) = nll(targets(1.21, 1.43), RAW)
    assert finding.severity == "error"
    assert finding.message == (
        "The negative log-likelihood at train.py:40 is given raw scores where it expects log-probabilities: "
        "log(sum(exp)) of a sample is between 1.21 and 1.43, not 0."
    )
    assert "cross_entropy" in finding.fix


def test_probabilities_are_told_as_such_and_numbers_may_come_after_the_graph() -> None:
    # probabilities are told as such
    (finding,) = nll(targets(1.5, 1.6), chain(("NllLoss", ()), ("Softmax", (64, 4)), ("Addmm", (64, 4))))
    assert "is given probabilities" in finding.message
    assert finding.fix.startswith("Give the loss log-probabilities: `log_softmax`")
    assert nll(RAW, targets(1.2, 1.4)), "numbers may come after the graph"


@pytest.mark.parametrize(
    "records",
    [
        (targets(-1e-6, 1e-6), chain(("NllLoss", ()), ("LogSoftmax", (64, 4)), ("Addmm", (64, 4)))),
        (targets(1e-5, 1e-5), RAW),
        (targets(0.01, 2.0), RAW),
        (targets(1.2, 1.4), chain(("NllLoss", ()), ("Log", (64, 4)), ("Sum", (64, 4)))),
        (targets(1.2, 1.4), chain(("NllLoss", ()), ("Neg", (64, 4)), ("Pow", (64, 4)))),
        (
            targets(1.2, 1.4),
            loss_graph(
                node("Add", (), 1, 2), node("NllLoss", (), 3), node("Logsumexp", (64,), 3), node("Addmm", (64, 4))
            ),
        ),
        (RAW,),
    ],
    ids=["log_softmax", "normalised by hand", "one sample is", "log of a sum", "distances", "energy", "no numbers"],
)
def test_healthy_likelihoods_are_silent(records: tuple[Record, ...]) -> None:
    assert not nll(*records)
