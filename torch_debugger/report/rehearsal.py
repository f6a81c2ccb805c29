"""A rehearsal as the user reads it: in a terminal, and as a table in a notebook."""

from __future__ import annotations

import html
import io

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from torch_debugger.records import Finding, StepRehearsal
from torch_debugger.records.units import bytes_text
from torch_debugger.report import rehearsal_words as words
from torch_debugger.report.printable import one_line
from torch_debugger.report.source import short_paths
from torch_debugger.report.trimmed import Trimmed

_WIDEST = 100
_BAR = 24  # characters
_COLOUR = "#1f6feb"


def render_rehearsal(result: StepRehearsal, console: Console, folder: str | None = None) -> None:
    console.print(Trimmed(Group(*_blocks(result, folder)), min(console.width, _WIDEST)), end="")


def rehearsal_text(result: StepRehearsal, folder: str | None = None) -> str:
    console = Console(file=io.StringIO(), width=_WIDEST, force_jupyter=False, no_color=True)
    render_rehearsal(result, console, folder)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def _blocks(result: StepRehearsal, folder: str | None) -> list[RenderableType]:
    blocks: list[RenderableType] = [Text(f"{words.subject(result)}, rehearsed without a GPU."), Text()]
    for bug in result.device_bugs:
        blocks += [_bug(bug, folder), Text()]
    blocks += [Text(words.peak_sentence(result, folder), style="bold"), _categories(result), Text()]
    if result.by_module:
        blocks += [Text("Activations by the module whose backward pass needs them"), _modules(result), Text()]
    blocks.append(Text(words.need_sentence(result)))
    if fit := words.fit_sentence(result):
        blocks.append(Text(fit, style="bold green" if result.fits else "bold red"))
    if devices := words.device_sentence(result):
        blocks.append(Text(devices))
    return [*blocks, *(Text(note, style="dim") for note in words.notes(result))]


def _categories(result: StepRehearsal) -> RenderableType:
    grid = Table.grid(padding=(0, 2, 0, 0))
    for column in ({"no_wrap": True}, {"no_wrap": True}, {"justify": "right"}, {"justify": "right"}, {}):
        grid.add_column(**column)
    for name, meaning, size, share in words.parts(result):
        bar = Text("█" * max(round(_BAR * share), 0) or "▏", style="blue")
        aside = Text(meaning, style="dim")
        grid.add_row(name, bar, bytes_text(size), f"{100 * share:.0f} %", aside)
    return Padding(grid, (0, 0, 0, 2))


def _modules(result: StepRehearsal) -> RenderableType:
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(no_wrap=True, overflow="ellipsis", max_width=60)
    grid.add_column(justify="right", no_wrap=True)
    for name, size in result.by_module.items():
        grid.add_row(one_line(name), bytes_text(size))
    return Padding(grid, (0, 0, 0, 2))


def _bug(bug: Finding, folder: str | None) -> RenderableType:
    lines = [Text(f"device bug: {one_line(short_paths(bug.message, folder))}", style="bold red")]
    lines.append(Text(f"  fix: {one_line(short_paths(bug.fix, folder))}"))
    return Group(*lines)


def rehearsal_html(result: StepRehearsal) -> str:
    """A table with a bar for each category, and the same sentences."""
    rows = "".join(_row(*part) for part in words.parts(result))
    modules = "".join(
        f"<tr><td>{html.escape(one_line(name))}</td><td align='right'>{bytes_text(size)}</td></tr>"
        for name, size in result.by_module.items()
    )
    sentences = [words.need_sentence(result), words.fit_sentence(result), words.device_sentence(result)]
    sentences = [*(f"{bug.message} {bug.fix}" for bug in result.device_bugs), *sentences, *words.notes(result)]
    prose = "".join(f"<p>{html.escape(one_line(sentence))}</p>" for sentence in sentences if sentence)
    kept = (
        f"<details><summary>activations by module</summary><table>{modules}</table></details>"
        if modules
        else ""
    )
    return (
        f"<div><p>{html.escape(words.subject(result))}</p><p><b>{html.escape(words.peak_sentence(result))}</b></p>"
        f"<table>{rows}</table>{kept}{prose}</div>"
    )


def _row(name: str, meaning: str, size: int, share: float) -> str:
    bar = f"<div style='background:{_COLOUR};height:0.8em;width:{max(200 * share, 1):.0f}px'></div>"
    cells = (html.escape(name), bar, bytes_text(size), f"{100 * share:.0f} %", html.escape(meaning))
    return "<tr>" + "".join(f"<td style='text-align:left'>{cell}</td>" for cell in cells) + "</tr>"
