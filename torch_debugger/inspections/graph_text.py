"""An autograd graph as text: one line an operation, in the order of the forward."""

from __future__ import annotations

from collections.abc import Sequence

from torch_debugger.inspections.graph_reading import Leaf, Operation

_MOST_LINES = 1000
_MOST_NAMED = 12


def graph_text(title: str, operations: Sequence[Operation], unreached: Sequence[str]) -> str:
    """`of` names the lines an operation takes; where that is the line above alone, it is left out."""
    rows = [_row(index, operation) for index, operation in enumerate(operations)]
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(4)]
    lines = ["  ".join(f"{cell:{width}}" for cell, width in zip(row, widths, strict=False)) for row in rows]
    lines = [f"{line}  {row[4]}".rstrip() for line, row in zip(lines, rows, strict=True)]
    if len(lines) > _MOST_LINES:
        lines = [f"... {len(lines) - _MOST_LINES:,} operations before these", *lines[-_MOST_LINES:]]
    return "\n".join([title, *lines, *unreached_line(unreached)])


def _row(index: int, operation: Operation) -> list[str]:
    sources = [f"{place + 1}" for place in operation.operands]
    chained = operation.operands == (index - 1,)
    beside = [leaf_text(leaf) for leaf in operation.leaves]
    beside += [f"{text} (no gradient)" for text in operation.without_gradient]
    origin = "" if chained or not sources else f"of {', '.join(sources)}"
    return [str(index + 1), operation.name, str(list(operation.shape)), origin, ", ".join(beside)]


def leaf_text(leaf: Leaf) -> str:
    return f"{leaf.name or 'leaf'} {list(leaf.shape)}"


def unreached_line(unreached: Sequence[str]) -> list[str]:
    if not unreached:
        return []
    more = len(unreached) - _MOST_NAMED
    named = ", ".join(f"`{name}`" for name in unreached[:_MOST_NAMED])
    return [f"not in this graph: {named}{f' and {more} more' if more > 0 else ''}"]
