"""Objects that notice every look at them, wherever a script may keep one: none of the looks is ours."""

from __future__ import annotations

import collections
import contextlib
import functools
import io
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import wrapt
from torch import nn
from torch.utils._pytree import tree_map_only
from torch.utils.data import DataLoader

from tests.probes.watching import watched
from tests.promises import odd_objects as odd
from tests.promises.running import PLAIN, WATCHED, run
from torch_debugger.runner.explanations import explain
from torch_debugger.source.objects import own_attributes
from torch_debugger.stats import dispatch_modes as unseen_operations

SCRIPT = Path(__file__).parent / "odd_objects.py"


@pytest.mark.parametrize("ending", ["finishes", "nan", "crashes", "raises"])
def test_no_object_of_the_scripts_is_woken(ending: str) -> None:
    """The script prints how often each kind of its objects was asked for what, and by which line of ours."""
    plain, watched = (run([*how, str(SCRIPT), ending]) for how in (PLAIN, WATCHED))
    assert plain.code == (1 if ending in ("crashes", "raises") else 0), plain.stderr
    assert watched.stdout.decode() == plain.stdout.decode(), watched.stderr
    assert b"by the debugger: 0" in plain.stdout
    assert watched.code == plain.code


# Each fails, with such objects among its operands, its arguments or the variables around it. Left out are those
# whose message is made from such an object, and an object that is used as a dataset: its length is asked for.
FAILING = """
net.fc2(odd_tensor)
net.fc2(odd_object)
net.fc2(odd_list)
net.fc2(some)
net(odd_dict)
net(batch, odd_object, nothing=odd_list)
net.missing(odd_object)
odd_object.missing
odd_dict["missing"]
odd_list[99]
odd_tuple[99]
some[99]
torch.ones(3) + odd_object
torch.ones(3) + odd_list
torch.ones(3) @ odd_tensor.reshape(1, 3)
torch.ones(3) @ some
odd_tensor + torch.ones(4)
odd_object + 1
1 + odd_text
odd_text + 1
odd_float * some
int(odd_text)
float(odd_text)
torch.load("/nowhere/model.pt", map_location=odd_text)
torch.tensor(some)
torch.stack(some)
torch.stack([odd_tensor, torch.ones(4)])
torch.cat(odd_list)
torch.zeros(odd_text)
torch.zeros(3, device=odd_text)
torch.zeros(3).to(odd_text)
torch.nn.functional.cross_entropy(odd_tensor, torch.ones(4))
torch.nn.functional.cross_entropy(torch.ones(2, 3), torch.tensor([5, 5]))
nn.CrossEntropyLoss(weight=odd_list)(torch.ones(2, 3), torch.tensor([0, 1]))
nn.Linear(odd_text, 3)
nn.Linear(odd_list, 3)
nn.Linear(odd_int, 3)(torch.ones(9))
nn.Embedding(3, 4)(torch.tensor([7]))
nn.Embedding(3, 4)(odd_tensor)
nn.Sequential(odd_object)
nn.Sequential(nn.Linear(3, 3), odd_object)(torch.ones(3))
nn.ModuleList(some)
nn.Conv2d(3, 4, odd_tuple)(torch.ones(3))
torch.optim.SGD(odd_list, lr=0.1)
torch.optim.SGD(net.parameters(), lr=odd_text)
torch.optim.SGD([{"params": odd_list}], lr=0.1)
torch.optim.SGD([odd_object], lr=0.1)
torch.optim.lr_scheduler.StepLR(odd_object, 3)
torch.optim.lr_scheduler.LambdaLR(optimizer, odd_list)
optimizer.load_state_dict(odd_dict)
net.load_state_dict(odd_dict)
net.load_state_dict({"fc1.weight": odd_tensor, "odd": odd_object})
odd_tensor.backward()
torch.ones(3).backward(odd_tensor)
net.fc1(torch.ones(2, 8)).backward()
torch.ones(1, requires_grad=True).numpy()
next(iter(DataLoader(some, batch_size=2)))
next(iter(DataLoader([odd_object, odd_object], batch_size=2)))
next(iter(DataLoader([odd_text, 3], batch_size=2)))
next(iter(DataLoader([torch.ones(3), torch.ones(4)], batch_size=2, collate_fn=odd_object)))
DataLoader(some, sampler=odd_object, shuffle=True)
for a, b in some: pass
missing_name
print(odd_objekt)
odd_object()
odd_of_kind()
Kind.missing
len(odd_object) + "a"
sum(some)
max(some)
sorted(some)
torch.where(odd_tensor, 1, odd_object)
if torch.ones(3) > odd_tensor: pass
torch.randint(0, odd_text, (3,))
raise ValueError("bad", 1)
raise KeyError("k")
torch.manual_seed(odd_text)
torch.utils.data.random_split(some, odd_list)
torch.nn.utils.clip_grad_norm_(odd_list, odd_text)
torch.nn.utils.rnn.pack_padded_sequence(torch.ones(2, 3), odd_list)
torch.nn.utils.rnn.pad_sequence(some)
torch.save(some, "/nowhere/at/all.pt")
setattr(net.fc1, "weight", odd_tensor)
net.to(odd_text)
net.register_buffer("odd", odd_object)
net.register_parameter("odd", odd_tensor)
net.fc1.weight.copy_(odd_tensor)
torch.func.vmap(net.fc1)(odd_tensor)
""".strip().splitlines()


def test_explaining_a_crash_wakes_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "train.py"
    script.write_text("\n".join(FAILING))
    woken: dict[str, dict[str, int]] = {}
    for number, line in enumerate(FAILING):
        with pytest.raises(Exception) as failed:  # noqa: PT011  each has its own
            exec(compile("\n" * number + line, str(script), "exec"), _variables())
        monkeypatch.setattr(odd, "is_noticing", True)
        with contextlib.redirect_stderr(io.StringIO()):
            explain(failed.value)
        monkeypatch.setattr(odd, "is_noticing", False)
        if odd.by_the_debugger:
            woken[line] = dict(odd.by_the_debugger)
            odd.by_the_debugger.clear()
    assert not woken


def test_a_dictionary_is_read_where_it_is_pythons_own() -> None:
    class Slotted:
        __slots__ = ("made",)
        __dict__ = property(lambda self: self.made.append("made") or {})  # type: ignore[assignment]

        def __init__(self) -> None:
            self.made: list[str] = []

    made: list[str] = []
    lazy = wrapt.LazyObjectProxy(lambda: made.append("made") or [])
    assert own_attributes(lazy) == {} and not made
    asked = Slotted()
    assert own_attributes(asked) == {} and not asked.made
    error = ValueError("kept")
    error.step = 3  # type: ignore[attr-defined]
    called = functools.partial(print)
    called.step = 4  # type: ignore[attr-defined]
    weight = nn.Parameter(torch.ones(1))
    weight.step = 5
    for value, step in ((error, 3), (called, 4), (weight, 5), (SimpleNamespace(step=6), 6)):
        assert own_attributes(value) == {"step": step}
    assert own_attributes(nn.Linear(1, 1)).keys() >= {"_parameters", "in_features"}


def test_models_and_loaders_are_not_compared() -> None:
    compared: list[str] = []

    class Net(nn.Linear):
        def __eq__(self, other: object) -> bool:
            compared.append("model")
            return self is other

        __hash__ = object.__hash__

    class Loader(DataLoader):  # type: ignore[type-arg]
        def __eq__(self, other: object) -> bool:
            compared.append("loader")
            return self is other

        __hash__ = object.__hash__

    net = Net(4, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    loader = Loader([torch.ones(4) for _ in range(8)], batch_size=2)
    with watched() as seen:
        for batch in (batch for _ in range(3) for batch in loader):
            optimizer.zero_grad()
            net(batch).square().mean().backward()
            optimizer.step()
    assert len(seen.scalars("loss")) == 12
    assert not compared


def test_operations_of_ours_reach_no_class_with_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that wraps another tensor and counts what is done to it."""
    monkeypatch.setattr(unseen_operations, "_leaves_classes", False)
    done: collections.Counter[str] = collections.Counter()

    class Counting(torch.Tensor):
        inner: torch.Tensor

        @staticmethod
        def __new__(cls, inner: torch.Tensor) -> Counting:
            made = torch.Tensor._make_wrapper_subclass(cls, inner.shape, requires_grad=inner.requires_grad)  # type: ignore[attr-defined]
            made.inner = inner
            return made  # type: ignore[no-any-return]

        @classmethod
        def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            done[str(func)] += 1
            args, kwargs = tree_map_only(Counting, lambda each: each.inner, (args, kwargs or {}))
            return tree_map_only(torch.Tensor, Counting, func(*args, **kwargs))

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(Counting(torch.ones(4, 1)))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x @ self.weight

    def operations() -> collections.Counter[str]:
        done.clear()
        net = Net()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1, foreach=False)
        for _ in range(5):
            optimizer.zero_grad()
            net(torch.ones(2, 4)).square().mean().backward()
            optimizer.step()
        return collections.Counter(done)

    alone = operations()
    with watched():
        beside = operations()
    assert alone["aten.mm.default"] and beside == alone


def _variables() -> dict[str, object]:
    net = odd.Net()
    return {
        "torch": torch, "nn": nn, "DataLoader": DataLoader, "net": net,
        "optimizer": torch.optim.SGD(net.parameters(), lr=0.1), "some": odd.some(), "ends": odd.Ends(),
        "odd_object": odd.OddObject(), "odd_list": odd.OddList([1, 2]), "odd_dict": odd.OddDict(a=1),
        "odd_text": odd.OddStr("cuda"), "odd_tuple": odd.OddTuple((1, 2)), "odd_int": odd.OddInt(3),
        "odd_float": odd.OddFloat(0.5), "odd_tensor": torch.ones(3).as_subclass(odd.OddTensor),
        "odd_of_kind": odd.OfNoticingKind(), "Kind": odd.OfNoticingKind,
        "batch": {"x": torch.ones(4, 8), "odd": odd.OddObject()},
    }  # fmt: skip


def test_models_and_loaders_are_not_asked_for_what_they_do_not_have() -> None:
    asked: set[str] = set()

    class Net(nn.Linear):
        def __getattr__(self, name: str) -> Any:
            asked.add(name)
            return super().__getattr__(name)

    class Loader(DataLoader):  # type: ignore[type-arg]
        def __getattr__(self, name: str) -> Any:
            asked.add(name)
            raise AttributeError(name)

    def train() -> set[str]:
        net = Net(4, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        loader = Loader([torch.ones(4) for _ in range(8)], batch_size=2)
        asked.clear()
        for batch in (batch for _ in range(3) for batch in loader):
            optimizer.zero_grad()
            net(batch).square().mean().backward()
            optimizer.step()
        net.eval()
        with torch.no_grad():
            net(batch)
        return set(asked)

    plain = train()
    with watched():
        assert train() - plain <= {"bias"}  # which a layer has
