"""Models of every kind: whatever goes in and comes out, the flow tells it and the model is not touched."""

from __future__ import annotations

import copy
import io
import re
from collections import OrderedDict, namedtuple
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from tests.debugger.models import Net, train
from torch_debugger import Debugger
from torch_debugger.records import FlowFact

Pair = namedtuple("Pair", ["first", "second"])


@dataclass
class Output:
    logits: torch.Tensor
    hidden: dict[str, torch.Tensor]
    note: str = "text"


class Wrapped(nn.Module):
    """Gives its output in a form of the test's choice."""

    def __init__(self, form: Any) -> None:
        super().__init__()
        self.fc = nn.Linear(8, 3)
        self.form = form

    def forward(self, x: torch.Tensor) -> Any:
        return self.form(self.fc(x))


def flow_of(model: nn.Module, *arguments: Any, **keywords: Any) -> FlowFact:
    debugger = Debugger()
    model(*arguments, **keywords)
    debugger.close()
    report = debugger.report()
    assert report.result.faults == ()
    assert str(report)
    return report.flows[-1][0]


FORMS = {
    "tensor": (lambda y: y, ((4, 3),)),
    "tuple": (lambda y: (y, y[:, :1]), ((4, 3), (4, 1))),
    "list": (lambda y: [y], ((4, 3),)),
    "dict": (lambda y: {"logits": y, "loss": y.sum()}, ((4, 3), ())),
    "ordered dict": (lambda y: OrderedDict(a=y), ((4, 3),)),
    "named tuple": (lambda y: Pair(y, y.t()), ((4, 3), (3, 4))),
    "dataclass": (lambda y: Output(y, {"a": y[:2]}), ((4, 3), (2, 3))),
    "nested": (lambda y: (y, (y[:1], {"a": [y[:2]]})), ((4, 3), (1, 3), (2, 3))),
    "none": (lambda y: None, ()),
    "number": (lambda y: float(y.sum()), ()),
    "bool mask": (lambda y: y > 0, ((4, 3),)),
    "sparse": (lambda y: y.detach().to_sparse(), ((4, 3),)),
    "complex": (lambda y: torch.view_as_complex(torch.stack((y, y), -1)), ((4, 3),)),
    "empty": (lambda y: y[:0], ((0, 3),)),
}


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("grad", [True, False], ids=["grad", "no_grad"])
def test_outputs_of_every_form(name: str, grad: bool) -> None:
    form, shapes = FORMS[name]
    with torch.set_grad_enabled(grad):
        flow = flow_of(Wrapped(form), torch.randn(4, 8))
    assert flow.steps[0].made == shapes
    assert not flow.steps[0].failed


def test_keyword_inputs() -> None:
    class Keywords(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed = nn.Embedding(10, 4)

        def forward(self, *, input_ids: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
            return self.embed(input_ids)

    flow = flow_of(Keywords(), input_ids=torch.zeros(2, 5, dtype=torch.long), mask=torch.ones(2, 5))
    assert flow.steps[0].given == ((2, 5), (2, 5))


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_without_gradients(mode: Any, capfd: pytest.CaptureFixture[str]) -> None:
    model, x = Net().eval(), torch.randn(4, 8)
    debugger = Debugger()
    with mode():
        output = debugger.run(model(x))
    assert "model       Net         4x8   4x3" in capfd.readouterr().err
    with mode():
        assert torch.equal(output, model(x))


def test_a_teacher_without_gradients_inside_a_model() -> None:
    class Distilled(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.student, self.teacher = nn.Linear(8, 3), nn.Linear(8, 3)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            with torch.no_grad():
                target = self.teacher(x)
            return self.student(x) - target

    steps = flow_of(Distilled(), torch.randn(4, 8)).steps
    assert [(step.path, step.depth) for step in steps] == [
        ("model", 0), ("model.teacher", 1), ("model.student", 1)
    ]  # fmt: skip


def test_gradients_switched_off_for_good_inside_forward() -> None:
    class Switching(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc = nn.Linear(8, 3)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            torch.set_grad_enabled(False)
            return self.fc(x)

    model, other, x = Switching(), Net(), torch.randn(4, 8)
    debugger = Debugger()
    try:
        model(x)
    finally:
        torch.set_grad_enabled(True)
    other(x)
    debugger.close()
    assert [(flow.root, len(flow.steps)) for flow, _ in debugger.report().flows] == [("model", 2), ("other", 5)]


def test_a_scripted_model() -> None:
    scripted = torch.jit.script(Net())
    x = torch.randn(4, 8)
    plain = scripted(x)
    flow = flow_of(scripted, x)
    assert [(step.kind, step.made) for step in flow.steps] == [("Net", ((4, 3),))]
    assert torch.equal(scripted(x), plain)
    torch.jit.save(scripted, io.BytesIO())


def test_a_traced_model() -> None:
    x = torch.randn(4, 8)
    flow = flow_of(torch.jit.trace(Net(), x), x)
    assert [(step.kind, step.made) for step in flow.steps] == [("Net", ((4, 3),))]


def test_tracing_under_the_debugger_gives_the_same_graph() -> None:
    model, x = Net(), torch.randn(4, 8)

    def graph() -> str:
        return re.sub(r"___torch_mangle_\d+", "", str(torch.jit.trace(model, x).inlined_graph))

    plain = graph()
    debugger = Debugger(model)
    watched = graph()
    debugger.close()
    assert watched == plain
    assert debugger.report().result.faults == ()


def test_scripting_and_exporting_under_the_debugger() -> None:
    model, x = Net(), torch.randn(4, 8)
    debugger = Debugger(model)
    model(x)
    scripted = torch.jit.script(model)
    exported = torch.export.export(model, (x,))
    traced = torch.fx.symbolic_trace(model)
    debugger.close()
    assert debugger.report().result.faults == ()
    for made in (scripted, exported.module(), traced):
        assert torch.equal(made(x), model(x))


def keys_of(module: nn.Module) -> set[str]:
    return set(vars(module))


def test_copies_and_pickles_made_under_the_debugger() -> None:
    model, x = Net(), torch.randn(4, 8)
    with Debugger(model) as d:
        model(x)
        twin = copy.deepcopy(model)
        buffer = io.BytesIO()
        torch.save(model, buffer)
        assert torch.equal(twin(x), model(x))
    buffer.seek(0)
    loaded = torch.load(buffer, weights_only=False)
    assert torch.equal(loaded(x), model(x))
    assert keys_of(model) == keys_of(twin) == keys_of(loaded) == keys_of(Net())
    assert {flow.root for flow, _ in d.report().flows} == {"model", "twin"}


def test_inside_a_function_transform() -> None:
    """vmap and grad hand wrappers to the modules, which have no numbers to read."""
    model, x = Net(), torch.randn(4, 8)
    parameters = dict(model.named_parameters())

    def loss(held: dict[str, torch.Tensor], sample: torch.Tensor) -> torch.Tensor:
        return torch.func.functional_call(model, held, (sample,)).sum()

    plain = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0))(parameters, x)
    debugger = Debugger(model)
    watched = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0))(parameters, x)
    debugger.close()
    assert debugger.report().result.faults == ()
    assert all(torch.equal(plain[name], watched[name]) for name in plain)


def test_a_mode_of_the_users_does_not_see_us() -> None:
    model, x = Net(), torch.randn(4, 8)

    def operations(watched: bool) -> dict[str, Any]:
        debugger = Debugger(model) if watched else None
        with FlopCounterMode(display=False) as counter:
            model(x).sum().backward()
        if debugger is not None:
            debugger.close()
            assert debugger.report().result.faults == ()
        return {str(key): dict(value) for key, value in counter.get_flop_counts().items()}

    assert operations(True)["Global"] == operations(False)["Global"]


def test_a_module_used_twice() -> None:
    class Tied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.down = nn.Linear(8, 8)
            self.same = self.down

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.same(self.down(x))

    steps = flow_of(Tied(), torch.randn(2, 8)).steps
    assert [step.path for step in steps] == ["model", "model.down", "model.down"]


def test_a_model_called_twice(capfd: pytest.CaptureFixture[str]) -> None:
    model = Net()
    debugger = Debugger()
    debugger.run(model(torch.randn(4, 8)) + model(torch.randn(1, 8)))
    told = capfd.readouterr().err
    assert "What model ran (the last of 2 calls)" in told
    assert "1x8" in told
    assert "4x8" not in told


def test_two_models(capfd: pytest.CaptureFixture[str]) -> None:
    encoder, decoder = nn.Linear(8, 2), nn.Linear(2, 8)
    debugger = Debugger()
    debugger.run(decoder(encoder(torch.randn(4, 8))))
    told = capfd.readouterr().err
    assert told.index("What encoder ran") < told.index("What decoder ran")
    assert "outputs of these 2 forward passes 160 B" in told


def test_lazy_modules() -> None:
    model, x = nn.Sequential(nn.LazyLinear(4), nn.ReLU(), nn.LazyLinear(2)), torch.randn(3, 5)
    with Debugger(model) as d:
        model(x)
    flow, _ = d.report().flows[0]
    assert [(step.kind, step.parameters) for step in flow.steps] == [
        ("Sequential", 34), ("Linear", 24), ("ReLU", 0), ("Linear", 10)
    ]  # fmt: skip


def test_lazy_modules_are_trained() -> None:
    model = nn.Sequential(nn.LazyLinear(16), nn.ReLU(), nn.LazyLinear(3))
    with Debugger(model) as d:
        model(torch.randn(2, 8))
        train(model)
    assert d.findings == []
    assert d.report().result.faults == ()


def test_a_recurrent_model() -> None:
    flow = flow_of(nn.LSTM(5, 7, batch_first=True), torch.randn(2, 3, 5))
    assert flow.steps[0].made == ((2, 3, 7), (1, 2, 7), (1, 2, 7))


def test_checkpointed_layers_are_told_once_each_time_they_run() -> None:
    from torch.utils.checkpoint import checkpoint

    class Checkpointed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc = nn.Linear(8, 3)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return checkpoint(self.fc, x, use_reentrant=False)

    model = Checkpointed()
    with Debugger(model) as d:
        train(model, steps=2)
    assert d.report().result.faults == ()
    assert d.findings == []


def test_two_thousand_modules() -> None:
    blocks = [nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Identity()) for _ in range(500)]
    model, x = nn.Sequential(*blocks), torch.randn(2, 4)
    with Debugger(model) as d:
        model(x)
    flow, _ = d.report().flows[0]
    assert len(flow.steps) + flow.left_out == 1 + 4 * 500
    assert flow.steps[0].path == "model"
    assert flow.steps[0].made == ((2, 4),)
    text = str(d.report())
    assert "1,941 more modules ran, further inside or later." in text
    assert len(text.splitlines()) < 80


def test_the_outer_levels_of_a_deep_tree_are_shown() -> None:
    model = nn.Sequential(OrderedDict((f"block{i}", nn.Sequential(*[nn.Identity()] * 8)) for i in range(20)))
    with Debugger(model) as d:
        model(torch.randn(2, 4))
    text = str(d.report())
    assert "block19" in text
    assert "160 more modules ran" in text


def test_a_model_that_grows_in_forward() -> None:
    class Growing(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            if not hasattr(self, "late"):
                self.late = nn.Linear(8, 3)
            return self.late(x)

    assert [step.path for step in flow_of(Growing(), torch.randn(2, 8)).steps] == ["model", "model.late"]


def test_modules_in_a_plain_list_have_their_would_be_path() -> None:
    class Hidden(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = [nn.Linear(8, 8)]

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.layers[0](x)

    assert [step.path for step in flow_of(Hidden(), torch.randn(2, 8)).steps] == ["model", "model.layers[0]"]


def test_a_forward_that_trains_another_model_inside() -> None:
    class Meta(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = Net()

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            train(self.inner, steps=2)
            return self.inner(x)

    model = Meta()
    with Debugger(model) as d:
        model(torch.randn(2, 8))
        model(torch.randn(2, 8))
    assert d.report().result.faults == ()
    assert d.report().result.steps == 4


def test_our_own_time_is_not_the_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    """However long we look, a module's time is its own."""
    from torch_debugger.probes.model import forward
    from torch_debugger.probes.model import forward as measured
    from torch_debugger.probes.schedule import Governor

    now = [0.0]
    monkeypatch.setattr(Governor, "LOOK_S", 1e6)
    monkeypatch.setattr(forward.time, "perf_counter", lambda: now[0])
    plain_take = measured.take_numbers

    def slow_look(tensor: torch.Tensor) -> Any:
        now[0] += 100.0
        return plain_take(tensor)

    class Timed(nn.Module):
        def __init__(self, seconds: float, *inside: nn.Module) -> None:
            super().__init__()
            self.seconds, self.inside = seconds, nn.ModuleList(inside)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            now[0] += self.seconds
            for each in self.inside:
                x = each(x)
            return x + 1

    monkeypatch.setattr(forward, "take_numbers", slow_look)
    flow = flow_of(Timed(1.0, Timed(2.0), Timed(3.0, Timed(4.0))), torch.randn(2))
    assert [step.time_s for step in flow.steps] == [10.0, 2.0, 7.0, 4.0]
