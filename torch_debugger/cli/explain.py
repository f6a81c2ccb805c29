"""torch-debugger explain NAME: one check's page."""

from __future__ import annotations

import argparse

from rich.console import Console, Group
from rich.padding import Padding
from rich.text import Text

from torch_debugger.checks.base import Check
from torch_debugger.checks.catalog import family, find_check, page
from torch_debugger.report.tables import Trimmed

_WIDEST = 100  # columns, as in the report


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("check", metavar="NAME", help="a check's name or id: missing-zero-grad, TD101")


def run(arguments: argparse.Namespace) -> int:
    console = Console()
    check = find_check(arguments.check)
    console.print(Trimmed(_rendered(check), min(console.width, _WIDEST)), end="")
    return 0


def _rendered(check: type[Check]) -> Group:
    text = page(check)
    title = Text(check.name, style="bold")
    title.append(f"  {check.id}, {family(check)}, {check.status}", style="not bold dim")
    sections = dict(text.sections)
    if check.explains:
        sections["Explains"] = ", ".join(check.explains)
    if text.explained_by:
        sections["Explained by"] = ", ".join(text.explained_by)
    parts: list[Text | Padding] = [title, Text(), Text(text.summary)]
    for heading, body in sections.items():
        parts += [Text(), Text(heading, style="bold"), Padding(_prose(body), (0, 0, 0, 2))]
    return Group(*parts)


def _prose(body: str) -> Text:
    text = Text(body)
    text.highlight_regex(r"`[^`]+`", "cyan")
    return text
