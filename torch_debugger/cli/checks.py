"""torch-debugger checks: the catalog as a list."""

from __future__ import annotations

import argparse
import json
import sys

from rich.console import Console, Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from torch_debugger.checks.base import Check
from torch_debugger.checks.catalog import FAMILIES, catalog, family
from torch_debugger.report.tables import Trimmed

_WIDEST = 120  # columns


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--family", choices=FAMILIES, help="only the checks of one family")
    parser.add_argument("--json", action="store_true", help="the same list for programs")


def run(arguments: argparse.Namespace) -> int:
    chosen = [check for check in catalog() if arguments.family in (None, family(check))]
    if arguments.json:
        json.dump([_plain(check) for check in chosen], sys.stdout, indent=1)
        sys.stdout.write("\n")
    else:
        _print_table(chosen, Console())
    return 0


def _plain(check: type[Check]) -> dict[str, str]:
    return {
        "check": check.id,
        "name": check.name,
        "family": family(check),
        "title": check.title,
        "status": check.status,
    }


def _print_table(chosen: list[type[Check]], console: Console) -> None:
    for name in FAMILIES:
        members = [check for check in chosen if family(check) == name]
        if members:
            block = Group(Text(name, style="bold"), _members(members), Text())
            console.print(Trimmed(block, min(console.width, _WIDEST)), end="")
    one = "check" if len(chosen) == 1 else "checks"
    console.print(Text(f"{len(chosen)} {one}; torch-debugger explain NAME tells more about one.", style="dim"))


def _members(checks: list[type[Check]]) -> Padding:
    table = Table.grid(padding=(0, 2, 0, 0))
    longest = max(len(check.name) for check in catalog())
    for width in (len("TD101"), len("preview"), longest):
        table.add_column(no_wrap=True, width=width)
    table.add_column()
    for check in checks:
        status = Text(check.status, style="dim")
        table.add_row(Text(check.id, style="dim"), status, Text(check.name), Text(check.title))
    return Padding(table, (0, 2))
