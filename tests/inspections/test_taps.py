"""Taps: called with what flows, forward and backward, and gone without a trace."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from tests.inspections.models import NAMES, build
from tests.inspections.test_activations import layer_of
from tests.inspections.test_gradients import Halves, by_hand
from tests.untouched_models import model_untouched
from torch_debugger.model.nested_tensors import tensors_in
from torch_debugger.pictures.layer_values import tap
from torch_debugger.system.errors import UsageError


def test_outputs() -> None:
    model, inputs, _, _ = build("in place")
    seen: list[tuple[str, type, float]] = []

    def look(path: str, module: nn.Module, given: tuple[Any, ...], output: torch.Tensor) -> str:
        seen.append((path, type(module), float(output.detach().min())))
        assert isinstance(given[0], torch.Tensor)
        return "ignored"

    with tap(model, ["bn", "act"], look):
        output = model(*inputs)
    model(*inputs)
    assert [each[:2] for each in seen] == [("bn", nn.BatchNorm2d), ("act", nn.ReLU)]
    assert seen[0][2] < 0 <= seen[1][2]
    assert isinstance(output, torch.Tensor)


def test_inputs_and_keywords() -> None:
    model, inputs, keywords, _ = build("dataclass")
    seen: list[Any] = []
    with tap(model, "head", lambda path, module, given: seen.append((path, given)), on="input"):
        model(*inputs, **keywords)
    path, given = seen[0]
    assert path == "head" and list(given[1]) == ["shift"]
    assert torch.equal(given[1]["shift"], inputs[0]["shift"])


@pytest.mark.parametrize("name", NAMES)
def test_gradients_are_those_of_hooks_by_hand(name: str) -> None:
    expected = [(path, each) for path, each in by_hand(name)[1] if each is not None]
    model, inputs, keywords, loss = build(name)
    seen: list[tuple[str, torch.Tensor]] = []
    with tap(model, "*", lambda path, module, grad: seen.append((path, grad.clone())), on="grad"):
        loss(model(*inputs, **keywords)).backward()
    assert sorted(layer_of(path) for path, _ in seen) == sorted(path for path, _ in expected)
    for path, _ in expected:  # in the order of backward, so compared by path; of several, as a set
        ours = sorted(float(grad.double().norm()) for where, grad in seen if layer_of(where) == path)
        theirs = sorted(float(grad.double().norm()) for where, grad in expected if where == path)
        assert ours == pytest.approx(theirs, rel=1e-5)


def test_several_outputs_of_one_node() -> None:
    model = nn.Sequential(nn.Linear(3, 3), Halves())
    seen: dict[str, float] = {}
    with tap(model, "1", lambda path, module, grad: seen.update({path: float(grad.mean())}), on="grad"):
        first, second = model(torch.ones(2, 3))
        (first.sum() + 5 * second.sum()).backward()
    assert seen == {"1[0]": 1.0, "1[1]": 5.0}


@pytest.mark.parametrize("on", ["output", "input", "grad"])
@pytest.mark.parametrize("name", NAMES)
def test_a_tapped_training_is_the_same(name: str, on: str) -> None:
    def train(tapped: bool) -> list[Any]:
        model, inputs, keywords, loss = build(name)
        optimizer = torch.optim.SGD([each for each in model.parameters() if each.requires_grad], lr=0.1)
        handle = tap(model, "*", lambda *seen: None, on=on) if tapped else None
        for _ in range(3):
            optimizer.zero_grad()
            loss(model(*inputs, **keywords)).backward()
            optimizer.step()
        if handle is not None:
            handle.remove()
        return [value.tolist() for value in model.state_dict().values()] + [torch.get_rng_state().tolist()]

    assert train(True) == train(False)


@pytest.mark.parametrize("on", ["output", "input", "grad"])
def test_nothing_is_left_behind(on: str) -> None:
    model, inputs, _, loss = build("in place")
    model.eval()
    with model_untouched(model, *inputs):
        with tap(model, "*", lambda *seen: None, on=on):
            torch.autograd.grad(loss(model(*inputs)), list(model.parameters()))
        with pytest.raises(KeyError), tap(model, "*", lambda *seen: {}["no"], on=on):
            torch.autograd.grad(loss(model(*inputs)), list(model.parameters()))


def test_a_graph_made_before_the_end_is_not_listened_to_after_it() -> None:
    model, inputs, _, loss = build("in place")
    seen: list[str] = []
    with tap(model, "*", lambda path, module, grad: seen.append(path), on="grad"):
        value = loss(model(*inputs))
    value.backward()
    assert seen == []


def test_a_leaf_that_a_module_returns() -> None:
    class Weight(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.ones(3))

        def forward(self) -> torch.Tensor:
            return self.weight

    model = Weight()
    seen: list[float] = []
    with tap(model, "", lambda path, module, grad: seen.append(float(grad.sum())), on="grad"):
        (model() * 2).sum().backward()
    assert seen == [6.0]
    assert not model.weight._backward_hooks


def test_handles_of_dead_graphs_are_forgotten() -> None:
    model = nn.Linear(2, 2)
    handle = tap(model, "", lambda *seen: None, on="grad")
    for _ in range(3000):
        model(torch.ones(1, 2))
    assert len(handle._nodes) < 1100
    handle.remove()


@pytest.mark.parametrize("reentrant", [True, False])
def test_a_checkpointed_block_is_seen_once(reentrant: bool) -> None:
    class Saving(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc = nn.Linear(4, 4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return checkpoint(self.fc, x, use_reentrant=reentrant)

    model, x = Saving(), torch.randn(3, 4, requires_grad=True)
    outputs: list[str] = []
    grads: list[torch.Tensor] = []
    with (
        tap(model, "fc", lambda path, *rest: outputs.append(path)),
        tap(model, "fc", lambda path, module, grad: grads.append(grad), on="grad"),
    ):
        model(x).sum().backward()
    assert outputs == ["fc"]
    assert len(grads) == 1 and torch.equal(grads[0], torch.ones(3, 4))


def test_a_compiled_model_runs_as_written_while_tapped() -> None:
    model, inputs, _, _ = build("in place")
    compiled = torch.compile(model, backend="eager")
    compiled(*inputs)
    graphs = torch._dynamo.utils.counters["stats"]["unique_graphs"]
    seen: list[str] = []
    with tap(compiled, "conv", lambda path, *rest: seen.append(path)):
        compiled(*inputs)
    compiled(*inputs)
    assert seen == ["conv"]
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == graphs


def test_nothing_is_held() -> None:
    model, inputs, _, _ = build("recurrent")
    gone = weakref.ref(model)
    with tap(model, "*", lambda *seen: None, on="grad"):
        model(*inputs).sum().backward()
    del model
    gc.collect()
    assert gone() is None


def test_removing_twice_and_words() -> None:
    model, inputs, _, _ = build("in place")
    handle = tap(model, "*", lambda *seen: None)
    assert repr(handle) == "<Tap on 5 layers>"
    handle.remove()
    handle.remove()
    with pytest.raises(UsageError, match=r"^on='backward' is unknown: it is 'output', 'input', 'grad'\.$"):
        tap(model, "*", print, on="backward")
    with pytest.raises(UsageError, match=r"^tap\(\) takes a function to call, but got list\.$"):
        tap(model, "*", [])  # type: ignore[arg-type]
    with model_untouched(model, *tensors_in(inputs)), pytest.raises(UsageError, match="no layer `nope`"):
        tap(model, "nope", print)
