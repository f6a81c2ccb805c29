"""What one forward pass ran: the module tree with shapes, parameters and time."""

from __future__ import annotations

from rich.console import Group, JustifyMethod, RenderableType
from rich.table import Table
from rich.text import Text

from torch_debugger.records import FlowFact, FlowStep
from torch_debugger.report.printable import one_line

_MOST_ROWS = 60
_MOST_SHAPES = 3
_HEADINGS = ("module", "kind", "in", "out", "parameters", "time")
_NUMBERS = ("parameters", "time")
_GAP = 2
_NARROWEST = 8
_FAILED = "failed"


def render_flow(flow: FlowFact, calls: int = 1, width: int = 100) -> RenderableType:
    """One row a module, callers before what they call; times include the modules inside."""
    heading = f"What {one_line(flow.root)} ran" + (f" (the last of {calls} calls)" if calls > 1 else "")
    shown = outer_rows(flow.steps)
    hidden = len(flow.steps) - len(shown) + flow.left_out
    rest = f"{hidden:,} more module{'s' if hidden > 1 else ''} ran, further inside or later."
    table = _table([_row(step) for step in shown], width)
    return Group(Text(heading, style="bold"), table, *([Text(rest, style="dim")] if hidden else []))


def _table(rows: list[dict[str, str]], width: int) -> Table:
    widths = {name: max(len(name), *(len(row[name]) for row in rows)) for name in _HEADINGS}
    if _total(widths) > width:
        del widths["in"]  # it came out of another row
    texts = [name for name in widths if name not in _NUMBERS]  # half a number is none
    while _total(widths) > width and max(widths[name] for name in texts) > _NARROWEST:
        widths[max(texts, key=lambda name: widths[name])] -= 1
    table = Table(box=None, padding=(0, _GAP, 0, 0), header_style="dim")
    for name, wide in widths.items():
        justify: JustifyMethod = "right" if name in _NUMBERS else "left"
        table.add_column(name, justify=justify, no_wrap=True, overflow="ellipsis", width=wide)
    for row in rows:
        table.add_row(*(_styled(row[name]) for name in widths))
    return table


def _total(widths: dict[str, int]) -> int:
    return sum(widths.values()) + _GAP * len(widths)


def outer_rows(steps: tuple[FlowStep, ...]) -> list[FlowStep]:
    """As many levels of the tree as fit; its first rows where even the outer ones do not."""
    fitting = list(steps)
    for depth in range(max((step.depth for step in steps), default=0), 0, -1):
        fitting = [step for step in steps if step.depth <= depth]
        if len(fitting) <= _MOST_ROWS:
            break
    return fitting[:_MOST_ROWS]


def _row(step: FlowStep) -> dict[str, str]:
    name = step.path if step.depth == 0 else step.path.rsplit(".", 1)[-1]
    return {
        "module": "  " * step.depth + one_line(name),
        "kind": one_line(step.kind),
        "in": _shapes(step.given),
        "out": _FAILED if step.failed else _shapes(step.made),
        "parameters": f"{step.parameters:,}" if step.parameters else "",
        "time": f"{step.time_s * 1e3:,.2f} ms",
    }


def _styled(cell: str) -> Text:
    return Text(cell, style="bold red" if cell == _FAILED else "")


def _shapes(shapes: tuple[tuple[int, ...], ...]) -> str:
    words = ["x".join(str(size) for size in shape) or "scalar" for shape in shapes[:_MOST_SHAPES]]
    return ", ".join([*words, *(["..."] if len(shapes) > _MOST_SHAPES else [])])
