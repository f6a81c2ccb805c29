"""What `Debugger.report()` returns: printable, a string, and a page in a notebook."""

from __future__ import annotations

import io

from rich.console import Console
from rich.text import Text

from torch_debugger.records import Finding, FlowFact, MemoryFact
from torch_debugger.report.flow import memory_sentence, render_flow
from torch_debugger.report.json_form import to_json
from torch_debugger.report.result import RunResult
from torch_debugger.report.terminal import render_terminal

_WIDTH = 100
_HTML = '<pre style="font-family:monospace;line-height:1.3;white-space:pre">{code}</pre>'


class Report:
    def __init__(self, result: RunResult, flow: FlowFact | None, memory: MemoryFact | None) -> None:
        self.result = result
        self.flow = flow
        self.memory = memory

    @property
    def findings(self) -> tuple[Finding, ...]:
        return tuple(self.result.findings)

    def print(self, console: Console) -> None:
        if self.flow is not None:
            console.print(Text(f"What {self.flow.root} ran", style="bold"))
            console.print(render_flow(self.flow))
            console.print()
        memory = memory_sentence(self.flow, self.memory)
        if memory:
            console.print(Text(f"Memory: {memory}."))
            console.print()
        render_terminal(self.result, console)

    def to_json(self) -> dict[str, object]:
        return to_json(self.result)

    def __str__(self) -> str:
        console = Console(file=io.StringIO(), width=_WIDTH, no_color=True, force_terminal=False)
        self.print(console)
        assert isinstance(console.file, io.StringIO)
        return console.file.getvalue()

    def _repr_html_(self) -> str:
        console = Console(file=io.StringIO(), width=_WIDTH, record=True, force_terminal=True)
        self.print(console)
        return console.export_html(inline_styles=True, code_format=_HTML)
