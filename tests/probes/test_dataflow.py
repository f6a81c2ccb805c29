"""The way of tensors through a model, told once by an early deep step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from tests.probes.watching import Seen, watched
from torch_debugger.model.autograd_graph import operation_name
from torch_debugger.model.flops import flops
from torch_debugger.records import ModelFact, ModelFlow
from torch_debugger.records.model import INPUT, OUTPUT, PARAMETER


class Residual(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.one = nn.Conv2d(4, 4, 3, padding=1)
        self.norm = nn.BatchNorm2d(4)
        self.act = nn.ReLU(inplace=True)
        self.two = nn.Conv2d(4, 4, 3, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out = self.two(self.act(self.norm(self.one(x))))
        out += x
        return F.relu(out)


class ResidualNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 4, 3)
        self.blocks = nn.Sequential(Residual(), Residual())
        self.head = nn.Linear(4, 2)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return self.head(self.blocks(self.stem(images)).mean(dim=(2, 3)))


class Branches(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.left, self.right = nn.Linear(6, 3), nn.Linear(6, 5)
        self.head = nn.Linear(8, 2)

    def forward(self, batch: dict[str, torch.Tensor], *, scale: torch.Tensor | None = None) -> dict[str, Any]:
        joined = torch.cat([self.left(batch["a"]), self.right(batch["b"])], dim=1)
        return {"logits": self.head(joined), "parts": (joined, joined.sum())}


class Shared(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for _ in range(4):
            x = torch.tanh(self.cell(x))
        return x


class Attention(nn.Module):
    """Products that no module makes, and a parameter of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv, self.out = nn.Linear(8, 24), nn.Linear(8, 8)
        self.position = nn.Parameter(torch.zeros(1, 5, 8))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = self.qkv(x + self.position).chunk(3, dim=-1)
        q, k, v = (t.unflatten(-1, (2, 4)).transpose(1, 2) for t in (q, k, v))
        mixed = F.scaled_dot_product_attention(q, k, v)
        return self.out((mixed + (q @ k.transpose(-1, -2)).softmax(-1) @ v).transpose(1, 2).flatten(2))


def total(output: Any) -> torch.Tensor:
    if isinstance(output, torch.Tensor):
        return output.float().pow(2).mean()
    values = output.values() if isinstance(output, dict) else output
    return sum((total(each) for each in values if each is not None), torch.zeros(()))


def train(model: nn.Module, *inputs: Any, steps: int = 3, **keywords: Any) -> None:
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.01)
    for _ in range(steps):
        optimizer.zero_grad()
        total(model(*inputs, **keywords)).backward()
        optimizer.step()


def flow_of(model: nn.Module, *inputs: Any, **keywords: Any) -> ModelFlow:
    with watched() as seen:
        train(model, *inputs, **keywords)
    (flow,) = seen.of(ModelFlow)
    return flow


def lines(flow: ModelFlow) -> set[tuple[str, str]]:
    """From which to which, by the names of modules and operations; parameters left out."""
    nodes = flow.graph.nodes
    return {
        (_called(nodes[edge.source].name), _called(nodes[edge.target].name))
        for edge in flow.graph.edges
        if nodes[edge.source].kind != PARAMETER
    }


def _called(name: str) -> str:
    return name.removeprefix("model/")


def macs_of(flow: ModelFlow) -> int:
    assert not [call for call in flow.calls if call.macs is None]
    return sum(call.macs or 0 for call in flow.calls)


def test_a_residual_net_in_the_second_step() -> None:
    flow = flow_of(ResidualNet(), torch.randn(2, 3, 8, 8))
    found = lines(flow)
    assert flow.step == 2
    assert flow.root == "model"
    assert ("input/images", "stem/Conv2d") in found
    assert ("stem/Conv2d", "blocks/0/one/Conv2d") in found
    assert ("stem/Conv2d", "blocks/0/add") in found  # the shortcut
    assert ("blocks/0/two/Conv2d", "blocks/0/add") in found
    assert ("blocks/0/add", "blocks/0/relu") in found
    assert ("blocks/0/relu", "blocks/1/one/Conv2d") in found
    assert ("mean", "head/Linear") in found
    assert ("head/Linear", "output") in found
    assert ("blocks/0/norm/BatchNorm2d", "blocks/0/act/ReLU") in found  # in place
    assert ("blocks/0/act/ReLU", "blocks/0/two/Conv2d") in found
    assert flow.graph.note == ""


def test_branches_dictionaries_and_tuples() -> None:
    flow = flow_of(Branches(), {"a": torch.randn(2, 6), "b": torch.randn(2, 6)}, scale=torch.ones(2))
    found = lines(flow)
    assert {("input/batch/a", "left/Linear"), ("input/batch/b", "right/Linear")} <= found
    assert {("left/Linear", "cat"), ("right/Linear", "cat"), ("cat", "head/Linear")} <= found
    assert {("head/Linear", "output/logits"), ("cat", "output/parts/0"), ("sum", "output/parts/1")} <= found


def test_a_shared_module_has_a_scope_for_each_call() -> None:
    flow = flow_of(Shared(), torch.randn(2, 4))
    calls = [scope.call for scope in flow.graph.scopes if scope.path == "cell"]
    assert calls == [1, 2, 3, 4]
    assert ("tanh", "cell_2/Linear") in lines(flow)


def test_what_autograd_saw_between_modules_of_a_transformer() -> None:
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, dropout=0.0)
    flow = flow_of(nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), torch.randn(2, 5, 8))
    found = lines(flow)
    assert ("layers/0/add", "layers/0/norm1/LayerNorm") in found
    assert ("input/src", "layers/0/self_attn/MultiheadAttention") in found
    assert ("layers/0/norm2/LayerNorm", "layers/1/self_attn/MultiheadAttention") in found


COUNTED: dict[str, Callable[[], tuple[nn.Module, tuple[Any, ...]]]] = {
    "residual": lambda: (ResidualNet(), (torch.randn(2, 3, 8, 8),)),
    "attention": lambda: (Attention(), (torch.randn(2, 5, 8),)),
    "shared": lambda: (Shared(), (torch.randn(2, 4),)),
    "multihead": lambda: (nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0), (torch.randn(5, 2, 8),)),
    "lstm": lambda: (nn.LSTM(3, 4, 2, bidirectional=True, proj_size=2), (torch.randn(5, 2, 3),)),
    "gru": lambda: (nn.GRU(3, 4, batch_first=True), (torch.randn(5, 2, 3),)),
    "transposed": lambda: (
        nn.Sequential(nn.Conv1d(4, 6, 3, groups=2), nn.ConvTranspose1d(6, 4, 3, stride=2, groups=2), nn.GELU()),
        (torch.randn(2, 4, 9),),
    ),
    "bilinear": lambda: (nn.Bilinear(3, 4, 5), (torch.randn(2, 3), torch.randn(2, 4))),
}


@pytest.mark.parametrize("name", COUNTED)
def test_multiply_accumulates_are_those_of_a_counted_run(name: str) -> None:
    model, inputs = COUNTED[name]()
    expected = flops(model, *inputs).macs
    flow = flow_of(model, *inputs)
    assert macs_of(flow) == expected > 0


class OwnProduct(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return x @ x.transpose(-1, -2)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
        return gradient[..., :4]


class Opaque(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return OwnProduct.apply(self.fc(x))  # type: ignore[no-any-return]


def test_what_cannot_be_counted_is_not_counted_and_says_why() -> None:
    flow = flow_of(Opaque(), torch.randn(4, 4))
    by_scope = {call.scope: call for call in flow.calls}
    assert by_scope["model/fc"].macs == 64
    assert by_scope["model"].macs is None
    assert "ownproduct" in by_scope["model"].uncounted.replace("_", "")


def test_two_models_of_one_script() -> None:
    maker, judge = nn.Sequential(nn.Linear(4, 8), nn.ReLU()), nn.Sequential(nn.Linear(8, 1))
    with watched() as seen:
        optimizer = torch.optim.SGD([*maker.parameters(), *judge.parameters()], lr=0.01)
        for _ in range(3):
            optimizer.zero_grad()
            judge(maker(torch.randn(2, 4))).mean().backward()
            optimizer.step()
    flows = {flow.root: flow for flow in seen.of(ModelFlow)}
    assert set(flows) == {"maker", "judge"}
    kinds = [node.kind for node in flows["judge"].graph.nodes]  # nothing of the other model's in it
    assert kinds.count(INPUT) == 1
    assert kinds.count(OUTPUT) == 1
    assert len(kinds) == 3


def test_each_model_once_and_never_in_the_first_step() -> None:
    with watched() as seen:
        train(nn.Sequential(nn.Linear(3, 3), nn.ReLU()), torch.randn(2, 3), steps=1)
        assert not seen.of(ModelFlow)
    with watched() as seen:
        train(nn.Sequential(nn.Linear(3, 3), nn.ReLU()), torch.randn(2, 3), steps=6)
    assert len(seen.of(ModelFlow)) == 1


class Sometimes(nn.Module):
    """Its second call fails, and its caller goes on."""

    def __init__(self) -> None:
        super().__init__()
        self.fc, self.calls = nn.Linear(3, 3), 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        out = self.fc(x)
        if self.calls == 2:
            raise ValueError("not this time")
        return self.fc(out)


def test_a_call_that_raises_is_not_told_but_the_next_one_is() -> None:
    model = Sometimes()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    with watched() as seen:
        for _ in range(4):
            optimizer.zero_grad()
            try:
                model(torch.randn(2, 3)).mean().backward()
            except ValueError:
                model(torch.randn(2, 3)).mean().backward()
            optimizer.step()
    (flow,) = seen.of(ModelFlow)
    assert [scope.path for scope in flow.graph.scopes] == ["", "fc", "fc"]


def test_a_frozen_part_is_followed_by_its_tensors() -> None:
    model = nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 2))
    model[0].requires_grad_(False)
    assert ("0/Linear", "1/ReLU") in lines(flow_of(model, torch.randn(2, 3)))


def test_a_very_long_model_is_cut_and_says_so() -> None:
    layers = [nn.Sequential(nn.Linear(2, 2), nn.Identity()) for _ in range(334)]
    flow = flow_of(nn.Sequential(*layers), torch.randn(1, 2))
    assert len(flow.graph.scopes) == 335
    assert "1,003 modules" in flow.graph.note
    assert flow.calls[0].macs is None
    assert flow.calls[0].uncounted
    looping = flow_of(Looping(), torch.randn(1, 2))
    assert len(looping.graph.scopes) <= 600
    assert "not drawn" in looping.graph.note


def test_a_graph_of_very_many_parameters_ends_with_a_note() -> None:
    class Stacked(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.rows = nn.ParameterList(nn.Parameter(torch.ones(2)) for _ in range(4000))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x * torch.stack(list(self.rows)).mean(0)

    graph = flow_of(Stacked(), torch.ones(2)).graph
    assert len(graph.nodes) <= 3010  # the operation that reads them and the output come on top
    assert "ends after 3,000 nodes" in graph.note


class Looping(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.Linear(2, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for _ in range(700):
            x = self.cell(x)
        return x


def test_a_compiled_model_is_left_alone() -> None:
    model = nn.Sequential(nn.Linear(3, 3), nn.ReLU())
    with watched() as seen:
        train(torch.compile(model, backend="eager"), torch.randn(2, 3))  # type: ignore[arg-type]
    assert not seen.of(ModelFlow)


def weights_after(model: nn.Module, *inputs: Any) -> list[torch.Tensor]:
    train(model, *inputs, steps=5)
    return [value.detach().clone() for value in model.state_dict().values()]


@pytest.mark.parametrize("make", [ResidualNet, Shared, Attention])
def test_the_training_is_the_same_to_the_last_bit(make: type[nn.Module]) -> None:
    inputs = {ResidualNet: (2, 3, 8, 8), Shared: (2, 4), Attention: (2, 5, 8)}[make]  # type: ignore[index]

    def run() -> tuple[list[torch.Tensor], torch.Tensor]:
        torch.manual_seed(0)
        found = weights_after(make(), torch.randn(inputs))
        return found, torch.get_rng_state()

    (plain, state), (seen, after) = run(), _watched(run)
    assert all(torch.equal(one, other) for one, other in zip(plain, seen, strict=True))
    assert torch.equal(state, after)


def _watched(run: Callable[[], Any]) -> Any:
    seen: Seen
    with watched() as seen:
        found = run()
    assert seen.of(ModelFlow)
    return found


def test_no_node_of_the_graph_is_held_when_the_forward_is_over() -> None:
    freed: list[int] = []

    class Marked(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            ctx.marker = _Marker(freed)
            return x * 1

        @staticmethod
        def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
            return gradient

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc = nn.Linear(2, 2)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.fc(Marked.apply(self.fc(x)))  # type: ignore[no-any-return]

    model = Model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    with watched() as seen:
        for _ in range(2):
            optimizer.zero_grad()
            loss = model(torch.randn(2, 2)).mean()
            loss.backward()
            del loss
            optimizer.step()
        assert len(freed) == 2
        assert seen.of(ModelFlow)


class _Marker:
    def __init__(self, freed: list[int]) -> None:
        self._freed = freed

    def __del__(self) -> None:
        self._freed.append(1)


class OnFrozen(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(4, 8), nn.ReLU())
        self.head = nn.Linear(8, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            features = self.backbone(x)
        return self.head(features)


def test_a_part_that_runs_without_gradients_has_its_way_and_its_shapes() -> None:
    with watched() as seen:
        train(OnFrozen(), torch.randn(6, 4))
    (flow,) = seen.of(ModelFlow)

    assert {root.root for root in seen.of(ModelFact)} == {"model"}  # the head is no model of its own
    first, second, head = "backbone/0/Linear", "backbone/1/ReLU", "head/Linear"
    assert {("input/x", first), (first, second), (second, head)} <= lines(flow)
    assert {call.made for call in flow.calls if "backbone" in call.scope} == {((6, 8),)}


def test_a_model_that_is_one_layer_reads_its_input() -> None:
    assert ("input/input", "Linear") in lines(flow_of(nn.Linear(4, 2), torch.randn(6, 4)))


@pytest.mark.parametrize(
    ("made", "name"),
    [
        (lambda x: F.max_pool2d(x, 2), "max_pool2d"),
        (lambda x: F.adaptive_max_pool2d(x, 2), "adaptive_max_pool2d"),
        (lambda x: F.adaptive_avg_pool2d(x, 2), "adaptive_avg_pool2d"),
        (lambda x: F.fractional_max_pool2d(x, 2, 2), "fractional_max_pool2d"),
    ],
)
def test_operations_go_by_the_names_that_scripts_give_them(made: Any, name: str) -> None:
    assert operation_name(made(torch.randn(1, 2, 6, 6, requires_grad=True)).grad_fn) == name
