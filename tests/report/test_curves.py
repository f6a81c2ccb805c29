"""The terminal's curve: where the dots are, and what it does with numbers that are none."""

from __future__ import annotations

import math

from torch_debugger.report.tables import render_curve


def test_a_falling_line_goes_from_the_upper_left_to_the_lower_right() -> None:
    assert render_curve([3, 2, 1, 0], width=2, height=1) == "3 │\u2811\u2884"


def test_the_scale_stands_at_its_ends() -> None:
    lines = render_curve([138.1, 49.19], width=4, height=3).split("\n")
    assert [line.split("│")[0] for line in lines] == ["138.1 ", "      ", "49.19 "]
    assert all(len(line.split("│")[1]) == 4 for line in lines)


def test_values_that_are_not_finite_are_marked_at_the_bottom() -> None:
    lines = render_curve([1.0, 2.0, *[math.nan] * 4, math.inf, 1.5], width=4, height=2).split("\n")
    assert lines[-1].split("│")[1][1:3] == "xx"
    assert "x" not in lines[0]


def test_nothing_finite_and_nothing_at_all_still_draw() -> None:
    assert render_curve([math.nan] * 6, width=3, height=1) == "1 │xxx"
    assert render_curve([], width=3, height=1) == "1 │" + "\u2800" * 3


def test_a_level_line_is_level() -> None:
    assert render_curve([5.0] * 8, width=4, height=1) == "5 │" + "\u28c0" * 4


def test_many_values_are_drawn_by_their_means() -> None:
    assert render_curve([0.0, 10.0] * 500, width=5, height=2) == render_curve([5.0] * 10, width=5, height=2)


def test_a_given_scale_holds_and_cuts_what_leaves_it() -> None:
    inside = render_curve([0.0, 1.0], width=1, height=1, low=0.0, high=1.0)
    assert render_curve([-5.0, 9.0], width=1, height=1, low=0.0, high=1.0) == inside
