"""The layout of any graph: rows lead down, nothing touches, lines pass beside boxes."""

from __future__ import annotations

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from torch_debugger.report.graph_layout import GAP_X, Layout, Link, Size, box_size, lay_out


@st.composite
def graphs(draw: st.DrawFn) -> tuple[list[Size], list[Link]]:
    count = draw(st.integers(1, 24))
    sizes = [
        Size(width, draw(st.sampled_from([14.0, 28.0, 200.0])), width * draw(st.sampled_from([0.2, 0.5, 0.9])))
        for width in draw(st.lists(st.sampled_from([20.0, 90.0, 400.0]), min_size=count, max_size=count))
    ]
    pairs = draw(st.lists(st.tuples(st.integers(0, count - 1), st.integers(0, count - 1)), max_size=50))
    links = [Link(min(pair), max(pair), draw(st.sampled_from("ab"))) for pair in pairs if pair[0] != pair[1]]
    return sizes, list(dict.fromkeys(links))


@settings(max_examples=80, deadline=None, derandomize=True)
@given(graphs())
def test_any_graph(graph: tuple[list[Size], list[Link]]) -> None:
    sizes, links = graph
    layout = lay_out(sizes, links)
    check_boxes(layout, len(sizes))
    check_ways(layout, links)
    assert layout == lay_out(sizes, links), "the same each time"


def check_boxes(layout: Layout, count: int) -> None:
    boxes = layout.spots[:count]
    for one, other in itertools.combinations(boxes, 2):
        left, right = sorted((one, other), key=lambda spot: spot.x - spot.anchor)
        apart = right.x - right.anchor - (left.x - left.anchor + left.width)
        assert one.row != other.row or apart >= GAP_X - 1e-6
    for upper, lower in itertools.pairwise(layout.rows):
        assert upper[1] < lower[0]
    for spot in layout.spots:
        top, bottom = layout.rows[spot.row]
        assert top - 1e-6 <= spot.y and spot.y + spot.height <= bottom + 1e-6
        assert spot.x - spot.anchor >= -1e-6 and spot.x - spot.anchor + spot.width <= layout.width + 1e-6


def check_ways(layout: Layout, links: list[Link]) -> None:
    for link, way in zip(links, layout.ways, strict=True):
        assert (way[0], way[-1]) == (link.upper, link.lower)
        rows = [layout.spots[index].row for index in way]
        assert rows == list(range(rows[0], rows[-1] + 1)), "one row after the other, down"
        for bend in way[1:-1]:
            check_bend(layout, bend)


def check_bend(layout: Layout, bend: int) -> None:
    here = layout.spots[bend]
    assert (here.y, here.y + here.height) == layout.rows[here.row], "straight past the whole row"
    beside = [spot for spot in layout.spots if spot.row == here.row and not spot.bend]
    assert not any(spot.x - spot.anchor <= here.x <= spot.x - spot.anchor + spot.width for spot in beside)


def test_a_chain_is_straight_and_its_shortcut_goes_around() -> None:
    layout = lay_out([box_size(80, 30)] * 4, [Link(0, 1, 0), Link(1, 2, 1), Link(2, 3, 2), Link(0, 3, 0)])
    assert len({spot.x for spot in layout.spots[:4]}) == 1
    around = {layout.spots[index].x for index in layout.ways[3][1:-1]}
    assert len(around) == 1 and abs(around.pop() - layout.spots[0].x) > 40


def test_lines_of_one_tensor_share_their_way() -> None:
    links = [Link(0, 1, 0), Link(1, 2, 1), Link(2, 3, 2), Link(0, 2, 0), Link(0, 3, 0)]
    ways = lay_out([box_size(80, 30)] * 4, links).ways
    assert ways[4][:2] == ways[3][:2]


def test_a_parent_stands_over_the_middle_of_its_children() -> None:
    links = [Link(0, 1, 0), Link(0, 2, 0), Link(1, 3, 1), Link(2, 3, 2)]
    x = [spot.x for spot in lay_out([box_size(width, 30) for width in (60, 200, 80, 60)], links).spots]
    assert x[0] == x[3] == (x[1] + x[2]) / 2


def test_what_is_first_and_last_stays_there() -> None:
    links = [Link(0, 2, 0), Link(1, 3, 1), Link(2, 3, 2), Link(2, 4, 2)]
    rows = [spot.row for spot in lay_out([box_size(60, 30)] * 5, links, first={0, 1}, last={4}).spots[:5]]
    assert rows == [0, 0, 1, 2, 3]


def test_few_lines_cross() -> None:
    """Two chains that are given crosswise come out side by side."""
    links = [Link(0, 3, 0), Link(1, 2, 1), Link(3, 4, 3), Link(2, 5, 2)]
    x = [spot.x for spot in lay_out([box_size(60, 30)] * 6, links).spots]
    assert x[0] == x[3] == x[4] and x[1] == x[2] == x[5]
