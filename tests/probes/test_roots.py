"""The models a script calls, under the user's own names, with nothing hung on them."""

from __future__ import annotations

import copy
import gc
import io
import pickle
import weakref

import pytest
import torch
from torch import nn

from tests.probes.watching import watched
from torch_debugger.probes.model.root_modules import RootModules as Roots
from torch_debugger.records import ModelFact, PhaseFact


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 8), nn.ReLU())
        self.head = nn.Linear(8, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.body(x))


class Agent:
    def __init__(self) -> None:
        self.policy = Net()

    def act(self, x: torch.Tensor) -> torch.Tensor:
        return self.policy(x)


X = torch.randn(3, 4)


def test_the_model_and_all_of_it() -> None:
    with watched() as seen:
        model = Net()
        model(X)
        model(X)
    [fact] = seen.of(ModelFact)
    assert (fact.root, fact.kind) == ("model", "Net")
    assert [module.path for module in fact.modules] == [
        "model", "model.body", "model.body.0", "model.body.1", "model.head"
    ]  # fmt: skip
    assert [(each.path, each.shape, each.trainable) for each in fact.parameters][:2] == [
        ("model.body.0.weight", (8, 4), True), ("model.body.0.bias", (8,), True)
    ]  # fmt: skip
    assert fact.place.code == "class Net(nn.Module):"
    assert fact.forward.code == "def forward(self, x: torch.Tensor) -> torch.Tensor:"
    assert {module.path: module.place.code for module in fact.modules}["model.head"] == "self.head = nn.Linear(8, 2)"


def test_names_of_the_user() -> None:
    with watched() as seen:
        netG, agent, held = Net(), Agent(), {"a": Net()}
        netG(X)
        agent.act(X)
        held["a"](X)
    assert [fact.root for fact in seen.of(ModelFact)] == ["netG", "policy", "held['a']"]


def test_two_models_of_one_name_are_told_apart() -> None:
    def use() -> nn.Module:
        model = Net()
        model(X)
        return model

    with watched() as seen:
        kept = [use(), use()]
    assert len(kept) == 2
    assert [fact.root for fact in seen.of(ModelFact)] == ["model", "model_2"]


def test_the_name_is_free_again_when_its_model_is_gone() -> None:
    def use() -> None:
        model = Net()
        model(X)

    with watched() as seen:
        use()
        gc.collect()
        use()
    assert [fact.root for fact in seen.of(ModelFact)] == ["model", "model"]


def test_a_model_is_not_kept_alive() -> None:
    with watched():
        model = Net()
        model(X).sum().backward()
        gone = weakref.ref(model)
        del model
        gc.collect()
        assert gone() is None


def test_a_batch_is_let_go_with_its_step() -> None:
    with watched():
        model = Net()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        x = torch.randn(3, 4)
        model(x).sum().backward()
        optimizer.step()
        gone = weakref.ref(x)
        del x
        gc.collect()
        assert gone() is None


def test_losses_and_bare_functions_are_no_models() -> None:
    with watched() as seen:
        criterion, rectify = nn.CrossEntropyLoss(), nn.ReLU()
        rectify(X)
        criterion(X, torch.zeros(3, dtype=torch.long))
    assert seen.of(ModelFact) == []


def test_scripts_that_make_modules_without_end() -> None:
    with watched() as seen:
        kept = [nn.Linear(4, 1) for _ in range(100)]
        for layer in kept:
            layer(X)
    assert len(seen.of(ModelFact)) == Roots.LIMIT


def test_pickles_and_copies_are_those_of_an_unwatched_model() -> None:
    torch.manual_seed(0)
    model = Net()
    plain = pickle.dumps(model)
    with watched():
        model(X)
        assert pickle.dumps(model) == plain
        twin = copy.deepcopy(model)
        buffer = io.BytesIO()
        torch.save(model.state_dict(), buffer)
        assert vars(twin).keys() == vars(model).keys() == vars(Net()).keys()
        assert torch.equal(twin(X), model(X))
        assert torch.equal(pickle.loads(plain)(X), model(X))
    assert pickle.dumps(model) == plain


def test_a_copy_is_a_model_of_its_own() -> None:
    with watched() as seen:
        model = Net()
        model(X)
        teacher = copy.deepcopy(model)
        teacher(X)
    assert [fact.root for fact in seen.of(ModelFact)] == ["model", "teacher"]


def test_train_and_eval_with_and_without_gradients() -> None:
    with watched() as seen:
        model = Net()
        for _ in range(2):
            model.train()
            model(X)
            model.eval()
            with torch.no_grad():
                model(X)
    assert [(phase.training, phase.grad) for phase in seen.of(PhaseFact)] == [(True, True), (False, False)]


def test_a_model_compiled_in_place_keeps_its_slot() -> None:
    model = Net()
    model._compiled_call_impl = lambda *arguments: "compiled"  # what model.compile() sets
    with watched():
        assert model(X) == "compiled"
    assert model(X) == "compiled"


def test_forward_called_directly_is_not_a_call() -> None:
    with watched() as seen:
        model = Net()
        model.forward(X)
    assert "model" not in [fact.root for fact in seen.of(ModelFact)]


def test_inputs_by_keyword_are_kept_from_the_first_call_on() -> None:
    """A replay needs them."""
    with watched() as seen:
        model = Net()
        model(x=X)
        root = seen.plumbing.roots.of(model)
        assert root is not None
        assert root.call == ((), {"x": X})


@pytest.mark.parametrize("wrap", [lambda net: nn.Sequential(net), lambda net: nn.DataParallel(net)])
def test_wrapped_models(wrap: object) -> None:
    with watched() as seen:
        model = wrap(Net())  # type: ignore[operator]
        model(X)
    assert [fact.root for fact in seen.of(ModelFact)][:1] == ["model"]
