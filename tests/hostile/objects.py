"""Objects in the globals, the locals, the batches and the model that want to be left alone: whoever looks at
them is counted, draws random numbers, or meets an exception."""

from __future__ import annotations

from tests.hostile.grammar import Piece

COUNTED = "asked = __import__('collections').Counter()"


def _odd(name: str, setup: str, expression: str, told: str = "", **parts: object) -> Piece:
    return Piece(name, setup=setup, places=(expression, told), **parts)  # type: ignore[arg-type]


def _raising(name: str, method: str, error: str) -> Piece:
    kind = "".join(word.title() for word in name.split("_"))
    return _odd(name, f"""
class {kind}:
    def {method}(self, *arguments):
        raise {error}
""", f"{kind}()")  # fmt: skip


def _counting(name: str, base: str, methods: str, expression: str) -> Piece:
    kind = "".join(word.title() for word in name.split("_"))
    text = f"\nclass {kind}({base}):\n    calls = []\n"
    for method in methods.split():
        text += f"    def {method}(self, *arguments, **keywords):\n"
        text += f"        {kind}.calls.append({method!r})\n"
        text += f"        return super().{method}(*arguments, **keywords)\n"
    return _odd(name, text, expression.replace("KIND", kind), f"{name!r}, len({kind}.calls), sorted(set({kind}.calls))")


OBJECTS = [
    _odd("lazy_proxy", """
class LazyObject:
    made = 0
    def __init__(self, factory):
        object.__setattr__(self, "_factory", factory)
    def _get(self):
        LazyObject.made += 1
        return object.__getattribute__(self, "_factory")()
    @property
    def __class__(self):
        return type(self._get())
    def __getattr__(self, name):
        return getattr(self._get(), name)
""", "LazyObject(lambda: torch.randn(2).tolist() + [random.random(), numpy.random.rand()])",
         "'made', LazyObject.made"),
    _odd("class_that_exits", """
class Exits:
    @property
    def __class__(self):
        raise SystemExit(9)
""", "Exits()"),
    _odd("class_that_interrupts", """
class Interrupts:
    @property
    def __class__(self):
        raise KeyboardInterrupt
""", "Interrupts()"),
    _odd("getattribute_exits", """
class Sealed:
    def __getattribute__(self, name):
        raise SystemExit(f"asked for {name}")
""", "Sealed()"),
    _odd("instancecheck", """
class Meta(type):
    asked = 0
    def __instancecheck__(cls, instance):
        Meta.asked += 1
        return random.random() < 0.5
    def __subclasscheck__(cls, other):
        Meta.asked += 1
        return False
    def __getattr__(cls, name):
        Meta.asked += 1
        raise AttributeError(name)
    def __eq__(cls, other):
        Meta.asked += 1
        return cls is other
    __hash__ = type.__hash__
class Checked(metaclass=Meta):
    pass
""", "Checked()", "'checked', Meta.asked"),
    _odd("random_on_touch", """
class Touched:
    def __getattr__(self, name):
        random.random()
        torch.rand(1)
        raise AttributeError(name)
    def __eq__(self, other):
        return bool(torch.rand(1) < 0.5)
    def __hash__(self):
        return random.randrange(10)
    def __bool__(self):
        return random.random() < 0.5
    def __len__(self):
        return random.randrange(10)
    def __iter__(self):
        return iter([random.random()])
    def __repr__(self):
        return str(random.random())
""", "Touched()"),
    _raising("eq_raises", "__eq__", "ValueError('ambiguous')"),
    _raising("bool_raises", "__bool__", "ValueError('ambiguous')"),
    _raising("repr_raises", "__repr__", "SystemExit(8)"),
    _raising("len_raises", "__len__", "KeyboardInterrupt"),
    _raising("hash_raises", "__hash__", "SystemExit(7)"),
    _raising("getattr_raises", "__getattr__", "RuntimeError('no attributes')"),
    _raising("iter_raises", "__iter__", "SystemExit(6)"),
    _raising("tensor_protocol_raises", "__array__", "SystemExit(6)"),
    _odd("del_prints", """
class Dying:
    alive = 0
    def __init__(self):
        Dying.alive += 1
    def __del__(self):
        Dying.alive -= 1
""", "Dying()", "'alive', Dying.alive <= 3"),
    _counting("counting_list", "list", "__len__ __iter__ __getitem__ __contains__ __eq__ copy",
          "KIND([1, torch.ones(2)])"),
    _counting("counting_dict", "dict", "__len__ __iter__ __getitem__ keys items values get __contains__",
          "KIND(a=1)"),
    _counting("counting_str", "str", "__len__ __iter__ __getitem__ __str__ __repr__ encode __format__",
          "KIND('name')"),
    _counting("counting_int", "int", "__int__ __index__ __repr__ __add__ __bool__ __float__ __format__",
          "KIND(7)"),
    _counting("counting_float", "float", "__int__ __float__ __repr__ __bool__ __format__ __round__",
          "KIND(7.5)"),
    _counting("counting_tuple", "tuple", "__len__ __iter__ __getitem__ __repr__ __contains__",
          "KIND((1, torch.ones(2)))"),
    _odd("counting_tensor", """
class Sensed(torch.Tensor):
    calls = []
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        Sensed.calls.append(getattr(function, "__name__", str(function)))
        return super().__torch_function__(function, types, args, kwargs or {})
sensed = torch.ones(3).as_subclass(Sensed)
Sensed.calls.clear()
""", "sensed", "'sensed', len(Sensed.calls), sorted(set(Sensed.calls))"),
    _odd("counting_parameter", """
class Looked(nn.Parameter):
    looks = 0
    @property
    def shape(self):
        Looked.looks += 1
        return super().shape
    def numel(self):
        Looked.looks += 1
        return super().numel()
    def __repr__(self):
        Looked.looks += 1
        return "looked"
looked = Looked(torch.ones(3))
""", "looked", "'looks', Looked.looks"),
    _odd("mapping_protocol", """
import collections.abc
class Rows(collections.abc.Mapping):
    asked = 0
    def __getitem__(self, key):
        Rows.asked += 1
        return torch.rand(1)
    def __iter__(self):
        Rows.asked += 1
        return iter("ab")
    def __len__(self):
        Rows.asked += 1
        return 2
""", "Rows()", "'rows', Rows.asked"),
    _odd("dataclass_property", """
import dataclasses
@dataclasses.dataclass
class Settings:
    rate: float = 0.1
    read = 0
    @property
    def loss(self):
        Settings.read += 1
        return random.random()
    @property
    def weight(self):
        Settings.read += 1
        raise SystemExit(3)
""", "Settings()", "'read', Settings.read"),
    _odd("weakref_callback", """
import weakref
died = []
class Short:
    pass
def short():
    one = Short()
    kept = weakref.ref(one, lambda reference: died.append(1))
    one.kept = kept
    return one
""", "short()", "'died', len(died) >= 0"),
    _odd("huge_list", "huge = list(range(1_000_000))", "huge", "len(huge)"),
    _odd("self_referencing", """
ring = [1]
ring.append(ring)
loop = {"ring": ring}
loop["loop"] = loop
""", "loop", "len(loop), len(ring)"),
    _odd("generator", """
pulled = []
def values():
    for number in range(1000):
        pulled.append(number)
        yield torch.rand(1)
source = values()
next(source)
""", "source", "'pulled', len(pulled)"),
    _odd("iterator_chain", """
import itertools
endless = itertools.count()
both = itertools.tee(endless)
""", "[endless, both, iter([1, 2]), map(print, [1])]", "next(endless)"),
    _odd("open_file", """
with open("notes.txt", "w") as notes:
    notes.write("first\\nsecond\\n")
reading = open("notes.txt")
reading.readline()
""", "reading", "reading.tell()"),
    _odd("mmap_and_ctypes", """
import ctypes
import mmap
region = mmap.mmap(-1, 4096)
region.write(b"abc")
array = (ctypes.c_double * 4)(1, 2, 3, 4)
view = memoryview(region)[:3]
""", "{'region': region, 'array': array, 'view': view}", "region.tell(), list(array), bytes(view)"),
    _odd("locked_lock", """
import threading
held = threading.Lock()
held.acquire()
condition = threading.Condition(held)
""", "[held, condition, threading.RLock()]", "held.locked()"),
    _odd("descriptor", """
class Field:
    reads = 0
    def __get__(self, instance, owner):
        Field.reads += 1
        return torch.rand(1)
class Holder:
    grad = Field()
    shape = Field()
    requires_grad = Field()
    training = Field()
    parameters = Field()
    __len__ = Field()
""", "Holder()", "'reads', Field.reads"),
    _odd("looks_like_a_tensor", """
class Duck:
    asked = []
    def __getattr__(self, name):
        Duck.asked.append(name)
        return lambda *arguments, **keywords: torch.rand(1)
""", "Duck()", "'duck', Duck.asked"),
    _odd("module_subclass_unready", """
class NotYet(nn.Module):
    def __init__(self):
        pass
""", "NotYet()"),
    _odd("mock", "from unittest import mock\nmocked = mock.MagicMock()", "mocked", "len(mocked.mock_calls)"),
    _odd("slots_without_dict", """
class Slotted:
    __slots__ = ("a", "b")
""", "Slotted()"),
    _odd("numpy_objects", """
class Cell:
    def __array_function__(self, *arguments):
        raise SystemExit(5)
    def __array_ufunc__(self, *arguments):
        raise SystemExit(5)
cells = numpy.empty(3, dtype=object)
cells[0] = Cell()
""", "cells"),
]  # fmt: skip
