"""Gradients of outputs and parameters, against an ordinary backward and tensors kept by hand."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

from tests.inspections.models import NAMES, build
from tests.inspections.test_activations import layer_of
from tests.untouched_models import model_untouched
from torch_debugger.model.nested_tensors import tensors_in
from torch_debugger.pictures.layer_values import gradients
from torch_debugger.system.errors import UsageError


def by_hand(name: str) -> tuple[float, list[tuple[str, torch.Tensor | None]], dict[str, torch.Tensor | None]]:
    """On a twin of the model: every output is kept with retain_grad; in-place ops write into a clone of it."""
    model, inputs, keywords, loss = build(name)
    kept: list[tuple[str, torch.Tensor]] = []

    def keep(path: str, output: Any) -> Any:
        if isinstance(output, torch.Tensor):
            twin = output.clone()
            if twin.requires_grad:
                output.retain_grad()
            kept.append((path, output))
            return twin
        for each in tensors_in(output):
            if each.requires_grad:
                each.retain_grad()
            kept.append((path, each))
        return output

    for path, module in model.named_modules():
        module.register_forward_hook(lambda _, given, output, path=path: keep(path, output))
    value = loss(model(*inputs, **keywords))
    value.backward()
    outputs = [(path, tensor.grad) for path, tensor in kept]
    return (
        value.item(),
        outputs,
        {path: each.grad for path, each in model.named_parameters() if each.requires_grad},
    )


@pytest.mark.parametrize("name", NAMES)
def test_gradients_are_those_of_an_ordinary_backward(name: str) -> None:
    value, outputs, parameters = by_hand(name)
    model, inputs, keywords, loss = build(name)
    with model_untouched(model, *tensors_in(inputs)):
        found = gradients(model, *inputs, loss=loss, keep="tensors", **keywords)
    assert found.loss == pytest.approx(value)
    assert {path: None for path in parameters if parameters[path] is None} == dict.fromkeys(found.parameters.missing)
    for path, gradient in found.parameters.items():
        assert torch.allclose(gradient, parameters[path], rtol=1e-5, atol=1e-7), path
    expected = [(path, gradient) for path, gradient in outputs if gradient is not None]
    assert [layer_of(where) for where in found.outputs] == [path for path, _ in expected]
    for (where, gradient), (_, by_hook) in zip(found.outputs.items(), expected, strict=True):
        assert torch.allclose(gradient, by_hook, rtol=1e-5, atol=1e-7), where


class Halves(nn.Module):
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return torch.unbind(x)  # one node, two outputs


def test_several_outputs_of_one_node() -> None:
    model = nn.Sequential(nn.Linear(3, 3), Halves())
    found = gradients(model, torch.ones(2, 3), loss=lambda halves: halves[0].sum() + 5 * halves[1].sum())
    assert (found.outputs["1[0]"].mean, found.outputs["1[1]"].mean) == (1.0, 5.0)


def test_gradients_that_are_there_stay() -> None:
    model, inputs, _, loss = build("in place")
    loss(model(*inputs)).backward()
    before = model.conv.weight.grad
    with model_untouched(model, *inputs):
        gradients(model, *inputs, loss=loss)
    assert model.conv.weight.grad is before


def test_the_loss_of_the_output_itself() -> None:
    model, inputs, keywords, _ = build("own loss")
    found = gradients(model, *inputs, **keywords)
    assert found.loss > 0
    assert list(found.parameters) == ["embed.weight"]  # tied to head.weight; the frozen ones are not asked for
    assert gradients(nn.Sequential(nn.Linear(2, 1)), torch.ones(2)).parameters["0.bias"].mean == 1.0


def test_layers_and_numbers() -> None:
    model, inputs, _, loss = build("shared")
    found = gradients(model, *inputs, loss=loss, layers="blocks.1.fc")
    assert list(found.outputs) == ["blocks.1.fc"]
    assert list(found.parameters) == ["blocks.1.fc.weight", "blocks.1.fc.bias"]
    expected = dict(by_hand("shared")[2])["blocks.1.fc.weight"].double()
    assert found.parameters["blocks.1.fc.weight"].norm == pytest.approx(float(expected.norm()), rel=1e-5)
    assert found.to_dict()["parameters"]["blocks.1.fc.bias"]["shape"] == (6,)


class Cut(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.enc = nn.Linear(4, 4)
        self.head = nn.Linear(4, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.enc(x).detach())


def test_what_no_gradient_reaches() -> None:
    found = gradients(Cut(), torch.ones(3, 4), loss=torch.sum)
    assert found.outputs.missing == ("enc",)
    assert found.parameters.missing == ("enc.weight", "enc.bias")
    lines = str(found).splitlines()
    assert lines[0].startswith("loss ")
    assert "no gradient came back: `enc`" in lines
    assert lines[-1] == "the loss does not depend on: `enc.weight`, `enc.bias`"


def test_a_view_that_is_written_over() -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.Unflatten(1, (2, 2)), nn.ReLU(inplace=True))
    found = gradients(model, torch.randn(3, 4), loss=torch.sum)
    assert found.outputs.missing == ("1 (a view, written over in place)",)
    assert {"0", "2"} <= set(found.outputs)


def test_an_error_of_the_users_backward_is_theirs() -> None:
    """A ReLU's output is needed by its backward and is written over: the same error as without us."""
    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Flatten(), nn.Dropout(inplace=True))
    x = torch.randn(3, 4)
    with model_untouched(model, x), pytest.raises(RuntimeError, match="modified by an inplace operation"):
        gradients(model, x, loss=torch.sum)


@pytest.mark.parametrize(
    ("loss", "message"),
    [
        (None, r"^gradients\(\) needs one number to differentiate, but got \[3, 2\]\. Give it a loss: "),
        (lambda out: 3.0, r"but got float\."),
        (lambda out: out.detach().sum(), "^the loss depends on nothing that requires a gradient"),
    ],
)
def test_losses_that_are_none(loss: Any, message: str) -> None:
    model = Cut()
    with model_untouched(model), pytest.raises(UsageError, match=message):
        gradients(model, torch.ones(3, 4), loss=loss)


def test_under_no_grad_and_inference_mode() -> None:
    model, inputs, _, loss = build("in place")
    plain = gradients(model, *inputs, loss=loss).parameters["conv.weight"].norm
    with torch.no_grad():
        assert gradients(model, *inputs, loss=loss).parameters["conv.weight"].norm == plain
    with torch.inference_mode():
        assert gradients(model, *inputs, loss=loss).parameters["conv.weight"].norm == plain


def test_a_checkpointed_block() -> None:
    class Saving(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc = nn.Linear(4, 4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return checkpoint(self.fc, x, use_reentrant=False).tanh()

    torch.manual_seed(0)
    model, x = Saving(), torch.randn(3, 4)
    found = gradients(model, x, loss=torch.sum, keep="tensors")
    made = model.fc(x)
    made.retain_grad()
    made.tanh().sum().backward()
    assert torch.allclose(found.outputs["fc"], made.grad)
    assert torch.allclose(found.parameters["fc.weight"], model.fc.weight.grad)


def test_nothing_is_held_and_hooks_of_the_user_run() -> None:
    model, inputs, _, loss = build("recurrent")
    made: list[weakref.ref[torch.Tensor]] = []
    handle = model.fc.register_forward_hook(lambda _, given, output: made.append(weakref.ref(output)))
    found = gradients(model, *inputs, loss=loss)
    handle.remove()
    gc.collect()
    assert made and made[0]() is None and found.loss


def test_a_compiled_model() -> None:
    model, inputs, _, loss = build("in place")
    plain = gradients(model, *inputs, loss=loss).to_dict()
    compiled = torch.compile(model, backend="eager")
    assert gradients(compiled, *inputs, loss=loss).to_dict() == plain


def test_a_loss_that_closes_over_targets() -> None:
    labels = torch.tensor([0, 1, 1])
    model = Cut()
    found = gradients(model, torch.ones(3, 4), loss=lambda output: F.cross_entropy(output, labels))
    F.cross_entropy(model(torch.ones(3, 4)), labels).backward()
    assert found.parameters["head.bias"].max == pytest.approx(float(model.head.bias.grad.max()))
