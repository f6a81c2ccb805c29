"""Trials that train: one batch by heart, without inputs, with other labels, in two modes, at many rates."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

from tests.trials.preflight.cases import BY_ADAM, CLASSES, TELL, case, classifier, outcome, refused, samples
from torch_debugger.trials.preflight_case import Case
from torch_debugger.trials.preflight_data import try_shuffled_labels, try_zero_input
from torch_debugger.trials.preflight_training import try_overfit, try_rate_range, try_two_modes


def sgd(rate: float):  # type: ignore[no-untyped-def]
    return lambda parameters: torch.optim.SGD(parameters, lr=rate)


class Blind(nn.Module):
    """Looks at nothing: its answer is a bias."""

    def __init__(self) -> None:
        super().__init__()
        self.answer = nn.Parameter(torch.zeros(32, CLASSES))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.answer + 0.0 * x[:, :CLASSES]


class OnlyInTraining(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = classifier()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.body(x) if self.training else self.body(x).flip(1)


def overfit(subject: Case):  # type: ignore[no-untyped-def]
    return outcome(try_overfit, subject, TELL)


def test_one_batch_is_learned_by_heart() -> None:
    result = overfit(case(optimizer=sgd(0.5)))
    assert result.outcome == "passed" and result.message.startswith("With SGD, lr 0.5 the loss went from 1.4")
    assert result.numbers["own"] == 1.0 and result.curve[-1] < 0.15 and len(result.curve) < 300


def test_it_tells_how_far_it_is() -> None:
    told: list[int] = []
    outcome(try_overfit, case(optimizer=sgd(0.5)), lambda step, loss: told.append(step))
    assert told == list(range(len(told))) and len(told) > 10


def test_softmax_before_cross_entropy_is_not_learned_by_heart() -> None:
    result = overfit(case(loss=lambda o, y: F.cross_entropy(o.softmax(1), y)))
    assert result.outcome == "failed" and "one batch is not learned by heart" in result.message
    assert "a softmax before cross-entropy" in result.advice


def test_a_rate_that_is_too_low_or_too_high() -> None:
    low, high = overfit(case(optimizer=sgd(1e-7))), overfit(case(optimizer=sgd(1e4)))
    assert low.outcome == high.outcome == "failed"
    assert low.message.startswith("With SGD, lr 1e-07 the loss stays at 1.4")
    assert high.message.startswith("With SGD, lr 10000 the loss ")
    assert "change the learning rate first" in low.advice


def test_a_slow_rate_is_no_failure() -> None:
    assert overfit(case(optimizer=sgd(3e-3))).outcome == "passed"


def test_a_schedule_that_starts_from_nothing() -> None:
    def warming(parameters):  # type: ignore[no-untyped-def]
        optimizer = torch.optim.SGD(parameters, lr=0.5)
        torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: step / 100)
        return optimizer

    assert overfit(case(optimizer=warming)).outcome == "passed"


def test_a_loss_whose_lowest_is_unknown_is_judged_mildly() -> None:
    floor = case(loss=lambda o, y: F.cross_entropy(o, y) + 10.0)
    assert overfit(floor).outcome == "untried"
    stuck = case(classifier(), loss=lambda o, y: 0.0 * o.sum() + 10.0)
    assert overfit(stuck).outcome == "failed"


def test_log_probabilities_that_are_none() -> None:
    result = overfit(case(loss=F.nll_loss))
    assert result.outcome == "failed" and "cannot be below 0 for probabilities" in result.message
    assert "F.log_softmax(scores, dim=1)" in result.advice


def test_a_model_that_knows_the_batch_already() -> None:
    x, y = samples()
    knowing = nn.Linear(8, CLASSES)
    with torch.no_grad():
        knowing.weight.copy_(30.0 * torch.eye(CLASSES, 8))
    assert overfit(case(knowing, (x, y), optimizer=sgd(1e-3))).outcome == "passed"


def test_games_need_not_be_won() -> None:
    """A loss below zero has no end that is known: it may rise while the model gets better."""
    result = overfit(case(loss=lambda o, y: -2.0 - 1e-9 * o.mean()))
    assert result.outcome == "untried" and "need not fall" in result.message


def test_a_model_that_is_frozen_for_the_most_part() -> None:
    model = nn.Sequential(nn.Linear(8, 512), nn.ReLU(), nn.Linear(512, 2), nn.Linear(2, CLASSES))
    for part in model[:3]:
        part.requires_grad_(False)
    result = overfit(case(model, (samples()[0], samples()[1].flip(0))))
    assert result.outcome == "untried" and "Most of the model does not learn" in result.message


def test_equal_inputs_with_different_labels_are_nobodys_fault() -> None:
    x, y = torch.zeros(32, 8), samples()[1]
    assert overfit(case(batch=(x, y))).message.endswith(
        "Equal inputs of this batch have different labels, so that says little."
    )


def test_inputs_are_better_than_zeros() -> None:
    result = outcome(try_zero_input, case(), BY_ADAM, TELL)
    assert result.outcome == "passed" and result.message.startswith("After 60 steps the loss is 0.")


def test_a_model_that_learns_without_looking() -> None:
    result = outcome(try_zero_input, case(Blind()), BY_ADAM, TELL)
    assert result.outcome == "failed" and "without looking at the inputs" in result.message


def test_true_labels_are_easier_than_shuffled_ones() -> None:
    result = outcome(try_shuffled_labels, case(batch=samples(128)), BY_ADAM, TELL)
    assert result.outcome == "passed" and result.numbers["true"] < result.numbers["shuffled"]


def test_labels_that_belong_to_nothing() -> None:
    x, y = samples(256)
    subject = case(batch=(x, y[torch.randperm(256, generator=torch.Generator().manual_seed(3))]))
    result = outcome(try_shuffled_labels, subject, BY_ADAM, TELL)
    assert result.outcome == "failed" and "no easier to learn than random ones" in result.message


def test_outputs_that_are_compared_all_with_all() -> None:
    x, y = samples()[0], samples()[0][:, 0]
    subject = case(nn.Linear(8, 1), (x, y), lambda o, t: F.mse_loss(*torch.broadcast_tensors(o, t)))
    result = outcome(try_shuffled_labels, subject, BY_ADAM, TELL)
    assert result.outcome == "failed" and result.message == (
        "The loss is the same whichever sample has which label: 32 are compared as [32, 32]."
    )


def test_few_samples_cannot_tell() -> None:
    x, y = samples(16)
    assert "cannot be told apart" in refused(try_shuffled_labels, case(batch=(x, y.flip(0))), BY_ADAM, TELL)


def test_labels_inside_the_model_cannot_be_shuffled() -> None:
    said = refused(try_shuffled_labels, case(loss=lambda o, y: o.pow(2).mean()), BY_ADAM, TELL)
    assert said.startswith("The labels go into the model with the inputs")


def test_what_is_learned_is_there_in_both_modes() -> None:
    model = nn.Sequential(nn.Linear(8, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, CLASSES))
    result = outcome(try_two_modes, case(model), BY_ADAM, TELL)
    assert result.outcome == "passed" and " in train and 0." in result.message


def test_what_is_lost_in_eval_mode() -> None:
    subject = case(OnlyInTraining())
    result = outcome(try_two_modes, subject, BY_ADAM, TELL)
    assert result.outcome == "failed" and "self.training" in result.advice
    frozen = nn.Sequential(nn.Linear(8, 32), nn.BatchNorm1d(32, momentum=0.0), nn.ReLU(), nn.Linear(32, CLASSES))
    nn.init.constant_(frozen[0].bias, 50.0)
    subject = case(frozen)
    result = outcome(try_two_modes, subject, BY_ADAM, TELL)
    assert result.outcome == "failed" and "running statistics" in result.advice


def test_a_rate_within_the_range() -> None:
    result = outcome(try_rate_range, case(optimizer=sgd(0.3)), BY_ADAM, TELL)
    assert result.outcome == "passed" and result.numbers["low"] < 0.3 < 3 * result.numbers["high"]
    assert len(result.rates) == len(result.curve) > 50 and result.rates[0] < 1e-5


def test_a_rate_above_the_range() -> None:
    result = outcome(try_rate_range, case(optimizer=sgd(300.0)), BY_ADAM, TELL)
    assert result.outcome == "failed" and result.message.startswith("The rate is 300, above those that work")
    assert result.advice.startswith("Begin with a rate near ")


def test_a_rate_far_below_the_range() -> None:
    result = outcome(try_rate_range, case(optimizer=sgd(1e-9)), BY_ADAM, TELL)
    assert result.outcome == "failed" and "far below those that work" in result.message


def test_no_optimizer_no_rate() -> None:
    assert "no optimizer" in refused(try_rate_range, case(), BY_ADAM, TELL)
