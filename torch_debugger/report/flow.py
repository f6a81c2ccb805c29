"""What one forward pass ran: the module tree with shapes, parameters and time."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from torch_debugger.records import FlowFact, FlowStep
from torch_debugger.report.printable import one_line

_MOST_ROWS = 60
_MOST_SHAPES = 3


def render_flow(flow: FlowFact, calls: int = 1) -> RenderableType:
    """One row a module, callers before what they call; times include the modules inside."""
    heading = f"What {one_line(flow.root)} ran" + (f" (the last of {calls} calls)" if calls > 1 else "")
    shown = outer_rows(flow.steps)
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for name in ("module", "kind", "in", "out"):
        table.add_column(name, no_wrap=True, overflow="ellipsis")
    for name in ("parameters", "time"):
        table.add_column(name, justify="right", no_wrap=True)
    for step in shown:
        table.add_row(*_row(step))
    hidden = len(flow.steps) - len(shown) + flow.left_out
    rest = f"{hidden:,} more module{'s' if hidden > 1 else ''} ran, further inside or later."
    return Group(Text(heading, style="bold"), table, *([Text(rest, style="dim")] if hidden else []))


def outer_rows(steps: tuple[FlowStep, ...]) -> list[FlowStep]:
    """As many levels of the tree as fit; its first rows where even the outer ones do not."""
    fitting = list(steps)
    for depth in range(max((step.depth for step in steps), default=0), 0, -1):
        fitting = [step for step in steps if step.depth <= depth]
        if len(fitting) <= _MOST_ROWS:
            break
    return fitting[:_MOST_ROWS]


def _row(step: FlowStep) -> list[str | Text]:
    name = step.path if step.depth == 0 else step.path.rsplit(".", 1)[-1]
    return [
        Text("  " * step.depth + one_line(name)),
        Text(one_line(step.kind)),
        _shapes(step.given),
        Text("failed", style="bold red") if step.failed else _shapes(step.made),
        f"{step.parameters:,}" if step.parameters else "",
        f"{step.time_s * 1e3:,.2f} ms",
    ]


def _shapes(shapes: tuple[tuple[int, ...], ...]) -> str:
    words = ["x".join(str(size) for size in shape) or "scalar" for shape in shapes[:_MOST_SHAPES]]
    return ", ".join([*words, *(["..."] if len(shapes) > _MOST_SHAPES else [])])
