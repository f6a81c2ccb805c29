"""The graph of a model shows what it does, and leaves the model as it was."""

from __future__ import annotations

import itertools
import random
import weakref

import numpy
import pytest
import torch
from torch import nn

from tests.summaries.models import CASES, Clamped, GraphConvolution, ResNet, TwoTowers
from torch_debugger.anatomy.model_graph import model_graph
from torch_debugger.anatomy.op_graph import GraphNode, ModelGraph


def readers(graph: ModelGraph, name: str) -> set[str]:
    """The nodes that read what the named one made."""
    return {graph.nodes[edge.target].name for edge in graph.edges if graph.nodes[edge.source].name == name}


def sources(graph: ModelGraph, name: str) -> set[str]:
    return {graph.nodes[edge.source].name for edge in graph.edges if graph.nodes[edge.target].name == name}


def node(graph: ModelGraph, name: str) -> GraphNode:
    return next(each for each in graph.nodes if each.name == name)


def reached_from_inputs(graph: ModelGraph) -> set[str]:
    reached = {place for place, each in enumerate(graph.nodes) if each.kind == "input"}
    for edge in graph.edges:  # sources stand before their targets
        if edge.source in reached:
            reached.add(edge.target)
    return {graph.nodes[place].name for place in reached}


def state_of(model: nn.Module) -> dict[str, torch.Tensor]:
    return {name: value.clone() for name, value in model.state_dict().items() if torch.is_tensor(value)}


@pytest.mark.parametrize("case", CASES)
def test_whatever_people_write_gives_a_whole_graph(case: str) -> None:
    make, inputs = CASES[case]
    graph = model_graph(make(), inputs)
    assert graph.note == ""
    assert len({each.name for each in graph.nodes}) == len(graph.nodes)
    assert not [each.name for each in graph.nodes if each.kind == "constant"], "a tensor came from nowhere"
    for edge in graph.edges:
        assert edge.source < edge.target
        assert graph.nodes[edge.source].outputs[edge.output] == edge.form
    outputs = {each.name for each in graph.nodes if each.kind == "output"}
    assert outputs and outputs <= reached_from_inputs(graph)
    assert {each.scope for each in graph.nodes} <= {"", *(scope.name for scope in graph.scopes)}


@pytest.mark.parametrize("case", CASES)
def test_the_run_leaves_no_trace(case: str) -> None:
    make, inputs = CASES[case]
    model = make()
    before, modes = state_of(model), [module.training for module in model.modules()]
    versions = [parameter._version for parameter in model.parameters()]
    attributes = [dict(vars(module)) for module in model.modules()]
    hooks = [(len(module._forward_hooks), len(module._forward_pre_hooks)) for module in model.modules()]
    draws = torch.get_rng_state(), random.getstate(), numpy.random.get_state()[1].tolist()
    given = [tensor.clone() for tensor in tensors(inputs)]
    model_graph(model, inputs)
    assert all(torch.equal(value, before[name]) for name, value in state_of(model).items())
    assert modes == [module.training for module in model.modules()]
    assert [dict(vars(module)) for module in model.modules()] == attributes
    assert hooks == [(len(module._forward_hooks), len(module._forward_pre_hooks)) for module in model.modules()]
    assert torch.equal(torch.get_rng_state(), draws[0])
    assert (random.getstate(), numpy.random.get_state()[1].tolist()) == draws[1:]
    assert all(torch.equal(a, b) for a, b in zip(tensors(inputs), given, strict=True))
    assert all(parameter.grad is None for parameter in model.parameters())
    if case != "clamped":  # whose own forward writes into them
        assert versions == [parameter._version for parameter in model.parameters()]


def tensors(value: object) -> list[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        return [value]
    items = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return [tensor for item in items for tensor in tensors(item)]


def test_a_residual_connection_is_an_edge_around_the_block() -> None:
    graph = model_graph(ResNet(), torch.randn(2, 3, 32, 32))
    assert sources(graph, "ResNet/layer1/0/add_") == {"ResNet/layer1/0/bn2/batch_norm", "ResNet/max_pool2d"}
    assert sources(graph, "ResNet/layer2/0/add_") == {
        "ResNet/layer2/0/bn2/batch_norm",
        "ResNet/layer2/0/downsample/conv2d",
    }
    assert node(graph, "ResNet/layer1/0/conv1/conv2d").outputs[0].shape == (2, 8, 8, 8)
    assert node(graph, "ResNet/conv1/weight").outputs[0].dtype == "float32"


def test_a_module_that_is_called_twice_has_two_scopes_and_one_weight() -> None:
    class Twice(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.block = nn.Sequential(nn.Linear(4, 4), nn.ReLU())

        def forward(self, x):
            return self.block(self.block(x))

    graph = model_graph(Twice(), torch.randn(2, 4))
    calls = [(scope.name, scope.path, scope.call) for scope in graph.scopes if scope.path == "block.0"]
    assert calls == [("Twice/block/0", "block.0", 1), ("Twice/block_2/0", "block.0", 2)]
    assert readers(graph, "Twice/block/0/weight") == {"Twice/block/0/linear", "Twice/block_2/0/linear"}
    assert sources(graph, "Twice/block_2/0/linear") >= {"Twice/block/1/relu"}
    assert {scope.detail for scope in graph.scopes if scope.path == "block.0"} == {
        "in_features=4, out_features=4, bias=True"
    }


def test_writing_into_a_view_is_seen_by_who_reads_the_whole() -> None:
    class Writes(nn.Module):
        def forward(self, x):
            y = x.clone()
            y[:, 0].fill_(1)
            y[0] = 2
            return y.sum()

    graph = model_graph(Writes(), torch.randn(2, 4))
    order = ["clone", "getitem", "fill_", "setitem", "sum"]
    for before, after in itertools.pairwise(order):
        assert sources(graph, f"Writes/{after}") == {f"Writes/{before}"}
    assert [form.shape for form in node(graph, "Writes/fill_").outputs] == [(2,), (2, 4)]


def test_what_does_nothing_stays_apart_from_what_it_was_given() -> None:
    class Skips(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.skip, self.drop = nn.Identity(), nn.Dropout()

        def forward(self, x):
            same, dropped = self.skip(x), self.drop(x)
            return x + 1, same + 2, dropped + 3

    graph = model_graph(Skips(), torch.randn(2, 4))
    assert sources(graph, "Skips/add") == {"input/x"}
    assert sources(graph, "Skips/add_2") == {"Skips/skip/Identity"}
    assert sources(graph, "Skips/add_3") == {"Skips/drop/dropout"}


def test_numbers_that_leave_for_python_are_shown() -> None:
    graph = model_graph(*made("gated"))
    assert {"Gated/item", "Gated/bool", "Gated/float"} <= {each.name for each in graph.nodes}
    assert "Gated/large/weight" not in {each.name for each in graph.nodes}


def made(case: str) -> tuple[nn.Module, object]:
    make, inputs = CASES[case]
    return make(), inputs


def test_scatter_and_index_are_real_edges() -> None:
    graph = model_graph(*made("graph convolution"))
    assert isinstance(CASES["graph convolution"][0](), GraphConvolution)
    assert sources(graph, "GraphConvolution/index_add_") == {
        "GraphConvolution/zeros_like",
        "GraphConvolution/unbind",
        "GraphConvolution/getitem",
    }


def test_inputs_and_outputs_have_the_names_of_the_user() -> None:
    graph = model_graph(TwoTowers(), CASES["two towers"][1])
    inputs = [each.name for each in graph.nodes if each.kind == "input"]
    outputs = [each.name for each in graph.nodes if each.kind == "output"]
    assert inputs == ["input/batch/image", "input/batch/text"]
    assert outputs == ["output/logits", "output/embeddings/image", "output/embeddings/text"]


@pytest.mark.parametrize(
    "inputs", [{"src": torch.randn(2, 5, 8)}, (torch.randn(2, 5, 8), None), [torch.randn(2, 5, 8)]]
)
def test_keywords_tuples_and_lists_are_arguments(inputs: object) -> None:
    graph = model_graph(CASES["masked transformer"][0](), inputs)
    assert graph.note == ""
    assert [each.name for each in graph.nodes if each.kind == "input"] == ["input/src"]


def test_a_compiled_model_is_drawn_as_it_was_written() -> None:
    plain = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
    expected = model_graph(plain, torch.randn(2, 4))
    assert model_graph(torch.compile(plain), torch.randn(2, 4)) == expected
    assert model_graph(nn.Sequential(torch.compile(plain[0]), plain[1]), torch.randn(2, 4)) == expected
    assert model_graph(nn.DataParallel(plain), torch.randn(2, 4)) == expected


@pytest.mark.filterwarnings("ignore:.*torch.jit")
@pytest.mark.parametrize(
    "make", [torch.jit.script, lambda model: torch.jit.trace(model.eval(), torch.randn(2, 4))]
)
def test_scripted_and_traced_models_show_their_operations(make) -> None:
    model = make(nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.ReLU()))
    before, training = state_of(model), model.training
    graph = model_graph(nn.Sequential(model, nn.Linear(4, 2)), torch.randn(2, 4))
    assert graph.note == ""
    assert {"Sequential/addmm", "Sequential/native_batch_norm", "Sequential/1/linear"} <= reached_from_inputs(
        graph
    )
    assert model.training == training
    assert all(torch.equal(value, before[name]) for name, value in state_of(model).items())


def test_a_model_that_raises_is_drawn_as_its_modules() -> None:
    graph = model_graph(nn.Sequential(nn.Linear(4, 4), nn.ReLU()), torch.randn(2, 5))
    assert graph.note == (
        "forward raised: RuntimeError: mat1 and mat2 shapes cannot be multiplied (2x5 and 4x4)"
    )
    assert [(each.name, each.kind) for each in graph.nodes] == [
        ("Sequential/0/weight", "parameter"),
        ("Sequential/0/bias", "parameter"),
        ("Sequential/0/Linear", "module"),
        ("Sequential/1/ReLU", "module"),
    ]


def test_a_lazy_model_is_drawn_once_it_has_shapes() -> None:
    model = nn.Sequential(nn.LazyLinear(3))
    graph = model_graph(model, torch.randn(2, 4))
    assert graph.note == "`0.weight` has no shape yet: run the model once before drawing it."
    assert isinstance(model[0], nn.LazyLinear), "drawing gave it shapes"
    model(torch.randn(2, 4))
    assert model_graph(model, torch.randn(2, 4)).note == ""


def test_no_input_and_no_model_are_told() -> None:
    assert "missing 1 required positional argument" in model_graph(nn.Linear(2, 2)).note
    assert model_graph(lambda x: x, torch.ones(1)).note == "expected a torch.nn.Module, but got function."  # type: ignore[arg-type]
    assert model_graph(None).note == "expected a torch.nn.Module, but got NoneType."  # type: ignore[arg-type]


def test_a_model_on_the_meta_device_is_drawn_with_inputs_from_elsewhere() -> None:
    with torch.device("meta"):
        model = nn.Linear(4, 3)
    graph = model_graph(model, torch.randn(2, 4))
    assert graph.note == ""
    assert node(graph, "Linear/linear").outputs[0].device == "meta"


def test_eight_bit_floats_are_drawn() -> None:
    class Small(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("weight", torch.randn(4, 4).to(torch.float8_e4m3fn))

        def forward(self, x):
            return x @ self.weight.to(x.dtype)

    graph = model_graph(Small(), torch.randn(2, 4))
    assert node(graph, "Small/weight").outputs[0].dtype == "float8_e4m3fn"


def test_a_loop_of_very_many_steps_ends_in_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    for room in ("graph_recorder", "model_graph"):
        monkeypatch.setattr(f"torch_debugger.anatomy.{room}.MOST_NODES", 50)

    class Long(nn.Module):
        def forward(self, x):
            for _ in range(60):
                x = x + 1
            return x

    graph = model_graph(Long(), torch.ones(1))
    assert graph.note == "the graph ends after 50 operations: the model does more."
    assert len(graph.nodes) == 50


def test_a_forward_that_waits_for_other_processes_is_not_run_alone(tmp_path) -> None:
    class Reduces(nn.Module):
        def forward(self, x):
            torch.distributed.all_reduce(x)
            return x

    torch.distributed.init_process_group("gloo", init_method=f"file://{tmp_path}/meeting", rank=0, world_size=1)
    try:
        graph = model_graph(Reduces(), torch.ones(2))
    finally:
        torch.distributed.destroy_process_group()
    assert (
        graph.note == "forward raised: DebuggerError: it waits for other processes, and only this one is asked"
    )


def test_memory_is_freed_as_the_model_lets_go_of_it() -> None:
    class Deep(nn.Module):
        def forward(self, x):
            for _ in range(5):
                x = x * 2
                references.append(weakref.ref(x))
            alive.append(sum(reference() is not None for reference in references))
            return x

    references: list[weakref.ref[torch.Tensor]] = []
    alive: list[int] = []
    model_graph(Deep(), torch.ones(3))
    assert alive[-1] == 1, "the recorder holds tensors"


def test_weights_that_forward_writes_into_are_put_back_in_place() -> None:
    model = Clamped()
    memory, before = model.weight.data_ptr(), state_of(model)
    model_graph(model, torch.randint(10, (4,)))
    assert model.weight.data_ptr() == memory
    assert all(torch.equal(value, before[name]) for name, value in state_of(model).items())


def test_a_backward_that_waits_is_not_disturbed() -> None:
    model, x = ResNet(), torch.randn(2, 3, 32, 32)
    loss = model(x).sum()
    model_graph(model, x)
    loss.backward()
    assert all(parameter.grad is not None for parameter in model.parameters())


def test_a_module_that_raised_and_was_caught_does_not_hold_what_follows() -> None:
    class Tries(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.wide, self.narrow = nn.Linear(9, 4), nn.Linear(4, 4)

        def forward(self, x):
            try:
                x = self.wide(x)
            except RuntimeError:
                x = self.narrow(x)
            return x + 1

    graph = model_graph(Tries(), torch.randn(2, 4))
    outer = nn.Sequential(Tries(), nn.ReLU())
    assert graph.note == ""
    assert "Sequential/1/relu" in {each.name for each in model_graph(outer, torch.randn(2, 4)).nodes}


def test_hooks_on_all_modules_do_not_see_the_run() -> None:
    seen: list[str] = []
    handle = nn.modules.module.register_module_forward_hook(
        lambda module, *_: seen.append(type(module).__name__)
    )
    try:
        model_graph(nn.Linear(2, 2), torch.randn(1, 2))
        assert seen == []
        nn.Linear(2, 2)(torch.randn(1, 2))
        assert seen == ["Linear"]
    finally:
        handle.remove()


def test_operators_that_take_functions_are_one_operation() -> None:
    class Attends(nn.Module):
        def forward(self, q):
            return torch.nn.attention.flex_attention.flex_attention(q, q, q)

    import torch.nn.attention.flex_attention

    graph = model_graph(Attends(), torch.randn(1, 2, 16, 16))
    assert graph.note == ""
    assert "Attends/flex_attention" in reached_from_inputs(graph)


def test_memory_of_the_user_that_is_written_into_is_put_back() -> None:
    cache = torch.zeros(3)

    class Caches(nn.Module):
        def forward(self, x):
            cache[1:] += x.sum()
            return x + cache

    model_graph(Caches(), torch.ones(3))
    assert cache.tolist() == [0.0, 0.0, 0.0]
