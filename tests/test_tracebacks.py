"""The traceback of a crash is the interpreter's, to the letter, whatever the exception is about."""

from __future__ import annotations

import array
import collections
import ctypes
import dataclasses
import decimal
import enum
import functools
import importlib
import json
import pathlib
import re
import sys
import threading
import types
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from tests.probes.test_crashes import caught
from torch_debugger.crashes.capture import capture_crash


@dataclasses.dataclass
class Settings:
    rate: float = 0.1


class Slotted:
    __slots__ = ("rate",)

    @property
    def doubled(self) -> float:
        return 2.0


class Color(enum.Enum):
    RED = 1


class Meta(type):
    pass


class Made(metaclass=Meta):
    pass


class OwnModule(types.ModuleType):
    pass


Point = collections.namedtuple("Point", "x y")

THINGS: dict[str, Any] = {
    "module": json,
    "package": importlib,
    "module in C": sys,
    "module of our making": types.ModuleType("made"),
    "module of an own class": OwnModule("own"),
    "torch": torch,
    "torch.nn": nn,
    "numpy": np,
    "none": None,
    "int": 3,
    "str": "text",
    "list": [1],
    "dict": {"a": 1},
    "set": {1},
    "tuple": (1,),
    "bytes": b"x",
    "range": range(3),
    "generator": (x for x in ()),
    "slice": slice(1),
    "complex": 1j,
    "function": caught,
    "lambda": lambda: None,
    "built-in function": len,
    "method": "text".join,
    "bound method": Settings().__repr__,
    "partial": functools.partial(len),
    "type": int,
    "class": Settings,
    "class of a metaclass": Made,
    "object of a metaclass": Made(),
    "dataclass": Settings(),
    "slots": Slotted(),
    "property": Slotted.doubled,
    "enum": Color,
    "enum member": Color.RED,
    "named tuple": Point(1, 2),
    "deque": collections.deque(),
    "counter": collections.Counter(),
    "simple namespace": types.SimpleNamespace(rate=0.1),
    "code": caught.__code__,
    "frame": sys._getframe(),
    "traceback": caught(lambda: 1 / 0).__traceback__,
    "exception": ValueError(),
    "path": pathlib.Path(),
    "match": re.match("", ""),
    "decimal": decimal.Decimal(1),
    "array": array.array("i"),
    "memory": memoryview(b""),
    "ctypes": ctypes.c_int(),
    "lock": threading.Lock(),
    "weak reference": weakref.ref(Settings),
    "weak proxy": weakref.proxy(Settings),
    "file": sys.__stdout__,
    "ndarray": np.zeros(2),
    "numpy number": np.float32(1),
    "dtype": np.dtype("float32"),
    "tensor": torch.zeros(2),
    "parameter": nn.Parameter(torch.zeros(2)),
    "size": torch.Size([1]),
    "torch dtype": torch.float32,
    "device": torch.device("cpu"),
    "layer": nn.Linear(2, 2),
    "model": nn.Sequential(nn.Linear(2, 2)),
    "optimizer": torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.1),
    "loader": torch.utils.data.DataLoader([1]),
    "node": torch.zeros(1, requires_grad=True).sum().grad_fn,
    "random numbers": torch.Generator(),
    "scripted": torch.jit.script(nn.Identity()),
}


@pytest.mark.parametrize("thing", THINGS.values(), ids=THINGS.keys())
def test_an_attribute_that_is_not_there(thing: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert_told_as_by_python(lambda: thing.no_such_name, capsys)
    assert_told_as_by_python(lambda: thing.__clas__, capsys)  # there is one of a similar name


def test_a_module_that_says_itself_what_is_in_it_is_not_asked() -> None:
    module = types.ModuleType("lazy")
    asked = []
    module.__dir__ = lambda: asked.append(1) or ["no_such_names"]  # type: ignore[method-assign, assignment, func-returns-value]
    told = capture_crash(caught(lambda: module.no_such_name), 0).traceback
    assert told.startswith("Traceback (most recent call last):\n")
    assert told.endswith("AttributeError: module 'lazy' has no attribute 'no_such_name'\n")
    # From 3.12 on whoever makes the text asks it, we and Python alike.
    if sys.version_info < (3, 12):
        assert not asked


def assert_told_as_by_python(act: Callable[[], Any], capsys: pytest.CaptureFixture[str]) -> None:
    error = caught(act)
    sys.__excepthook__(type(error), error, error.__traceback__)
    printed = capsys.readouterr().err
    assert printed.startswith("Traceback (most recent call last):\n")
    assert capture_crash(error, 0).traceback == printed
