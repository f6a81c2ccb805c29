"""Lines that switch gradients off, and lines that may switch them on."""

from __future__ import annotations

import ast

import pytest

from torch_debugger.source.parameters import freezes, may_unfreeze


@pytest.mark.parametrize(
    ("line", "off", "on"),
    [
        ("p.requires_grad = False", True, False),
        ("a.requires_grad = b.requires_grad = False", True, False),
        ("net.body.requires_grad_(False)", True, False),
        ("net.requires_grad_(requires_grad=False)", True, False),
        ("p.requires_grad = True", False, True),
        ("p.requires_grad = wanted", False, True),
        ("net.requires_grad_()", False, True),
        ("net.eval()", False, False),
        ("trained = False", False, False),
    ],
)
def test_what_a_line_switches(line: str, off: bool, on: bool) -> None:
    nodes = [*ast.walk(ast.parse(line))]
    assert any(map(freezes, nodes)) is off
    assert any(map(may_unfreeze, nodes)) is on
