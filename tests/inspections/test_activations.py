"""What layers give, against hooks written by hand, on models of every kind."""

from __future__ import annotations

import gc
import warnings
import weakref
from typing import Any

import pytest
import torch
from torch import nn

from tests.inspections.models import NAMES, Answer, InPlace, Recurrent, Residual, build
from tests.untouched_models import model_untouched
from torch_debugger.model.nested_tensors import tensors_in
from torch_debugger.pictures.layer_values import activations, gradients, tap
from torch_debugger.system.errors import UsageError


def by_hand(model: nn.Module, *inputs: Any, **keywords: Any) -> list[tuple[str, torch.Tensor]]:
    """Every tensor in every output, cloned at once, in order; on a copy of everything."""
    seen: list[tuple[str, torch.Tensor]] = []
    handles = [
        module.register_forward_hook(
            lambda _, given, output, path=path: seen.extend((path, each.clone()) for each in tensors_in(output))
        )
        for path, module in model.named_modules()
    ]
    buffers = {name: buffer.clone() for name, buffer in model.named_buffers()}
    state = torch.get_rng_state()
    with torch.no_grad():
        model(*inputs, **keywords)
        for name, buffer in model.named_buffers():
            buffer.copy_(buffers[name])
    torch.set_rng_state(state)
    for handle in handles:
        handle.remove()
    return seen


def layer_of(where: str) -> str:
    return where.split("#")[0].split("[")[0]


@pytest.mark.parametrize("mode", ["train", "eval"])
@pytest.mark.parametrize("name", NAMES)
def test_tensors_are_those_of_hooks_by_hand(name: str, mode: str) -> None:
    model, inputs, keywords, _ = build(name)
    model.train(mode == "train")
    expected = by_hand(model, *inputs, **keywords)
    with model_untouched(model, *tensors_in(inputs)):
        found = activations(model, *inputs, keep="tensors", **keywords)
    assert [layer_of(where) for where in found] == [path for path, _ in expected]
    for tensor, (_, by_hook) in zip(found.values(), expected, strict=True):
        assert torch.equal(tensor, by_hook)


@pytest.mark.parametrize("name", NAMES)
def test_numbers_are_those_of_the_tensors(name: str) -> None:
    model, inputs, keywords, _ = build(name)
    tensors = activations(model, *inputs, keep="tensors", **keywords)
    numbers = activations(model, *inputs, **keywords)
    assert list(numbers) == list(tensors)
    for where, tensor in tensors.items():
        wide, stats = tensor.double(), numbers[where]
        assert stats.shape == tuple(tensor.shape)
        assert stats.mean == pytest.approx(float(wide.mean()), abs=1e-12)
        assert stats.std == pytest.approx(float(wide.std(correction=0)), abs=1e-12)
        assert (stats.min, stats.max) == (float(wide.min()), float(wide.max()))


def test_the_next_forward_is_the_same_one() -> None:
    """The model draws the very random numbers that its next call will draw."""
    model, inputs, _, _ = build("shared")
    seen = activations(model, *inputs, keep="tensors")
    assert torch.equal(seen[""], model(*inputs))


def test_values_before_a_relu_writes_over_them() -> None:
    model, inputs, _, _ = build("in place")
    seen = activations(model, *inputs, layers=[nn.BatchNorm2d, nn.ReLU])
    assert list(seen) == ["bn", "act"]
    assert seen["bn"].min < 0 <= seen["act"].min


def test_every_call_of_a_shared_module() -> None:
    model, inputs, _, _ = build("shared")
    seen = activations(model, *inputs, layers="blocks.0.act", keep="tensors")
    assert list(seen) == ["blocks.0.act", "blocks.0.act#2", "blocks.0.act#3"]
    assert not torch.equal(seen["blocks.0.act"], seen["blocks.0.act#2"])
    assert next(iter(activations(model, *inputs, layers="blocks.2.act"))) == "blocks.2.act"


def test_ways_into_outputs() -> None:
    model, inputs, keywords, _ = build("recurrent")
    assert list(activations(model, *inputs, layers="lstm", **keywords)) == [
        "lstm[0]",
        "lstm[1][0]",
        "lstm[1][1]",
    ]
    model, inputs, keywords, _ = build("dataclass")
    seen = activations(model, *inputs, layers="head", **keywords)
    assert list(seen) == ["head['logits']", "head['features'][0]", "head['features'][1]"]
    model, inputs, keywords, _ = build("own loss")
    seen = activations(model, *inputs, layers="", **keywords)
    assert list(seen) == ["['loss']", "['logits']"]
    assert str(seen).splitlines()[0].startswith("(model)['loss']    float32 [] cpu  value ")


@pytest.mark.parametrize(
    ("layers", "found"),
    [
        ("blocks.1.*", ["blocks.1.fc"]),
        ("*.fc", ["blocks.0.fc", "blocks.1.fc", "blocks.2.fc"]),
        (["drop", "blocks.2.fc"], ["blocks.2.fc", "drop"]),
        (nn.Dropout, ["drop"]),
        ((nn.Linear, nn.Dropout), ["blocks.0.fc", "blocks.1.fc", "blocks.2.fc", "drop"]),
        ("blocks.[02].fc", ["blocks.0.fc", "blocks.2.fc"]),
    ],
)
def test_layers_by_pattern_and_by_class(layers: Any, found: list[str]) -> None:
    model, inputs, _, _ = build("shared")
    assert list(activations(model, *inputs, layers=layers)) == found


def test_a_class_beside_others_may_have_no_layer() -> None:
    """As in `isinstance(module, (nn.Conv2d, nn.Linear))` over any model."""
    model, x = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Conv2d(4, 4, 3)), torch.randn(2, 3, 8, 8)
    seen = activations(model, x, layers=[nn.Conv2d, nn.Linear, nn.LSTM])
    assert list(seen) == ["0", "2"] and seen.absent == ("Linear", "LSTM")
    assert str(seen).splitlines()[-1] == "no layer of class Linear or LSTM in this model"
    found = gradients(model, x, loss=lambda output: output.sum(), layers=(nn.Linear, nn.Conv2d))
    assert found.outputs.absent == ("Linear",) and list(found.outputs) == ["0", "2"]
    with tap(model, iter([nn.Conv2d, nn.Linear]), lambda *seen: None) as taps:
        assert taps.paths == ("0", "2") and taps.absent == ("Linear",)
    with pytest.raises(UsageError, match="no layer `fc`"):  # a path that is not there is a slip
        activations(model, x, layers=[nn.Conv2d, "fc"])


def test_layers_that_are_not_there() -> None:
    model, inputs, _, _ = build("in place")
    with pytest.raises(UsageError) as raised:
        activations(model, *inputs, layers="cnov")
    assert str(raised.value) == (
        "no layer `cnov` in this model. There is `conv`. Patterns are paths as in named_modules(), such as `encoder.*`."
    )
    there = "It has " + ", ".join(f"{type(each).__name__} (`{path}`)" for path, each in model.named_children())
    for absent in (nn.LSTM, [nn.LSTM], [nn.LSTM, nn.GRU]):
        with pytest.raises(UsageError) as raised:
            activations(model, *inputs, layers=absent)
        names = "`LSTM` or `GRU`" if absent == [nn.LSTM, nn.GRU] else "`LSTM`"
        assert str(raised.value) == f"no layer of class {names} in this model. {there}."
    with pytest.raises(UsageError, match=r"^keep='all' is unknown: it is 'stats' or 'tensors'\.$"):
        activations(model, *inputs, keep="all")
    with pytest.raises(UsageError, match=r"^expected a model, an `nn\.Module`, but got function\.$"):
        activations(lambda x: x, 3)  # type: ignore[arg-type]


def test_layers_that_did_not_run() -> None:
    model = InPlace()
    model.spare = nn.Linear(2, 2)
    seen = activations(model, torch.randn(2, 3, 6, 6))
    assert seen.missing == ("spare",)
    assert str(seen).splitlines()[-1] == "not called: `spare`"
    assert "spare" not in activations(model, torch.randn(2, 3, 6, 6), layers=["conv"]).missing


def test_lists_of_modules_are_not_missed_and_nothing_is_said_so() -> None:
    model, inputs, _, _ = build("transformer")
    assert activations(model, *inputs).missing == (
        "layers.0.self_attn.out_proj", "layers.1.self_attn.out_proj",
    )  # fmt: skip
    assert str(activations(model, *inputs, layers="layers")) == "no tensors"


def test_gradients_are_on_only_if_asked() -> None:
    model, inputs, _, _ = build("in place")
    assert not activations(model, *inputs, layers="fc", keep="tensors")["fc"].requires_grad
    kept = activations(model, *inputs, layers="conv", keep="tensors", grad=True)["conv"]
    grads = torch.autograd.grad(kept.sum(), [model.conv.weight])
    assert grads[0].shape == model.conv.weight.shape
    with torch.no_grad():
        assert activations(model, *inputs, layers="fc", keep="tensors", grad=True)["fc"].requires_grad


class Failing(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.bn = nn.BatchNorm1d(3)
        self.drop = nn.Dropout()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.count = 1
        x.add_(1)
        self.drop(self.bn(x))
        raise ValueError("in the middle")


def test_an_exception_leaves_nothing_behind_either() -> None:
    model, x = Failing(), torch.randn(4, 3)
    with model_untouched(model, x), pytest.raises(ValueError, match="in the middle"):
        activations(model, x)


def test_prints_of_the_model_are_heard(capsys: pytest.CaptureFixture[str]) -> None:
    class Printing(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            print("shape", list(x.shape))
            return x

    seen = activations(Printing(), torch.ones(2))
    assert list(seen) == [""]
    assert capsys.readouterr().out == "shape [2]\n"


def test_nothing_is_held() -> None:
    model, x = Recurrent(), torch.randn(3, 6, 4)
    made: list[weakref.ref[torch.Tensor]] = []
    handle = model.fc.register_forward_hook(lambda _, given, output: made.append(weakref.ref(output)))
    seen = activations(model, x)
    handle.remove()
    gc.collect()
    assert made[0]() is None and len(seen) == 5
    gone = weakref.ref(model)
    del model
    gc.collect()
    assert gone() is None


def test_inside_autocast_the_next_forward_keeps_its_gradients() -> None:
    """A weight that autocast casts without gradients stays in its cache, and has none in the user's forward."""
    model, x = nn.Linear(4, 4), torch.randn(2, 4)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        seen = activations(model, x)
        loss = model(x).sum()
    loss.backward()
    assert seen[""].dtype == "bfloat16"
    assert model.weight.grad is not None
    assert torch.is_autocast_cache_enabled()


def test_a_compiled_model() -> None:
    model, inputs, _, _ = build("in place")
    plain = activations(model, *inputs, keep="tensors")
    compiled = torch.compile(model, backend="eager")
    compiled(*inputs)
    state = {name: value.clone() for name, value in model.state_dict().items()}
    model.load_state_dict(build("in place")[0].state_dict())
    with model_untouched(model, *inputs):
        found = activations(compiled, *inputs, keep="tensors")
    assert list(found) == list(plain) == ["conv", "bn", "act", "fc", ""]
    assert all(torch.equal(found[where], plain[where]) for where in plain)
    model.load_state_dict(state)
    graphs = torch._dynamo.utils.counters["stats"]["unique_graphs"]
    compiled(*inputs)
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == graphs, "it had to be compiled again"


def test_a_compiled_layer_inside() -> None:
    model, inputs, _, _ = build("shared")
    model.eval()
    plain = activations(model, *inputs)
    model.blocks = torch.compile(model.blocks, backend="eager")
    model(*inputs)
    assert set(activations(model, *inputs)) == set(plain)
    assert list(activations(model, *inputs, layers="blocks.1.fc")) == ["blocks.1.fc"]


def test_a_model_that_was_never_run() -> None:
    model = nn.Sequential(nn.LazyLinear(3))
    with model_untouched_lazily(model), pytest.raises(UsageError) as raised:
        activations(model, torch.ones(2, 4))
    assert str(raised.value) == "`0.weight` has no shape yet: run the model once before looking into it."


def test_a_scripted_model_is_refused() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # deprecated by torch, and still there
        model = torch.jit.script(nn.Linear(2, 2))
    with pytest.raises(UsageError, match=r"^a scripted or traced model cannot be looked into"):
        activations(model, torch.ones(1, 2))


class model_untouched_lazily:
    def __init__(self, model: nn.Module) -> None:
        self.model = model

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        assert isinstance(self.model[0], nn.LazyLinear)


def test_frozen_dataclasses_and_tuples_as_inputs() -> None:
    class Taking(nn.Module):
        def forward(self, answer: Answer) -> torch.Tensor:
            answer.logits.zero_()
            return answer.features[0].add_(1)

    answer = Answer(torch.ones(2), (torch.ones(2), torch.ones(2)))
    seen = activations(Taking(), answer)
    assert seen[""].max == 2.0
    assert answer.logits.sum() == 2 and answer.features[0].sum() == 2


def test_as_html_and_as_numbers() -> None:
    model = nn.ModuleDict({"<b>": nn.Identity()})
    model.forward = lambda x: model["<b>"](x)  # type: ignore[method-assign]
    seen = activations(model, torch.ones(2))
    assert "&lt;b&gt;" in seen._repr_html_() and "<b>" not in seen._repr_html_()
    assert seen.to_dict()["<b>"]["mean"] == 1.0


def test_a_residual_model_prints_a_table() -> None:
    torch.manual_seed(0)
    lines = str(activations(Residual().eval(), torch.randn(4, 6))).splitlines()
    assert len(lines) == 12
    assert lines[0].startswith("blocks.0.fc     float32 [4, 6] cpu  min ")
