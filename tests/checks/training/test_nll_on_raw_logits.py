from __future__ import annotations

import pytest

from tests.checks.graphs import chain, loss_graph, node
from tests.checks.training.loss_terms import targets
from tests.fakes import judged
from torch_debugger.records import Finding, Record

RAW = chain(("NllLoss", ()), ("Addmm", (64, 4)))


def check(*records: Record) -> list[Finding]:
    return judged(records, "nll-on-raw-logits")


def test_raw_scores_are_an_error() -> None:
    (finding,) = check(targets(1.21, 1.43), RAW)
    assert finding.severity == "error"
    assert finding.message == (
        "The negative log-likelihood at train.py:40 is given raw scores where it expects log-probabilities: "
        "log(sum(exp)) of a sample is between 1.21 and 1.43, not 0."
    )
    assert "cross_entropy" in finding.fix


def test_probabilities_are_told_as_such() -> None:
    (finding,) = check(targets(1.5, 1.6), chain(("NllLoss", ()), ("Softmax", (64, 4)), ("Addmm", (64, 4))))
    assert "is given probabilities" in finding.message
    assert finding.fix.startswith("Give the loss log-probabilities: `log_softmax`")


def test_numbers_may_come_after_the_graph() -> None:
    assert check(RAW, targets(1.2, 1.4))


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
                node("Add", (), 1, 2),
                node("NllLoss", (), 3),
                node("Logsumexp", (64,), 3),
                node("Addmm", (64, 4)),
            ),
        ),
        (RAW,),
    ],
    ids=[
        "log_softmax",
        "normalised by hand",
        "one sample is",
        "log of a sum",
        "distances",
        "energy",
        "no numbers",
    ],
)
def test_healthy_likelihoods_are_silent(records: tuple[Record, ...]) -> None:
    assert not check(*records)
