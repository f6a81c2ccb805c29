"""What is said of each parameter's gradient, and that nothing is said which the numbers do not show."""

from __future__ import annotations

import json
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from tests.inspections.models import NAMES, build
from tests.untouched_models import model_untouched
from torch_debugger.pictures.missing_gradients import GradientCheck, check_gradients


def statuses(check: GradientCheck) -> dict[str, str]:
    return {row.name: row.status for row in check}


@pytest.mark.parametrize("name", NAMES)
def test_a_healthy_model_is_fine(name: str) -> None:
    model, inputs, keywords, loss = build(name)
    weights = torch.linspace(1, 2, 8).repeat(4)
    value = loss(model(*inputs, **keywords))
    if name == "transformer":  # the sum of squares behind a LayerNorm is constant
        value = (model(*inputs) * weights[:8]).sum()
    value.backward()
    with model_untouched(model):
        check = check_gradients(model)
    assert check.ok and check, str(check)
    assert len(check) == len(list(model.parameters()))


@pytest.mark.parametrize("name", NAMES)
def test_norms_are_those_of_a_loop(name: str) -> None:
    model, inputs, keywords, loss = build(name)
    loss(model(*inputs, **keywords)).backward()
    check = check_gradients(model)
    for path, parameter in model.named_parameters():
        grad = None if parameter.grad is None else float(parameter.grad.double().norm())
        assert check[path].norm == (None if grad is None else pytest.approx(grad, rel=1e-9))
        assert check[path].weight.norm == pytest.approx(float(parameter.double().norm()), rel=1e-9)


def mlp() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 2))


X = torch.linspace(-1, 1, 64).view(16, 4)


def test_before_any_backward() -> None:
    model = mlp()
    check = check_gradients(model)
    assert not check
    assert {row.status for row in check} == {"none"}
    assert check["0.weight"].why == "no backward yet: no parameter of the model has a gradient"
    assert str(check).count("no backward yet") == 1  # the rest are "as above"
    loss = model(X).sum()
    assert check_gradients(model)["0.weight"].why == (
        "`loss` depends on it: no backward since gradients were last cleared"
    )
    loss.backward()
    assert check_gradients(model)
    model.zero_grad()
    assert "no backward since gradients were last cleared" in check_gradients(model)["0.weight"].why


def test_frozen_is_no_fault() -> None:
    model = mlp()
    model[0].requires_grad_(False)
    model(X).sum().backward()
    check = check_gradients(model)
    assert check.ok
    assert (check["0.weight"].status, check["0.weight"].why) == ("none", "frozen: requires_grad is False")
    model[2].requires_grad_(False)
    assert check_gradients(model)["2.weight"].why == "frozen: requires_grad is False; this one is from before"


class Parts(nn.Module):
    def __init__(self, detached: bool) -> None:
        super().__init__()
        self.enc = nn.Linear(4, 4)
        self.spare = nn.Linear(3, 3)
        self.head = nn.Linear(4, 2)
        self.detached = detached

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = self.enc(x)
        return self.head(hidden.detach() if self.detached else hidden)


def test_a_layer_that_the_loss_does_not_depend_on() -> None:
    model = Parts(detached=False)
    loss = model(X).sum()
    loss.backward()
    check = check_gradients(model)
    assert [row.name for row in check.problems] == ["spare.weight", "spare.bias"]
    assert check["spare.weight"].why == (
        "`loss` does not depend on it: forward does not use it, or the way to it is cut (detach, no_grad, .data, .item)"
    )
    other = model(X).mean()
    assert "`loss` and `other` do not depend on it" in check_gradients(model)["spare.bias"].why
    assert check_gradients(model, other)["spare.bias"].why.startswith("`loss` does not")


def test_a_cut_in_front_of_the_head() -> None:
    model = Parts(detached=True)
    model(X).sum().backward()
    check = check_gradients(model)
    assert [row.name for row in check.problems] == ["enc.weight", "enc.bias", "spare.weight", "spare.bias"]
    assert check["enc.weight"].why == (
        "none before `head` has one: the way is cut there (detach, no_grad), or they are unused"
    )


def test_two_losses_of_which_one_was_differentiated() -> None:
    model = Parts(detached=True)
    first = model(X).sum()
    second = model.enc(X).sum()
    first.backward()
    check = check_gradients(model)
    assert check["enc.weight"].why.startswith("`second` depends on it")
    assert second.requires_grad


def test_dead_units() -> None:
    model = mlp()
    with torch.no_grad():
        model[2].bias.fill_(-1e3)
    model(X).square().sum().backward()
    check = check_gradients(model)
    assert statuses(check) == {
        "0.weight": "zero", "0.bias": "zero", "2.weight": "zero", "2.bias": "zero",
        "4.weight": "zero", "4.bias": "fine",
    }  # fmt: skip
    assert check["0.bias"].why == "nothing came back through this layer, nor through `2` further on"
    assert check["2.weight"].why == (
        "nothing came back through this layer: `3` (ReLU) comes next, all of its units may be dead"
    )
    assert check["4.weight"].why == "its input was zero: `4.bias` has a gradient, so one did arrive"


def test_cleared_to_zeros() -> None:
    model = mlp()
    model(X).sum().backward()
    model.zero_grad(set_to_none=False)
    check = check_gradients(model)
    assert {row.status for row in check} == {"zero"}
    assert check["0.bias"].why.startswith("all are zero: cleared by zero_grad(set_to_none=False)")


def test_a_bias_in_front_of_a_normalisation_is_as_it_should_be() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 2))
    for seed in range(20):
        torch.manual_seed(seed)
        model.zero_grad()
        (model(torch.randn(16, 4)) * torch.randn(16, 2)).sum().backward()
        check = check_gradients(model)
        assert check.ok, str(check)
    assert check["0.bias"].status in ("tiny", "zero", "fine")
    if check["0.bias"].status != "fine":
        assert check["0.bias"].why.startswith("as it should be: `0.weight` has one")


def test_vanishing() -> None:
    torch.manual_seed(0)
    layers = [layer for _ in range(14) for layer in (nn.Linear(32, 32), nn.Sigmoid())]
    model = nn.Sequential(*layers, nn.Linear(32, 2))
    F.cross_entropy(model(torch.randn(16, 32)), torch.zeros(16, dtype=torch.long)).backward()
    check = check_gradients(model)
    tiny = [row for row in check if row.status == "tiny"]
    assert tiny and tiny == list(check.problems) and tiny[0].name == "0.weight"
    for row in tiny:  # what the word says: a step with lr 0.01 changes hardly a weight
        weight = model.get_parameter(row.name).detach()
        moved = weight - 0.01 * model.get_parameter(row.name).grad != weight
        assert moved.float().mean() < 0.5
        assert row.why.startswith("vanishes on its way back: ")
    assert "tiny: below the dtype's smallest normal number, or less than 0.001 of the largest" in str(check)
    assert "tiny:" not in str(check_gradients(mlp()))


def test_small_everywhere_is_not_vanishing() -> None:
    """Near the end of a training all gradients are small; none is far below the others."""
    model = mlp()
    (model(X) * 1e-9).sum().backward()
    assert check_gradients(model).ok


def test_below_what_half_precision_holds() -> None:
    model = nn.Linear(4, 2).half()
    (model(X.half()) * 1e-6).sum().backward()
    check = check_gradients(model)
    assert check["weight"].status == "tiny"
    assert check["weight"].why.endswith("below float16's smallest normal number 6.1e-05")
    bfloat = nn.Linear(4, 2).bfloat16()
    (bfloat(X.bfloat16()) * 1e-6).sum().backward()
    assert check_gradients(bfloat).ok


def test_float32_norms_do_not_underflow() -> None:
    model = nn.Linear(4, 2)
    (model(X) * 1e-30).sum().backward()
    assert check_gradients(model)["weight"].norm == pytest.approx(float(model.weight.grad.double().norm()), rel=1e-9)


def test_not_finite() -> None:
    model = mlp()
    model(X).sum().backward()
    assert model[2].weight.grad is not None and model[4].bias.grad is not None
    model[2].weight.grad[0, :3] = torch.tensor([float("nan"), float("inf"), float("-inf")])
    check = check_gradients(model)
    assert (check["2.weight"].status, check["2.weight"].why) == ("not finite", "1 NaN and 2 Inf of 64")
    assert check["2.weight"].norm is None
    model[0].bias.grad.fill_(float("nan"))
    check = check_gradients(model)
    assert check["0.bias"].why == "8 NaN of 8"
    assert check["2.weight"].why.endswith("the last layer that has some: they come from here or behind it")
    model.zero_grad()
    (model(X).sum() * float("nan")).backward()
    assert all(row.why.endswith("as in all parameters: look at the loss first") for row in check_gradients(model))


def test_tied_weights_have_all_their_names() -> None:
    model, inputs, keywords, loss = build("own loss")
    loss(model(*inputs, **keywords)).backward()
    check = check_gradients(model)
    assert check["embed.weight"].also == ("head.weight",)
    assert check["head.weight"] is check["embed.weight"]
    assert "shared with `head.weight`" in str(check)
    with pytest.raises(KeyError):
        check["nobody"]


def test_sparse_gradients() -> None:
    model = nn.Embedding(10, 3, sparse=True)
    model(torch.tensor([1, 1, 4])).sum().backward()
    check = check_gradients(model)
    assert check.ok
    assert check["weight"].norm == pytest.approx(float(model.weight.grad.to_dense().norm()))


def test_a_compiled_model() -> None:
    model = mlp()
    compiled = torch.compile(model, backend="eager")
    compiled(X).sum().backward()
    assert list(statuses(check_gradients(compiled))) == list(dict(model.named_parameters()))
    assert check_gradients(compiled).ok


def test_text_and_html_and_dictionary() -> None:
    model = Parts(detached=True)
    model(X).sum().backward()
    check = check_gradients(model)
    lines = str(check).splitlines()
    assert lines[0].split() == ["parameter", "shape", "gradient", "norm", "of", "weight", "why"]
    assert lines[1].startswith("enc.weight    [4, 4]  none      -")
    assert lines[-1] == "6 parameters, 4 need a look."
    assert all(line == line.rstrip() and len(line) <= 100 for line in lines)
    assert "<td>enc.weight</td>" in check._repr_html_()
    told = json.loads(json.dumps(check.to_dict()))
    assert told["counts"] == {"none": 4, "fine": 2}
    assert told["parameters"]["head.weight"]["status"] == "fine"
    assert not told["ok"]


def test_names_that_are_markup() -> None:
    model = nn.ModuleDict({"[bold]<i>": nn.Linear(2, 2)})
    check = check_gradients(model)
    assert "[bold]<i>.weight" in str(check)
    assert "<i>" not in check._repr_html_()


def test_many_fine_ones_are_left_out() -> None:
    model: Any = nn.Sequential(*[nn.Linear(2, 2, bias=False) for _ in range(100)])
    for parameter in model.parameters():
        parameter.grad = torch.ones(2, 2)
    model[99].weight.grad = None
    lines = str(check_gradients(model)).splitlines()
    assert "59 more are fine." in lines
    assert any(line.startswith("99.weight") for line in lines)
    assert len(check_gradients(model).rows) == 100


def test_a_model_without_parameters() -> None:
    assert check_gradients(nn.ReLU()).ok
    assert str(check_gradients(nn.ReLU())).splitlines()[-1] == "0 parameters, nothing to worry about."
