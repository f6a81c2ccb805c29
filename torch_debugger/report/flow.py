"""What one forward pass ran: the module tree with shapes, parameters and time."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from torch_debugger.records import FlowFact, FlowStep, MemoryFact
from torch_debugger.report.printable import one_line

_MOST_ROWS = 60


def render_flow(flow: FlowFact) -> RenderableType:
    """One row a module, callers before what they call; times include the modules inside."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", title_justify="left")
    for heading in ("module", "kind", "in", "out"):
        table.add_column(heading, no_wrap=True, overflow="ellipsis")
    for heading in ("parameters", "time"):
        table.add_column(heading, justify="right", no_wrap=True)
    rows = list(callers_first(flow.steps))
    for step in rows[:_MOST_ROWS]:
        indent = "  " * step.depth
        name = step.path if step.depth == 0 else step.path.rsplit(".", 1)[-1]
        table.add_row(
            Text(indent + one_line(name)),
            one_line(step.kind),
            _shapes(step.given),
            _shapes(step.made),
            f"{step.parameters:,}" if step.parameters else "",
            f"{step.time_s * 1e3:.2f} ms",
        )
    if len(rows) > _MOST_ROWS:
        table.add_row(Text(f"... and {len(rows) - _MOST_ROWS} more"))
    return table


def callers_first(steps: tuple[FlowStep, ...]) -> Iterator[FlowStep]:
    """Steps come in the order in which modules finished; a caller finishes after its callees."""
    waiting: dict[int, list[list[FlowStep]]] = {}
    for step in steps:
        inside = waiting.pop(step.depth + 1, [])
        waiting.setdefault(step.depth, []).append([step, *(part for group in inside for part in group)])
    for depth in sorted(waiting):
        for group in waiting[depth]:
            yield from group


def memory_sentence(flow: FlowFact | None, memory: MemoryFact | None) -> str:
    parts = []
    if flow is not None:
        made = sum(step.made_bytes for step in flow.steps if not _has_inside(step, flow))
        parts.append(f"outputs of this forward {bytes_text(made)}")
    if memory is not None:
        parts.append(
            f"process {bytes_text(memory.resident_bytes)} now, {bytes_text(memory.peak_bytes)} at most"
        )
        if memory.device_peak_bytes:
            now, most = bytes_text(memory.device_bytes), bytes_text(memory.device_peak_bytes)
            parts.append(f"accelerator {now} now, {most} at most")
    return "; ".join(parts)


def bytes_text(size: int) -> str:
    value, units = float(size), ("B", "kB", "MB", "GB", "TB")
    for unit in units:
        if value < 1000 or unit == units[-1]:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.3g} {unit}"
        value /= 1000
    raise AssertionError("unreachable: the last unit returns")


def _has_inside(step: FlowStep, flow: FlowFact) -> bool:
    """Whether other modules ran inside this one; its output is then counted as theirs."""
    return any(other.depth > step.depth and other.path.startswith(step.path + ".") for other in flow.steps)


def _shapes(shapes: tuple[tuple[int, ...], ...]) -> str:
    return ", ".join("x".join(str(size) for size in shape) or "scalar" for shape in shapes)
