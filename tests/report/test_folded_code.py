"""Lines of a diff that are wider than the screen."""

from __future__ import annotations

import io

import pytest
from rich.cells import cell_len
from rich.console import Console

from torch_debugger.report.comparison import FoldedCode


def shown(width: int, *lines: str) -> list[str]:
    paper = Console(file=io.StringIO(), width=width, no_color=True)
    paper.print(FoldedCode(lines))
    assert isinstance(paper.file, io.StringIO)
    return paper.file.getvalue().splitlines()


def test_every_piece_of_a_long_line_has_its_sign() -> None:
    assert shown(24, "-" + " " * 8 + "a_long_name_without_a_blank(", "+x = 1", " pass", "") == [
        "  -        a_long_name_w",
        "  -    ithout_a_blank(",
        "  +x = 1",
        "   pass",
        "  ",
    ]


@pytest.mark.parametrize("width", [24, 40, 80])
@pytest.mark.parametrize("code", ["x" * 300, "一二三四五六七八九十" * 20, "a b " * 70])
def test_nothing_is_lost_and_nothing_is_wider_than_the_screen(width: int, code: str) -> None:
    lines = shown(width, f"+{code}")
    assert all(line.startswith("  +") and cell_len(line) <= width for line in lines)
    first, *rest = (line.removeprefix("  +") for line in lines)
    assert first + "".join(line.removeprefix("    ") for line in rest) == code


def test_what_could_steer_a_terminal_is_written_out() -> None:
    assert shown(80, "+\x1b[31mred") == ["  +\\x1b[31mred"]
