"""A condition, parsed: our own small tree. Whatever is not one of these does not exist."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Literal:
    """A number, a text, a truth; or a shape, in which None fits any size and ... any number of them."""

    value: Any


@dataclass(frozen=True)
class Name:
    word: str


@dataclass(frozen=True)
class Call:
    function: str
    argument: Node


@dataclass(frozen=True)
class Item:
    """output[0], output["logits"], shape(input)[-1]"""

    whole: Node
    key: Node


@dataclass(frozen=True)
class Operation:
    """Arithmetic with one or two parts, and a comparison of two."""

    symbol: str
    parts: tuple[Node, ...]


@dataclass(frozen=True)
class Junction:
    """`and`, `or` with two parts or more; they stop at the first that decides."""

    word: str
    parts: tuple[Node, ...]


Node = Literal | Name | Call | Item | Operation | Junction


def parts_of(node: Node) -> Iterator[Node]:
    """The node and all below it."""
    yield node
    below: tuple[Node, ...] = ()
    if isinstance(node, Operation | Junction):
        below = node.parts
    elif isinstance(node, Call):
        below = (node.argument,)
    elif isinstance(node, Item):
        below = (node.whole, node.key)
    for part in below:
        yield from parts_of(part)
