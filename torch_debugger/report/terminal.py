"""The report as the user reads it first: the verdict, then the rest, then what it cost."""

from __future__ import annotations

import io
from collections.abc import Sequence

from rich.console import Console, Group, JustifyMethod, RenderableType
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from torch_debugger.records import Edit, Finding, FlowFact, FlowStep, MemoryFact
from torch_debugger.report import sentences
from torch_debugger.report.json_and_markdown import to_json
from torch_debugger.report.profile import profile_blocks
from torch_debugger.report.result import Chapter, RunResult
from torch_debugger.report.sentences import memory_sentence
from torch_debugger.report.tables import Trimmed
from torch_debugger.report.text import SourceLine, diff_lines, excerpt, one_line

_WIDEST = 100  # columns; longer lines of prose are hard to read
_ROOMY = 80  # from here on, code stands under the text of its section, else further left
_MOST_OTHERS = 8
_STYLES = {"error": "bold red", "warning": "bold yellow", "note": "bold cyan"}
_DIFF_STYLES = {"-": "red", "+": "green", " ": ""}


def render_terminal(result: RunResult, console: Console) -> None:
    """Print the report on this console; colour and width are the console's own."""
    shown = {(finding.key, finding.severity) for finding in result.told}  # one that went on is a note since then
    chapters = [each for each in result.chapters if (each.cause.key, each.cause.severity) not in shown]
    is_said = bool(shown) and result.verdict is not None
    findings = _others(chapters, result) if is_said else _findings(chapters, result, console)
    closing = [_labelled(label, Text(text, style="dim")) for label, text in sentences.closing(result)]
    width = min(console.width, _WIDEST)
    profile = profile_blocks(result.profile, result.folder, width, result.sampled) if result.profile else []
    _print([*findings, *profile, *([Group(*closing)] if closing else [])], console)


def render_findings(result: RunResult, console: Console) -> None:
    """Print what was found, and nothing about how the run went: it is not quite over."""
    _print(_findings(list(result.chapters), result, console), console)


def _print(blocks: list[RenderableType], console: Console) -> None:
    console.print(Trimmed(_apart(blocks), min(console.width, _WIDEST)), end="")


def _findings(chapters: list[Chapter], result: RunResult, console: Console) -> list[RenderableType]:
    if result.verdict is None:
        return [Text(sentences.opening(result)), *_others(chapters, result)]
    indent = 12 if min(console.width, _WIDEST) >= _ROOMY else 4
    return [_verdict(chapters[0], result, indent), *_others(chapters[1:], result)]


def _verdict(chapter: Chapter, result: RunResult, indent: int) -> RenderableType:
    finding = chapter.cause
    sections = [
        Padding(_prose(sentences.shown_sentence(finding.message, result), "bold"), (0, 2)),
        _labelled("where", Text(sentences.where(finding, result), overflow="fold")),
        _code(excerpt(finding.where, result.folder), indent),
        _labelled("evidence", _evidence(finding)) if finding.evidence else None,
        _labelled("why", _prose(sentences.shown_sentence(finding.why, result))),
        _labelled("fix", _prose(sentences.shown_sentence(finding.fix, result))),
        _diff(finding.edit, result, indent) if finding.edit else None,
        _labelled("explains", Group(*(Text(sentences.symptom(each)) for each in chapter.symptoms)))
        if chapter.symptoms
        else None,
    ]
    shown = [section for section in sections if section is not None]
    return _apart([_heading(finding), *shown, Rule(style=_STYLES[finding.severity])])


def _heading(finding: Finding) -> RenderableType:
    details = ", ".join(part for part in (finding.check, sentences.certainty(finding)) if part)
    title = Text(f"{finding.severity}: {one_line(finding.name)}", style=_STYLES[finding.severity])
    title.append(f"  {details}", style="not bold dim")
    return Rule(title, align="left", style=_STYLES[finding.severity])


def _apart(blocks: list[RenderableType]) -> RenderableType:
    """The blocks with an empty line between each two."""
    return Group(*[part for block in blocks for part in (Text(), block)][1:])


def _labelled(label: str, body: RenderableType) -> RenderableType:
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(width=8, no_wrap=True)
    grid.add_column(ratio=1)
    grid.add_row(Text(label, style="dim"), body)
    return Padding(grid, (0, 2))


def _prose(sentence: str, style: str = "") -> Text:
    text = Text(sentence, style=style)
    text.highlight_regex(r"`[^`]+`", "cyan")
    return text


def _code(lines: list[SourceLine], indent: int) -> RenderableType | None:
    if not lines:
        return None
    digits = len(str(lines[-1].number))
    shown = []
    for line in lines:
        style = "bold" if line.marked else "dim"
        text = Text(no_wrap=True, overflow="ellipsis")
        text.append(f"{'>' if line.marked else ' '} {line.number:>{digits}} | ", style=style)
        text.append(line.text, style=style)
        shown.append(text)
    return Padding(Group(*shown), (0, 2, 0, indent))


def _evidence(finding: Finding) -> RenderableType:
    grid = Table.grid(padding=(0, 2, 0, 0))
    numbers = [sentences.number(value) for value in finding.evidence.values() if not isinstance(value, str)]
    widest = max(map(len, numbers), default=0)
    for key, value in finding.evidence.items():
        shown = sentences.number(value)
        aligned = shown if isinstance(value, str) else shown.rjust(widest)
        grid.add_row(Text(one_line(key.replace("_", " "))), Text(aligned))
    return grid


def _diff(edit: Edit, result: RunResult, indent: int) -> RenderableType:
    lines = [Text(sentences.edit_place(edit, result), style="dim")]
    # Folded, not cropped: the user may copy these lines.
    lines += [Text(f"{mark} {text}".rstrip(), _DIFF_STYLES[mark], overflow="fold") for mark, text in diff_lines(edit)]
    return Padding(Group(*lines), (0, 2, 0, indent))


def _others(chapters: list[Chapter], result: RunResult) -> list[RenderableType]:
    shown = [_short(chapter, result) for chapter in chapters[:_MOST_OTHERS]]
    hidden = len(chapters) - len(shown)
    rest = "`findings` holds them all" if result.part else "--json FILE writes them all"
    return shown + ([Text(f"{hidden} more; {rest}.", style="dim")] if hidden else [])


def _short(chapter: Chapter, result: RunResult) -> RenderableType:
    finding = chapter.cause
    heading = Text(f"{finding.severity}: {one_line(finding.name)}", style=_STYLES[finding.severity])
    asides = (sentences.where(finding, result), sentences.certainty(finding))
    heading.append("".join(f"  {detail}" for detail in asides if detail), style="not bold dim")
    body = [_prose(sentences.shown_sentence(finding.message, result))]
    body += [_prose(f"Fix: {sentences.shown_sentence(finding.fix, result)}")] if finding.severity != "note" else []
    body += [Text(f"Explains: {sentences.symptom(each)}", style="dim") for each in chapter.symptoms]
    return Group(heading, *(Padding(line, (0, 2)) for line in body))


# What `Debugger.report()` returns: printable, a string, and a page in a notebook.
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
        blocks: list[RenderableType] = []
        if flow:
            blocks += [render_flow(fact, calls, console.width) for fact, calls in self.flows[:_MOST_ROOTS]]
            if len(self.flows) > _MOST_ROOTS:
                blocks.append(Text(f"{len(self.flows) - _MOST_ROOTS} more models were called.", style="dim"))
        if memory := memory_sentence([fact for fact, _ in self.flows], self.memory):
            blocks.append(Text(f"Memory: {memory}."))
        for block in blocks:
            console.print(Trimmed(block, console.width))
            console.print()
        render_terminal(self.result, console)

    def to_json(self) -> dict[str, object]:
        return to_json(self.result)

    def __str__(self) -> str:
        console = self._printed(no_color=True)
        assert isinstance(console.file, io.StringIO)
        return console.file.getvalue()

    def _repr_html_(self) -> str:
        console = self._printed(record=True, force_terminal=True)
        return console.export_html(inline_styles=True, code_format=_HTML)

    def _printed(self, **options: bool) -> Console:
        # In a notebook rich would display what it is told to write.
        console = Console(file=io.StringIO(), width=_WIDTH, force_jupyter=False, **options)  # type: ignore[arg-type]
        self.print(console)
        return console


# What one forward pass ran: the module tree with shapes, parameters and time.
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
    rows = [_row(step) for step in shown]
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
        table.add_row(*(Text(row[name], style="bold red" if row[name] == _FAILED else "") for name in widths))
    return Group(Text(heading, style="bold"), table, *([Text(rest, style="dim")] if hidden else []))


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


def _shapes(shapes: tuple[tuple[int, ...], ...]) -> str:
    words = ["x".join(str(size) for size in shape) or "scalar" for shape in shapes[:_MOST_SHAPES]]
    return ", ".join([*words, *(["..."] if len(shapes) > _MOST_SHAPES else [])])
