"""Attributes replaced while we watch, and put back afterwards, whoever else patches."""

from __future__ import annotations

from typing import Any

import pytest

from torch_debugger.probes.probe import Patches


class Base:
    def greet(self) -> str:
        return "hello"


class Child(Base):
    pass


def louder(original: Any) -> Any:
    def greet(self: Any) -> str:
        return str(original(self)).upper()

    return greet


def test_replaced_and_put_back() -> None:
    before = Base.greet
    patches = Patches()
    patches.replace(Base, "greet", louder)
    assert Base().greet() == "HELLO"
    patches.restore()
    assert Base.greet is before


def test_an_inherited_attribute_is_not_left_on_the_child() -> None:
    patches = Patches()
    patches.replace(Child, "greet", louder)
    assert Child().greet() == "HELLO"
    assert Base().greet() == "hello"
    patches.restore()
    assert "greet" not in vars(Child)


def test_static_and_class_methods_come_back_as_they_were() -> None:
    class Owner:
        @staticmethod
        def plain() -> int:
            return 1

        @classmethod
        def of_class(cls) -> str:
            return cls.__name__

    before = dict(vars(Owner))
    patches = Patches()
    patches.replace(Owner, "plain", lambda original: staticmethod(lambda: original() + 1))
    patches.replace(Owner, "of_class", lambda original: classmethod(lambda cls: original() + "!"))
    assert (Owner.plain(), Owner.of_class()) == (2, "Owner!")
    patches.restore()
    assert {name: vars(Owner)[name] for name in before} == before


def test_twice_over_comes_off_twice() -> None:
    before = Base.greet
    patches = Patches()
    patches.replace(Base, "greet", louder)
    patches.replace(Base, "greet", lambda original: lambda self: original(self) + "?")
    assert Base().greet() == "HELLO?"
    patches.restore()
    assert Base.greet is before


def test_somebody_elses_patch_over_ours_stays() -> None:
    before = Base.greet
    patches = Patches()
    patches.replace(Base, "greet", louder)
    ours = Base.greet
    Base.greet = lambda self: ours(self) + ", and theirs"  # type: ignore[method-assign]
    try:
        patches.restore()
        assert Base().greet() == "HELLO, and theirs"
    finally:
        Base.greet = before  # type: ignore[method-assign]


def test_restoring_twice_undoes_nothing_else() -> None:
    before = Base.greet
    patches = Patches()
    patches.replace(Base, "greet", louder)
    patches.restore()
    Base.greet = ours = louder(before)  # type: ignore[method-assign]
    try:
        patches.restore()
        assert Base.greet is ours
    finally:
        Base.greet = before  # type: ignore[method-assign]


def test_a_replacement_that_cannot_be_made_changes_nothing() -> None:
    before = Base.greet
    patches = Patches()
    with pytest.raises(ZeroDivisionError):
        patches.replace(Base, "greet", lambda original: 1 / 0)
    patches.restore()
    assert Base.greet is before
