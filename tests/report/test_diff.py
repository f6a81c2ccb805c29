from __future__ import annotations

import pytest

from tests import fakes
from torch_debugger.report.text import diff_lines


@pytest.mark.parametrize(
    ("before", "after", "lines"),
    [
        ("    a()", "    b()", [("-", "a()"), ("+", "b()")]),
        ("    a()", "    z()\n    a()", [("+", "z()"), (" ", "a()")]),
        ("    a()", "    if x:\n        a()", [("-", "a()"), ("+", "if x:"), ("+", "    a()")]),
        ("    a()", "", [("-", "a()")]),
        ("", "    a()", [("+", "a()")]),
        ("a()\nb()", "a()\nc()", [(" ", "a()"), ("-", "b()"), ("+", "c()")]),
        ("\ta()", "\tb(\x1b)", [("-", "a()"), ("+", "b(\\x1b)")]),
    ],
)
def test_an_edit_as_lines(before: str, after: str, lines: list[tuple[str, str]]) -> None:
    assert diff_lines(fakes.edit(before, after)) == lines
