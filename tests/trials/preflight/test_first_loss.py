"""The first loss: what guessing would give, and how far above that a model may start."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from tests.trials.preflight.cases import case, classifier, outcome, refused, samples
from torch_debugger.trials.preflight_loss import guess_for, try_initial_loss


def test_cross_entropy_of_an_untrained_model() -> None:
    result = outcome(try_initial_loss, case())
    assert result.outcome == "passed"
    assert "expected is ln 4 = 1.386, what guessing among 4 classes gives." in result.message


def test_scores_that_start_far_too_large() -> None:
    model = classifier()
    nn.init.normal_(model[2].weight, std=30.0)
    result = outcome(try_initial_loss, case(model))
    assert result.outcome == "failed"
    assert result.numbers["loss"] > 10 and result.numbers["guessing"] == pytest.approx(math.log(4))
    assert "nn.init.normal_(head.weight, std=0.02)" in result.advice


@pytest.mark.parametrize(("classes", "limit"), [(2, 1.693), (4, 2.386), (10, 3.454), (1000, 10.36)])
def test_scores_that_start_too_large_whatever_the_number_of_classes(classes: int, limit: float) -> None:
    """Four times the guess is far from it for any of them; what torch's own layers begin with is not."""
    torch.manual_seed(0)
    x, y = torch.randn(256, 64), torch.randint(classes, (256,))
    result = outcome(try_initial_loss, case(nn.Linear(64, classes), (x, y)))
    assert result.outcome == "passed"
    model = nn.Linear(64, classes)
    with torch.no_grad():
        while F.cross_entropy(model(x), y) < limit:
            model.weight.mul_(1.05)
    result = outcome(try_initial_loss, case(model, (x, y)))
    assert result.outcome == "failed" and result.numbers["limit"] == pytest.approx(limit, rel=1e-3)
    assert result.message.endswith(f"what guessing among {classes} classes gives.")


def test_targets_far_from_zero() -> None:
    x, _ = samples()
    result = outcome(try_initial_loss, case(nn.Linear(8, 1), (x, 500.0 + x[:, :1]), nn.MSELoss()))
    assert result.outcome == "failed" and "the variance of the targets" in result.message
    assert result.advice.startswith("Bring the targets to mean 0")


def test_targets_a_little_away_from_zero() -> None:
    x, _ = samples()
    assert outcome(try_initial_loss, case(nn.Linear(8, 1), (x, 6.0 + 0.5 * x[:, :1]), nn.MSELoss())).outcome == "passed"


def test_a_trained_model_is_no_reason_to_fail() -> None:
    x, y = samples()
    subject = case(nn.Identity(), (torch.randn(32, 8, requires_grad=True), y), lambda o, t: F.cross_entropy(o, t))
    del x
    knowing = case(nn.Linear(8, 4), (10.0 * F.one_hot(y, 8).float(), y))
    with torch.no_grad():
        next(iter(knowing.models.values())).weight.copy_(torch.eye(4, 8))
    result = outcome(try_initial_loss, knowing)
    assert result.outcome == "passed" and "knows something already" in result.message
    assert outcome(try_initial_loss, subject).outcome == "passed"


def test_a_loss_that_is_not_finite() -> None:
    assert outcome(try_initial_loss, case(loss=lambda o, y: F.cross_entropy(o, y) / 0.0)).outcome == "failed"


def test_a_loss_of_several_terms_is_left_alone() -> None:
    subject = case(loss=lambda o, y: F.cross_entropy(o, y) + 0.1 * o.abs().mean())
    assert "known for cross-entropy" in refused(try_initial_loss, subject)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_guesses_follow_the_reduction(reduction: str) -> None:
    scores = torch.zeros(6, 3, requires_grad=True)
    labels = torch.tensor([0, 1, 2, 0, 1, -100])
    loss = F.cross_entropy(scores, labels, reduction=reduction)
    guess = guess_for(loss.mean() if reduction == "none" else loss)
    assert guess is not None and guess.targets == 5
    if reduction != "none":
        assert guess.loss == pytest.approx(float(loss))


def test_a_loss_divided_by_the_number_of_accumulated_batches() -> None:
    scores, labels = torch.zeros(6, 3, requires_grad=True), torch.tensor([0, 1, 2, 0, 1, 2])
    loss = F.cross_entropy(scores, labels) / 4
    guess = guess_for(loss)
    assert guess is not None and guess.loss == pytest.approx(loss.item()) and guess.words.endswith("times 0.25")


def test_binary_guesses_know_the_weight_of_yes() -> None:
    scores, labels = torch.zeros(8, requires_grad=True), torch.tensor([0.0, 1, 1, 0, 1, 1, 1, 1])
    plain = guess_for(F.binary_cross_entropy_with_logits(scores, labels))
    weighted = F.binary_cross_entropy_with_logits(scores, labels, pos_weight=torch.tensor(3.0))
    guess = guess_for(weighted)
    assert plain is not None and plain.loss == pytest.approx(math.log(2)) and plain.hard
    assert guess is not None and guess.loss == pytest.approx(float(weighted))
