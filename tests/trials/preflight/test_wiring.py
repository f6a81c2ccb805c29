"""What the model is made of: gradients everywhere, inputs used, samples apart, the same twice."""

from __future__ import annotations

import time

import pytest
import torch
from torch import nn

from tests.trials.preflight.cases import CLASSES, case, classifier, outcome, refused, samples
from torch_debugger.records import TRIALS
from torch_debugger.trials.preflight import Trials, try_determinism
from torch_debugger.trials.preflight_case import untried
from torch_debugger.trials.preflight_data import try_input_use
from torch_debugger.trials.preflight_gradients import try_batch_independence, try_gradients


class Unused(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.used, self.forgotten = nn.Linear(8, CLASSES), nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.used(x)


class ZeroStart(nn.Module):
    """A head of zeros: no gradient passes it before the first step."""

    def __init__(self) -> None:
        super().__init__()
        self.body, self.head = nn.Linear(8, 16), nn.Linear(16, CLASSES)
        nn.init.zeros_(self.head.weight)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.body(x).relu())


class Dead(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body, self.head = nn.Linear(8, 16), nn.Linear(16, CLASSES)
        nn.init.constant_(self.body.bias, -100.0)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.body(x).relu())


class OverTheBatch(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(8, CLASSES)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.fc(x).softmax(dim=0)


class Tokens(nn.Module):
    def __init__(self, mixing: bool = False) -> None:
        super().__init__()
        self.embed, self.head, self.mixing = nn.Embedding(10, 8), nn.Linear(8, CLASSES), mixing

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        h = self.embed(ids).mean(1)
        return self.head(h - h.mean(0) if self.mixing else h)


class Unseeded(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(8, CLASSES)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.fc(x) * (1.0 + time.perf_counter_ns() % 97)


def token_batch() -> tuple[torch.Tensor, torch.Tensor]:
    ids = torch.randint(0, 10, (16, 5), generator=torch.Generator().manual_seed(0))
    return ids, ids[:, 0] % CLASSES


def test_every_parameter_gets_a_gradient() -> None:
    for model in (classifier(), ZeroStart()):
        result = outcome(try_gradients, case(model))
        assert (result.outcome, result.message) == ("passed", "All 4 parameters get one that is not zero.")


def test_a_layer_that_forward_forgets() -> None:
    result = outcome(try_gradients, case(Unused()))
    assert result.outcome == "failed" and result.message == (
        "2 of 4 parameters get no gradient: `net.forgotten.weight`, `net.forgotten.bias`."
    )
    assert "not called" in result.advice


def test_a_parameter_the_optimizer_does_not_hold_is_nobodys_business() -> None:
    subject = case(Unused(), optimizer=lambda parameters: torch.optim.SGD(parameters[:2], lr=0.1))
    assert outcome(try_gradients, subject).outcome == "passed"


def test_dead_units_get_gradients_of_zero() -> None:
    result = outcome(try_gradients, case(Dead()))
    assert result.outcome == "failed"
    assert result.message.startswith("3 of 4 get a gradient of zero, also after 10 steps: `net.body.weight`")


class Routed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.experts = nn.ModuleList(nn.Linear(8, CLASSES) for _ in range(3))
        self.rare = nn.Linear(8, CLASSES)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.rare(x) if x.mean() > 100 else self.experts[1](x)


def test_layers_that_this_batch_passes_by() -> None:
    result = outcome(try_gradients, case(Routed()))
    assert result.outcome == "passed"
    assert result.message.startswith("All get one but those of layers that this batch passes by: `net.experts.0.w")


def test_a_bias_that_cancels_out_is_no_reason_to_fail() -> None:
    subject = case(classifier(), loss=lambda o, y: (o[:16].mean(0) - o[16:].mean(0)).pow(2).sum())
    assert outcome(try_gradients, subject).outcome == "passed"


def test_a_model_that_gives_its_own_loss_is_left_alone() -> None:
    class Own(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body = classifier()

        def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            return nn.functional.cross_entropy(self.body(x), y)

    subject = case(Own(), (samples(), torch.zeros(1)), lambda o, _: o)
    assert "row for each sample" in refused(try_input_use, subject)
    assert "row for each sample" in refused(try_batch_independence, subject)


def test_nothing_to_learn() -> None:
    assert "No parameter of the model learns" in refused(try_gradients, case(classifier().requires_grad_(False)))


@pytest.mark.parametrize("model", [classifier(), ZeroStart(), nn.Sequential(nn.Dropout(0.5), classifier())])
def test_the_input_is_used(model: nn.Module) -> None:
    assert outcome(try_input_use, case(model)).outcome == "passed"


def test_an_input_that_is_ignored() -> None:
    result = outcome(try_input_use, case(Dead()))
    assert result.outcome == "failed"
    assert result.message.startswith("The output is the same whichever of the 32 samples the model is given, also ")


@pytest.mark.parametrize("model", [classifier(), nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8), nn.ReLU())])
def test_samples_that_do_not_mix(model: nn.Module) -> None:
    result = outcome(try_batch_independence, case(model))
    assert result.outcome == "passed"
    assert ("in eval mode; in train mode they mix" in result.message) == (len(model) == 3 and "BatchNorm" in str(model))


class Running(nn.Module):
    """Statistics of its own, as BatchNorm has them."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(8, CLASSES)
        self.register_buffer("mean", torch.zeros(8))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.training:
            self.mean = 0.9 * self.mean + 0.1 * x.mean(0)
        return self.fc(x - self.mean)


def test_a_norm_of_the_users_own_with_running_statistics() -> None:
    result = outcome(try_batch_independence, case(Running()))
    assert result.outcome == "passed" and "in train mode they mix" in result.message


def test_a_norm_over_the_batch_is_written_on_purpose() -> None:
    class Whitened(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc = nn.Linear(8, CLASSES)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            h = self.fc(x)
            return (h - h.mean(0)) / (h.std(dim=0) + 1e-5)

    assert "deviations over the batch" in refused(try_batch_independence, case(Whitened()))


def test_what_no_model_registers_is_put_back_too() -> None:
    """A layer in a plain list, which the optimizer holds all the same."""

    class Listed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc, self.hidden = nn.Linear(8, CLASSES), [nn.Linear(8, 8)]

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.fc(self.hidden[0](x))

    model = Listed()
    subject = case(model, optimizer=lambda own: torch.optim.SGD([*own, *model.hidden[0].parameters()], lr=0.5))
    assert outcome(try_determinism, subject).outcome == "passed"


def test_samples_that_mix() -> None:
    result = outcome(try_batch_independence, case(OverTheBatch()))
    assert result.outcome == "failed"
    assert result.message == "The output of sample 0 depends on the input of sample 1: the samples mix."


@pytest.mark.parametrize("mixing", [False, True])
def test_tokens_are_tried_by_changing_one_sample(mixing: bool) -> None:
    result = outcome(try_batch_independence, case(Tokens(mixing), token_batch()))
    assert result.outcome == ("failed" if mixing else "passed")


def test_where_the_first_dimension_may_be_time_nothing_is_said() -> None:
    subject = case(nn.RNN(8, 4), (torch.randn(5, 3, 8), torch.zeros(5, 3, 4)), lambda o, y: (o[0] - y).pow(2).mean())
    assert "batch_first off" in refused(try_batch_independence, subject)


def test_two_runs_agree() -> None:
    result = outcome(try_determinism, case(nn.Sequential(nn.Dropout(0.5), classifier())))
    assert (result.outcome, result.message) == (
        "passed", "Two runs of 3 steps from one seed agree bit for bit.",
    )  # fmt: skip


def test_a_source_that_no_seed_reaches() -> None:
    result = outcome(try_determinism, case(Unseeded()))
    assert result.outcome == "failed" and result.message.startswith("Two runs from one seed differ: after 0 steps")


def test_a_batch_of_one_is_no_batch() -> None:
    x, y = samples(1)
    subject = case(batch=(x, y))
    assert "one sample" in refused(try_input_use, subject)
    assert "one sample" in refused(try_batch_independence, subject)


def test_the_trials_come_in_the_order_they_are_announced_in() -> None:
    results = Trials(case(classifier())).results(lambda name, trial: untried(name, "only asked for its name"))
    assert tuple(each.name for each in results) == TRIALS
