"""The report as the user reads it first: the verdict, then the rest, then what it cost."""

from __future__ import annotations

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from torch_debugger.records import Edit, Finding
from torch_debugger.report import sentences
from torch_debugger.report.chapters import Chapter
from torch_debugger.report.diff import diff_lines
from torch_debugger.report.printable import one_line
from torch_debugger.report.profile import profile_blocks
from torch_debugger.report.result import RunResult
from torch_debugger.report.source import SourceLine, excerpt
from torch_debugger.report.trimmed import Trimmed

_WIDEST = 100  # columns; longer lines of prose are hard to read
_ROOMY = 80  # from here on, code stands under the text of its section, else further left
_MOST_OTHERS = 8
_STYLES = {"error": "bold red", "warning": "bold yellow", "note": "bold cyan"}
_DIFF_STYLES = {"-": "red", "+": "green", " ": ""}


def render_terminal(result: RunResult, console: Console) -> None:
    """Print the report on this console; colour and width are the console's own."""
    told = {(finding.key, finding.severity) for finding in result.told}  # one that went on is a note since then
    chapters = [each for each in result.chapters if (each.cause.key, each.cause.severity) not in told]
    is_said = bool(told) and result.verdict is not None
    findings = _others(chapters, result) if is_said else _findings(chapters, result, console)
    closing = [_labelled(label, Text(text, style="dim")) for label, text in sentences.closing(result)]
    width = min(console.width, _WIDEST)
    _print([*findings, *_profile(result, width), *([Group(*closing)] if closing else [])], console)


def _profile(result: RunResult, width: int) -> list[RenderableType]:
    if result.profile is None:
        return []
    return profile_blocks(result.profile, result.folder, width, result.sampled)


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
        Padding(_prose(sentences.told(finding.message, result), "bold"), (0, 2)),
        _labelled("where", Text(sentences.where(finding, result), overflow="fold")),
        _code(excerpt(finding.where, result.folder), indent),
        _labelled("evidence", _evidence(finding)) if finding.evidence else None,
        _labelled("why", _prose(sentences.told(finding.why, result))),
        _labelled("fix", _prose(sentences.told(finding.fix, result))),
        _diff(finding.edit, result, indent) if finding.edit else None,
        _labelled("explains", Group(*(Text(sentences.symptom(each)) for each in chapter.symptoms)))
        if chapter.symptoms
        else None,
    ]
    shown = [section for section in sections if section is not None]
    return _apart([_heading(finding), *shown, Rule(style=_STYLES[finding.severity])])


def _heading(finding: Finding) -> RenderableType:
    aside = ", ".join(part for part in (finding.check, sentences.certainty(finding)) if part)
    title = Text(f"{finding.severity}: {one_line(finding.name)}", style=_STYLES[finding.severity])
    title.append(f"  {aside}", style="not bold dim")
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
    lines += [
        Text(f"{mark} {text}".rstrip(), _DIFF_STYLES[mark], overflow="fold") for mark, text in diff_lines(edit)
    ]
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
    heading.append("".join(f"  {aside}" for aside in asides if aside), style="not bold dim")
    body = [_prose(sentences.told(finding.message, result))]
    body += [_prose(f"Fix: {sentences.told(finding.fix, result)}")] if finding.severity != "note" else []
    body += [Text(f"Explains: {sentences.symptom(each)}", style="dim") for each in chapter.symptoms]
    return Group(heading, *(Padding(line, (0, 2)) for line in body))
