"""Exceptions as nobody should write them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

ASKED: list[str] = []  # what of the user's objects was called that must be left alone


def refuse(name: str) -> Callable[..., Any]:
    def method(*arguments: object, **keywords: object) -> Any:
        ASKED.append(name)
        raise ZeroDivisionError(f"{name} must not be asked")

    return method


def odd(name: str, base: type[BaseException] = RuntimeError, **members: Any) -> BaseException:
    return type(name, (base,), members)("odd")


def cycle(*links: str) -> BaseException:
    first, second = ValueError("first"), KeyError("second")
    for link in links:
        setattr(first, link, second)
        setattr(second, link, first)
    return first


def itself() -> BaseException:
    error = ValueError("its own cause")
    error.__cause__ = error
    return error


def long_chain() -> BaseException:
    error: BaseException = ValueError("0")
    for number in range(1, 3000):
        after = ValueError(str(number))
        after.__cause__ = error
        error = after
    return error


def group(depth: int) -> BaseException:
    if sys.version_info < (3, 11):
        return ValueError("no groups yet")
    error: Exception = KeyError("leaf")
    for number in range(depth):
        error = ExceptionGroup(f"level {number}", [error, ValueError("other")])  # noqa: F821
    return error


def with_notes(*notes: object) -> BaseException:
    error = ValueError("noted")
    error.__notes__ = list(notes)  # type: ignore[attr-defined]
    return error


def of_attributes(base: type[BaseException], **attributes: object) -> BaseException:
    error = base("told")
    for name, value in attributes.items():
        setattr(error, name, value)
    return error


Unprintable = type("Unprintable", (), {"__repr__": refuse("repr"), "__str__": refuse("str")})


class WithoutRoom(Exception):
    __slots__ = ("kept",)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(name)


def fails(*arguments: object) -> Any:
    raise ZeroDivisionError("in the exception itself")


EXCEPTIONS: dict[str, Callable[[], BaseException]] = {
    "str raises": lambda: odd("A", __str__=fails),
    "str exits": lambda: odd("A", __str__=lambda self: sys.exit(3)),
    "str is no text": lambda: odd("A", __str__=lambda self: 5),
    "str is huge": lambda: odd("A", __str__=lambda self: "x" * 1_000_000),
    "str has surrogates": lambda: RuntimeError("\udcff\ud800 lone"),
    "str has colours and nulls": lambda: RuntimeError("\x1b[31mred\x00\x07\u202e"),
    "many lines": lambda: RuntimeError("\n" * 100_000),
    "repr raises": lambda: odd("A", __repr__=fails),
    "getattr raises": lambda: odd("A", __getattr__=fails),
    "bool raises": lambda: odd("A", __bool__=fails),
    "len raises": lambda: odd("A", __len__=fails),
    "equality raises": lambda: odd("A", __eq__=fails, __hash__=fails),
    "class lies": lambda: odd("A", __class__=property(lambda self: int)),
    "class raises": lambda: odd("A", __class__=property(fails)),
    "exceptions is a number": lambda: odd("A", exceptions=5),
    "exceptions raises": lambda: odd("A", exceptions=property(fails)),
    "exceptions is empty": lambda: odd("A", exceptions=()),
    "module is None": lambda: odd("A", __module__=None),
    "module is a number": lambda: odd("A", __module__=7),
    "name of several lines": lambda: odd("A\nB\x1b[31m"),
    "name is empty": lambda: odd(""),
    "name is huge": lambda: odd("N" * 100_000),
    "slots": WithoutRoom,
    "its own cause": itself,
    "cycle of causes": lambda: cycle("__cause__"),
    "cycle of contexts": lambda: cycle("__context__"),
    "cycle of both": lambda: cycle("__cause__", "__context__"),
    "long chain": long_chain,
    "group": lambda: group(2),
    "deep group": lambda: group(200),
    "odd notes": lambda: with_notes(1, None, Unprintable()),
    "notes are a number": lambda: of_attributes(ValueError, __notes__=5),
    "key that cannot be printed": lambda: KeyError(Unprintable()),
    "key of several parts": lambda: KeyError(("a", 1, None) * 1000),
    "key is missing": KeyError,
    "key is huge": lambda: KeyError("k" * 1_000_000),
    "errno is text": lambda: of_attributes(OSError, errno="x", filename=Unprintable()),
    "unicode": lambda: UnicodeDecodeError("utf-8", b"\xff", 0, 1, "no"),
    "syntax": lambda: of_attributes(SyntaxError, lineno="x", offset=-5, text=None, filename=3),
    "syntax without end": lambda: SyntaxError("no", ("f.py", 3, 10**9, "x" * 100_000)),
    "attribute of the unprintable": lambda: of_attributes(AttributeError, obj=Unprintable(), name=5),
    "import": lambda: ImportError("no", name=Unprintable(), path=[]),  # type: ignore[arg-type]
    "stop": lambda: StopIteration(Unprintable()),
    "memory": MemoryError,
    "recursion": lambda: RecursionError("maximum recursion depth exceeded"),
    "arguments": lambda: RuntimeError(Unprintable(), [Unprintable()], {}),
    "looks like torch's": lambda: RuntimeError("mat1 and mat2 shapes cannot be multiplied (1x2 and 3x4)"),
    "looks like half of torch's": lambda: RuntimeError("The size of tensor a (9999999999999999999999"),
    "braces": lambda: RuntimeError("{0} {name} %s %(x)d {"),
}
