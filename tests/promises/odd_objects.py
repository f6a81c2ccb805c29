"""A training with objects everywhere that notice whatever is done to them; at its end it prints what was."""

from __future__ import annotations

import argparse
import atexit
import collections
import dataclasses
import sys
from types import SimpleNamespace

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

noticed: collections.Counter[str] = collections.Counter()
by_the_debugger: collections.Counter[str] = collections.Counter()
is_noticing = False
OPERATORS = [
    "__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__hash__", "__repr__", "__str__", "__format__",
    "__bool__", "__len__", "__iter__", "__next__", "__getitem__", "__setitem__", "__contains__", "__call__",
    "__index__", "__int__", "__float__", "__complex__", "__array__", "__enter__", "__exit__", "__reduce__",
    "__reduce_ex__", "__getstate__", "__copy__", "__deepcopy__", "__sizeof__", "__dir__", "__setattr__",
    "__delattr__", "__add__", "__radd__", "__mul__", "__rmul__", "__matmul__", "__torch_function__",
    "__length_hint__", "__reversed__", "__instancecheck__", "__subclasscheck__", "__fspath__", "__bytes__",
    "__await__", "__array_interface__", "__dlpack__", "__iadd__", "__neg__", "__abs__", "__round__",
    "__missing__",
]  # fmt: skip
METHODS = [
    "keys", "items", "values", "get", "pop", "append", "extend", "copy", "count", "index", "encode", "lower",
    "split", "join", "item", "tolist", "size", "numpy",
]  # fmt: skip


def notice(what: str) -> None:
    if not is_noticing:
        return
    noticed[what] += 1
    frame = sys._getframe(2)
    while frame is not None and frame.f_code.co_filename != __file__:
        if "torch_debugger" in frame.f_code.co_filename:
            place = f"{frame.f_code.co_filename.split('torch_debugger/', 1)[1]}:{frame.f_lineno}"
            by_the_debugger[f"{what} in {place}"] += 1
            return
        frame = frame.f_back


def noticing(base: type, name: str):
    inherited = getattr(base, name, None)
    answers = {"__bool__": True, "__len__": 3, "__index__": 3, "__int__": 3, "__float__": 3.0, "__fspath__": "/"}

    def method(self, *arguments, **keywords):
        notice(f"{base.__name__}.{name}")
        if inherited is not None:
            return inherited(self, *arguments, **keywords)
        return iter(()) if name == "__iter__" else answers.get(name, NotImplemented)

    return method


def odd(base: type, *, lies: bool = True) -> type:
    """A subclass, or for `object` a class with everything that Python or torch might ask for."""
    names = [name for name in (*OPERATORS, *METHODS) if hasattr(base, name) or base is object]
    if base is object:
        names = [name for name in names if not name.startswith(("__torch", "__array", "__next", "__await"))]
    if issubclass(base, torch.Tensor):  # torch's own work on it would be noticed as well
        names = [
            "__len__", "__iter__", "__getitem__", "__bool__", "__repr__", "__eq__", "__format__",
            "__contains__", "item", "tolist", "numpy",
        ]  # fmt: skip
    members = {name: noticing(base, name) for name in names}

    def getattribute(self, name):
        notice(f"{base.__name__} attribute {name}")
        return base.__getattribute__(self, name)

    def kind(self):
        notice(f"{base.__name__}.__class__")
        return int

    if not issubclass(base, torch.Tensor):
        members["__getattribute__"] = getattribute
        members |= {"__class__": property(kind)} if lies else {}
    return type(base)(f"Odd{base.__name__.capitalize()}", (base,), members)


class NoticingKind(type):
    """Of classes that notice what is asked of them."""

    def __instancecheck__(cls, value):
        notice("class.__instancecheck__")
        return False

    def __subclasscheck__(cls, other):
        notice("class.__subclasscheck__")
        return False

    def __getattribute__(cls, name):
        notice(f"class attribute {name}")
        return super().__getattribute__(name)

    def __eq__(cls, other):
        notice("class.__eq__")
        return cls is other

    def __hash__(cls):
        notice("class.__hash__")
        return 7

    def __repr__(cls):
        notice("class.__repr__")
        return "a class"


class OfNoticingKind(metaclass=NoticingKind):
    def __init__(self):
        self.inner = 1


class Ends:
    """The program, or what looks at it, when it is asked for anything."""

    def __getattribute__(self, name):
        notice(f"Ends attribute {name}")
        sys.exit(9)

    @property
    def __class__(self):
        notice("Ends.__class__")
        raise KeyboardInterrupt

    def __repr__(self):
        notice("Ends.__repr__")
        raise SystemExit(8)

    def __eq__(self, other):
        notice("Ends.__eq__")
        raise KeyboardInterrupt

    def __bool__(self):
        notice("Ends.__bool__")
        raise SystemExit

    __hash__ = None


OddObject, OddList, OddDict, OddStr, OddTuple = odd(object), odd(list), odd(dict), odd(str), odd(tuple)
OddInt, OddFloat, OddSet = odd(int), odd(float), odd(set)
OddTensor = odd(torch.Tensor)


@dataclasses.dataclass
class Config:
    odd_of_class = OddObject()
    lr: float = 0.01
    odd: object = None


def some() -> list:
    """One of each, made anew."""
    lazy = [OddObject(), OddList([1, 2]), OddDict(a=1), OddStr("lr"), OddTuple((1, 2)), OddInt(3), OddFloat(0.5)]
    return [*lazy, OddSet((1,)), torch.ones(3).as_subclass(OddTensor), OfNoticingKind(), OfNoticingKind, Ends()]


class Data(Dataset):
    odd_of_class, ends_of_class = OddObject(), Ends()

    def __init__(self):
        self.x = torch.randn(48, 8)
        self.some, self.named = some(), {"odd": OddDict(x=OddList())}
        self.odd = OddList([OddObject()])

    def __len__(self):
        return 48

    def __getitem__(self, index):
        return self.x[index], self.x[index].sum()


def collate(items):
    x, y = (torch.stack(column) for column in zip(*items, strict=True))
    return {"x": x, "y": y, "some": some(), "mapped": {"odd": OddObject()}, "pairs": [(OddStr("a"), OddObject())]}


class Net(nn.Module):
    odd_of_class, ends_of_class = OddObject(), Ends()

    def __init__(self):
        super().__init__()
        self.fc1, self.bn, self.fc2 = nn.Linear(8, 16), nn.BatchNorm1d(16), nn.Linear(16, 1)
        self.some, self.named = some(), {"odd": OddObject(), "more": OddDict(a=OddList())}
        self.odd_object, self.odd_list, self.odd_text = OddObject(), OddList(), OddStr("relu")
        self.__dict__["ends"] = Ends()  # torch asks for the kind of what is assigned

    def forward(self, batch, *more, odd=None):
        odd_local, some_local = OddObject(), some()
        hidden = torch.relu(self.bn(self.fc1(batch["x"])))
        return {"out": self.fc2(hidden), "odd": odd_local, "some": some_local, "list": OddList([OddObject()])}


class Criterion(nn.Module):
    odd_of_class = OddObject()

    def __init__(self):
        super().__init__()
        self.some, self.weight_of_odd = some(), OddFloat(1.0)

    def forward(self, output, target, odd):
        return (output["out"].squeeze(-1) - target).pow(2).mean()


odd_object, odd_list, odd_dict, odd_text = OddObject(), OddList([OddObject()]), OddDict(lr=0.01), OddStr("0.1")
ends = Ends()
everything = some()
settings = {"odd": OddObject(), "lr": 0.01, OddStr("wd"): 0.1}
arguments = argparse.Namespace(lr=0.01, odd=OddObject(), ends=Ends(), text=OddStr("adam"))
space = SimpleNamespace(odd=OddObject(), some=some())
config = Config(odd=OddObject())
pairs, ring = collections.OrderedDict(a=OddObject()), collections.deque([OddObject()])
batch_size, hidden = OddInt(16), OddInt(16)


def closure(given=odd_object):
    return given


closure.odd = OddObject()


def evaluate(model, loader, odd):
    model.eval()
    with torch.no_grad():
        for batch in loader:
            model(batch, odd_object, odd=odd)
    model.train()


def deepest(model, odd_argument, *many, named=None, **rest):
    odd_local, some_local = OddObject(), some()  # noqa: F841  held while it fails
    if "raises" in sys.argv:
        raise LookupError("nothing is there")
    model.fc2(torch.randn(3, 5))


def train(odd_argument, ending):
    global is_noticing
    torch.manual_seed(0)
    loader = DataLoader(Data(), batch_size=16, shuffle=True, collate_fn=collate)
    net, criterion = Net(), Criterion()
    groups = [{"params": list(net.parameters()), "odd": OddObject(), "named": OddDict(a=1), "ends": Ends()}]
    optimizer = torch.optim.SGD(groups, lr=0.01, momentum=0.9)
    optimizer.odd, optimizer.some = OddObject(), some()
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 10)
    scheduler.odd = OddObject()
    history, odd_local = [], OddObject()
    is_noticing = True
    for epoch in range(4):
        for batch in loader:
            some_local = some()  # noqa: F841  held while others are looked at
            output = net(batch, odd_local, odd=OddObject())
            loss = criterion(output, batch["y"], odd_local)
            if ending == "nan" and epoch == 2:
                loss = loss * torch.log(loss * 0 - 1)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            history.append((loss.item(), OddObject()))
        evaluate(net, loader, odd_local)
        scheduler.step()
    print([parameter.sum().item() for parameter in net.parameters()])
    if ending in ("crashes", "raises"):
        deepest(net, odd_local, *some(), named=OddDict(a=1), ends=Ends(), text=OddStr("a"))


def tell():
    global is_noticing
    is_noticing = False
    for what, times in sorted(by_the_debugger.items()):
        print(times, what)
    print("by the debugger:", sum(by_the_debugger.values()))
    for what, times in sorted(noticed.items()):
        print(times, what)


if __name__ == "__main__":
    atexit.register(tell)
    train(OddObject(), sys.argv[1])
