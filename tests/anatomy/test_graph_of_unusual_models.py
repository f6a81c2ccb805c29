"""Models that are compiled, scripted, broken or strange are drawn too, and nothing of theirs is changed."""

from __future__ import annotations

import weakref

import pytest
import torch
from torch import nn

from tests.summaries.flow import node, reached_from_inputs, sources, state_of
from tests.summaries.models import Clamped, ResNet
from torch_debugger.model.graph import model_graph


def test_a_compiled_model_is_drawn_as_it_was_written() -> None:
    plain = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
    expected = model_graph(plain, torch.randn(2, 4))
    assert model_graph(torch.compile(plain), torch.randn(2, 4)) == expected
    assert model_graph(nn.Sequential(torch.compile(plain[0]), plain[1]), torch.randn(2, 4)) == expected
    assert model_graph(nn.DataParallel(plain), torch.randn(2, 4)) == expected


@pytest.mark.filterwarnings("ignore:.*torch.jit")
@pytest.mark.parametrize("make", [torch.jit.script, lambda model: torch.jit.trace(model.eval(), torch.randn(2, 4))])
def test_scripted_and_traced_models_show_their_operations(make) -> None:
    model = make(nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.ReLU()))
    before, training = state_of(model), model.training
    graph = model_graph(nn.Sequential(model, nn.Linear(4, 2)), torch.randn(2, 4))
    assert graph.note == ""
    assert {"Sequential/addmm", "Sequential/native_batch_norm", "Sequential/1/linear"} <= reached_from_inputs(graph)
    assert model.training == training
    assert all(torch.equal(value, before[name]) for name, value in state_of(model).items())


def test_a_model_that_raises_is_drawn_as_its_modules() -> None:
    graph = model_graph(nn.Sequential(nn.Linear(4, 4), nn.ReLU()), torch.randn(2, 5))
    assert graph.note == ("forward raised: RuntimeError: mat1 and mat2 shapes cannot be multiplied (2x5 and 4x4)")
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
    for module in ("graph_recorder", "graph"):
        monkeypatch.setattr(f"torch_debugger.model.{module}.MOST_NODES", 50)

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
    assert graph.note == "forward waits for other processes, and only this one is asked."


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
    handle = nn.modules.module.register_module_forward_hook(lambda module, *_: seen.append(type(module).__name__))
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


def test_a_model_that_takes_gradients_of_its_input_is_drawn() -> None:
    class Forces(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.energy = nn.Linear(3, 1)

        def forward(self, positions):
            energy = self.energy(positions).sum()
            return -torch.autograd.grad(energy, positions)[0]

    graph = model_graph(Forces(), torch.randn(4, 3, requires_grad=True))
    assert graph.note == ""
    assert sources(graph, "Forces/grad") == {"Forces/sum", "input/positions"}


def test_a_model_that_only_runs_in_training_is_drawn_so() -> None:
    class Trains(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm = nn.BatchNorm1d(2)

        def forward(self, x):
            if not self.training:
                raise RuntimeError("call train() first")
            return self.norm(x)

    model = Trains()
    graph = model_graph(model, torch.randn(4, 2))
    assert graph.note == ""
    assert model.norm.num_batches_tracked == 0 and model.norm.running_mean.tolist() == [0.0, 0.0]
    assert model_graph(model.eval(), torch.randn(4, 2)).note == "forward raised: RuntimeError: call train() first"


def test_a_list_of_words_is_one_argument() -> None:
    class Reads(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words = nn.Embedding(100, 2)

        def forward(self, texts):
            return self.words(torch.tensor([len(text) for text in texts]))

    graph = model_graph(Reads(), ["one"])
    assert graph.note == ""
    assert node(graph, "Reads/words/embedding").outputs[0].shape == (1, 2)


def test_objects_of_the_users_own_classes_are_opened() -> None:
    class Batch:
        def __init__(self, x: torch.Tensor) -> None:
            self.x, self.note = x, "not a tensor"

    class Shifts(nn.Module):
        def forward(self, batch):
            batch.x.add_(1)
            return Batch(batch.x * 2)

    given = Batch(torch.zeros(2))
    graph = model_graph(Shifts(), given)
    assert sources(graph, "Shifts/add_") == {"input/batch/x"}
    assert sources(graph, "output/x") == {"Shifts/mul"}
    assert given.x.tolist() == [0.0, 0.0]


def test_a_model_that_gives_nothing_is_drawn() -> None:
    class Keeps(nn.Module):
        def forward(self, x):
            self.last = x * 2

    model = Keeps()
    assert [each.name for each in model_graph(model, torch.ones(1)).nodes] == ["input/x", "Keeps/mul"]
    assert not hasattr(model, "last")
