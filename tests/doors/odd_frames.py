"""Places to raise an exception in, each with something in reach that breaks when it is looked at."""
# ruff: noqa: F841  the variables are there to be found in the frames

from __future__ import annotations

import _signal
import asyncio
import functools
import sys
import types
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import numpy
import torch
from torch import nn

from tests.doors.odd_exceptions import refuse

Touchy = type(
    "Touchy",
    (),
    {
        name: refuse(name)
        for name in ("__repr__", "__str__", "__len__", "__iter__", "__eq__", "__hash__", "__bool__",
                     "__getitem__", "__getattr__", "__format__", "__dir__", "__index__", "__array__",
                     "__torch_function__")
    },
)  # fmt: skip


class TouchyTensor(torch.Tensor):
    @classmethod
    def __torch_function__(cls, *arguments: Any, **keywords: Any) -> Any:
        raise ZeroDivisionError("a tensor that cannot be asked")

    def __repr__(self) -> str:  # type: ignore[override]
        raise ZeroDivisionError("a tensor that cannot be printed")


class Liar:
    @property
    def __class__(self) -> Any:  # type: ignore[override]
        return torch.Tensor


class HalfBuilt(nn.Module):
    def __init__(self) -> None:
        self.width = 3

    def fail(self, error: BaseException) -> None:
        hidden = torch.zeros(2)
        raise error


class Guarded(nn.Module):
    @property
    def weight(self) -> torch.Tensor:
        raise ZeroDivisionError("a property that fails")

    def __getattr__(self, name: str) -> Any:
        raise KeyError(name)

    def forward(self, error: BaseException) -> None:
        raise error


class Slotted:
    __slots__ = ("tensor",)

    def fail(self, error: BaseException) -> None:
        self.tensor = torch.ones(3)
        raise error


def plain(error: BaseException) -> None:
    raise error


def touchy_objects(error: BaseException) -> None:
    held, several, keyed = Touchy(), [Touchy()], {1: Touchy(), "two": Touchy()}
    nested = (held, several, keyed)
    raise error


def touchy_tensors(error: BaseException) -> None:
    own = torch.ones(3).as_subclass(TouchyTensor)
    several = [own, own]
    raise error


def odd_tensors(error: BaseException) -> None:
    sparse, meta = torch.eye(3).to_sparse(), torch.empty(2**40, device="meta")
    empty, scalar, number = torch.empty(0, 3), torch.tensor(True), torch.tensor(1 + 2j)
    freed = torch.arange(10)
    freed.untyped_storage().resize_(0)
    nested = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)])
    quantized = torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.qint8)
    raise error


def huge_locals(error: BaseException) -> None:
    numbers, text, table = list(range(200_000)), "x" * 5_000_000, dict.fromkeys(range(50_000))
    several = [torch.ones(2) for _ in range(2_000)]
    deep: list[Any] = []
    for _ in range(50_000):
        deep = [deep]
    raise error


def many_locals(error: BaseException) -> None:
    source = "\n".join(f"    name{index} = torch.ones(1)" for index in range(3000))
    names: dict[str, Any] = {"torch": torch, "error": error}
    exec(f"def work():\n{source}\n    raise error", names)
    names["work"]()


def proxies(error: BaseException) -> None:
    dead = weakref.proxy(Slotted())
    fake, magic = mock.Mock(), mock.MagicMock()
    liar, array = Liar(), numpy.array([Touchy()], dtype=object)
    raise error


def half_built(error: BaseException) -> None:
    HalfBuilt().fail(error)


def guarded(error: BaseException) -> None:
    Guarded.forward(object.__new__(Guarded), error)


def slotted(error: BaseException) -> None:
    Slotted().fail(error)


def recursion(error: BaseException, depth: int = 400) -> None:
    tensor = torch.ones(1)
    if depth == 0:
        raise error
    recursion(error, depth - 1)


def generator(error: BaseException) -> None:
    def steps() -> Any:
        yield torch.ones(2)
        raise error

    for _ in steps():
        pass


def coroutine(error: BaseException) -> None:
    async def work() -> None:
        await asyncio.sleep(0)
        raise error

    handler = _signal.getsignal(_signal.SIGINT)
    try:
        asyncio.run(work())
    finally:
        # It asks its own handler for its repr when it ends, fails on the exception in it, and leaves it on.
        _signal.signal(_signal.SIGINT, handler)


def c_callback(error: BaseException) -> None:
    sorted([3, 1], key=functools.partial(lambda given, item: plain(given), error))  # type: ignore[arg-type, return-value]


def without_source(error: BaseException) -> None:
    exec(compile("def work(x):\n  y = x\n  raise error\nwork(3)", "<made up>", "exec"), {"error": error})


def deleted_source(error: BaseException) -> None:
    file = Path(sys.prefix) / "no_such_file_at_all.py"
    exec(compile("weight = 3\nraise error", str(file), "exec"), {"error": error})


def odd_file_names(error: BaseException) -> None:
    for name in ("", "\x00", "a\nb.py", "~", "/", "\udcff.py", "x" * 5000):
        try:
            exec(compile("raise error", name.replace("\x00", "0"), "exec"), {"error": error})
        except type(error) as caught:
            last = caught
    raise last


def class_body(error: BaseException) -> None:
    class Body:
        tensor = torch.ones(2)
        plain(error)


def comprehension(error: BaseException) -> None:
    [plain(error) for _ in range(2)]  # type: ignore[func-returns-value]


def odd_names(error: BaseException) -> None:
    exec("größe = torch.ones(2)\nself = 5\nraise error", {"torch": torch, "error": error})


def odd_self(error: BaseException) -> None:
    def forward(self: Any) -> None:
        raise error

    forward(Touchy())


def code_moved(error: BaseException) -> None:
    moved = types.FunctionType(plain.__code__.replace(co_firstlineno=10**6), {"error": error})
    moved(error)


FRAMES: list[Callable[[BaseException], None]] = [
    plain, touchy_objects, touchy_tensors, odd_tensors, huge_locals, many_locals, proxies, half_built, guarded,
    slotted, recursion, generator, coroutine, c_callback, without_source, deleted_source, odd_file_names,
    class_body, comprehension, odd_names, odd_self, code_moved,
]  # fmt: skip
