"""On graphs as autograd really builds them: kl_div is no node of its own."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from tests.checks.graphs import loss_graph
from tests.fakes import judged
from torch_debugger.model.autograd_graph import read_nodes
from torch_debugger.records import Finding

TARGET = torch.rand(8, 5).softmax(1)
LABELS = torch.arange(8) % 5


def scores() -> Tensor:
    return torch.nn.Linear(3, 5)(torch.randn(8, 3))


def check(loss: Tensor, code: str = "loss = kl(student(x), target)") -> list[Finding]:
    nodes, _ = read_nodes(loss.grad_fn, {}, factors=True)
    return judged([loss_graph(*nodes, code=code)], "kl-div-on-probabilities")


def test_probabilities_in_place_of_their_logarithms_are_an_error() -> None:
    (finding,) = check(F.kl_div(F.softmax(scores(), 1), TARGET, reduction="batchmean"))
    assert finding.severity == "error"
    assert finding.message == (
        "The Kullback-Leibler divergence in the loss at train.py:39 is given the output of a softmax as its "
        "input, where it expects log-probabilities."
    )


def test_the_line_is_changed_where_it_holds_the_one_softmax() -> None:
    wrong = F.kl_div(F.softmax(scores(), 1), TARGET, reduction="batchmean")
    (finding,) = check(wrong, "loss = F.kl_div(F.softmax(out, dim=1), target)")
    assert finding.edit is not None
    assert finding.edit.after == "loss = F.kl_div(F.log_softmax(out, dim=1), target)"


def test_it_is_seen_as_one_term_of_several() -> None:
    out = scores()
    assert check(4 * F.kl_div(F.softmax(out, 1), TARGET, reduction="sum") + F.cross_entropy(out, LABELS))


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
    assert not check(loss())
