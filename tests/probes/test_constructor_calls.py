"""What the arguments of a constructor's call are, and what they meant."""

from __future__ import annotations

import ast

from torch_debugger.crashes.shapes_constructors import arguments_by_name, values_of


class Net:
    def __init__(self, features: int, hidden: int, *, classes: int = 2) -> None: ...


def given(text: str) -> dict[str, str] | None:
    call = ast.parse(text, mode="eval").body
    assert isinstance(call, ast.Call)
    found = arguments_by_name(call, Net)
    return found and {name: ast.unparse(node) for name, node in found.items()}


def test_arguments_by_the_names_of_their_parameters() -> None:
    assert given("Net(a, 2, classes=c)") == {"features": "a", "hidden": "2", "classes": "c"}
    assert given("Net(*sizes)") is None
    assert given("Net(**sizes)") is None
    assert given("Net(1, 2, depth=3)") is None


def test_values_without_calling_anything() -> None:
    def values(text: str) -> dict[str, int] | None:
        return values_of({"it": ast.parse(text, mode="eval").body}, {"a": 3, "sizes": [4, 5]})

    assert values("a * 2 + sizes[1]") == {"it": 11}
    assert values("len(sizes)") is None
    assert values("missing") is None
