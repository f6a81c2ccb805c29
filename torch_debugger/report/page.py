"""What `Debugger.report()` returns: printable, a string, and a page in a notebook."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence

from rich.console import Console, RenderableType
from rich.text import Text

from torch_debugger.records import Finding, FlowFact, MemoryFact
from torch_debugger.report.flow import render_flow
from torch_debugger.report.json_form import to_json
from torch_debugger.report.memory import memory_sentence
from torch_debugger.report.result import RunResult
from torch_debugger.report.terminal import render_terminal
from torch_debugger.report.trimmed import Trimmed

_WIDTH = 100
_MOST_ROOTS = 6
_HTML = '<pre style="font-family:monospace;line-height:1.3;white-space:pre">{code}</pre>'


class Report:
    def __init__(
        self,
        result: RunResult,
        flows: Sequence[tuple[FlowFact, int]] = (),
        memory: MemoryFact | None = None,
    ) -> None:
        self.result = result
        self.flows = tuple(flows)  # of each model its last call, and how many there were
        self.memory = memory

    @property
    def findings(self) -> tuple[Finding, ...]:
        return self.result.findings

    def print(self, console: Console, *, flow: bool = True) -> None:
        """On this console; without `flow` only what is wrong, and the memory."""
        for block in self._what_ran(console.width if flow else 0):
            console.print(Trimmed(block, console.width))
            console.print()
        render_terminal(self.result, console)

    def _what_ran(self, width: int) -> Iterator[RenderableType]:
        for flow, calls in self.flows[:_MOST_ROOTS] if width else ():
            yield render_flow(flow, calls, width)
        if width and len(self.flows) > _MOST_ROOTS:
            yield Text(f"{len(self.flows) - _MOST_ROOTS} more models were called.", style="dim")
        memory = memory_sentence([flow for flow, _ in self.flows], self.memory)
        if memory:
            yield Text(f"Memory: {memory}.")

    def to_json(self) -> dict[str, object]:
        return to_json(self.result)

    def __str__(self) -> str:
        return self._written(no_color=True)

    def _repr_html_(self) -> str:
        console = _paper(record=True, force_terminal=True)
        self.print(console)
        return console.export_html(inline_styles=True, code_format=_HTML)

    def _written(self, **options: bool) -> str:
        console = _paper(**options)
        self.print(console)
        assert isinstance(console.file, io.StringIO)
        return console.file.getvalue()


def _paper(**options: bool) -> Console:
    # In a notebook rich would display what it is told to write.
    return Console(file=io.StringIO(), width=_WIDTH, force_jupyter=False, **options)  # type: ignore[arg-type]
