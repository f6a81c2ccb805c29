"""How the demo looks: the finding, the change that answers it, and the curves at the end."""

from __future__ import annotations

import math
import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from torch_debugger.demo.playing import Played
from torch_debugger.demo.story import PICTURES, SCRIPT, VERSIONS, Version, change
from torch_debugger.report.curves import render_curve
from torch_debugger.report.diff import diff_lines
from torch_debugger.report.trimmed import Trimmed
from torch_debugger.viewer.bundle import page_file

_WIDEST = 100
_CURVE_ROWS = 6
_DIFF_STYLES = {"-": "red", "+": "green", " ": "dim"}


class Stage:
    """Prints the demo on one console, at a width that is easy to read."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.width = min(console.width, _WIDEST)

    def opening(self, folder: Path) -> None:
        self._print(
            Text(
                f"A small VAE training script with four bugs: shape, math, training and device. It is run as "
                f"`torch-debugger run {SCRIPT}` in {_shown(folder)}, the verdict is read, the fix applied, "
                "and so on until nothing is wrong."
            )
        )

    def heading(self, number: int, version: Version) -> None:
        title = Text(f"{number} of {len(VERSIONS)}: {version.heading}", style="bold")
        self._print(Text(), Rule(title, align="left", style="dim"), Text())

    def finding(self, played: Played) -> None:
        """The verdict as the run reported it, or that there is none."""
        verdict = played.verdict
        if verdict is None:
            self._print(Text(f"Nothing wrong found in {played.result['steps']} steps.", style="bold green"))
            return
        where = verdict["where"]
        place = f"{where['file']}:{where['line']}" + (f" in {where['module']}" if where["module"] else "")
        title = Text(f"{verdict['severity']}: {verdict['name']}  ", style="bold red")
        title.append(verdict["check"], style="not bold dim")
        rows = {"found": verdict["message"], "where": place, "fix": verdict["fix"]}
        self._print(title, Text(), *(_labelled(label, Text(text)) for label, text in rows.items()))

    def change(self, old: Version, new: Version) -> None:
        """The edit that leads from one version to the next."""
        edit = change(old, new)
        lines = [Text(f"{mark} {line}", style=_DIFF_STYLES[mark]) for mark, line in diff_lines(edit)]
        place = Text(f"{edit.file}:{edit.line}", style="dim")
        self._print(
            Text(), _labelled("applied", Text(old.remedy)), Text(), Padding(Group(place, *lines), (0, 4))
        )

    def curves(self, before: Played, after: Played) -> None:
        """The loss of both runs on one scale."""
        finite = [value for value in (*before.losses, *after.losses) if math.isfinite(value)]
        low, high = min(finite, default=0.0), max(finite, default=1.0)
        for when, played in (("before", before), ("after", after)):
            drawn = render_curve(played.losses, self.width - 16, _CURVE_ROWS, low=low, high=high)
            title = f"loss {when} ({played.version.verdict or 'nothing wrong'}): {_ends(played.losses)}"
            style = "red" if played is before else "green"
            self._print(Text(), Text(title, style="bold"), Text(drawn, style=style, no_wrap=True))

    def closing(self, folder: Path, last: Played, seconds: float) -> None:
        pictures = ", ".join(name for name in PICTURES if (folder / name).exists())
        runs = _shown(folder / "runs")
        page = f"{_command()} view {runs}" if page_file("page.js") is not None else _no_page(runs)
        rows = {
            "page": page,
            "pictures": f"{pictures} in {_shown(folder)}",
            "log": f"{_shown(last.log)} (any TensorBoard reads it too)",
            "time": f"{seconds:.0f} s for {len(VERSIONS)} runs",
        }
        self._print(Text(), *(_labelled(label, Text(text)) for label, text in rows.items()))

    def _print(self, *parts: RenderableType) -> None:
        self.console.print(Trimmed(Group(*parts), self.width), end="")


def _labelled(label: str, body: RenderableType) -> RenderableType:
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(width=8, no_wrap=True)
    grid.add_column(ratio=1)
    grid.add_row(Text(label, style="dim"), body)
    return Padding(grid, (0, 2))


def _ends(losses: Sequence[float]) -> str:
    return f"{losses[0]:.4g} -> {losses[-1]:.4g} in {len(losses)} steps" if losses else "no steps"


def _command() -> str:
    """As it can be typed here: a fresh clone's command is not on PATH."""
    found = shutil.which("torch-debugger")
    called = Path(sys.argv[0])
    if called.name != "torch-debugger" or (found is not None and os.path.samefile(found, called)):
        return "torch-debugger"
    return _shown(called)


def _no_page(runs: str) -> str:
    return f"not built here; `make page` builds it, and until then there is `{_command()} runs {runs}`"


def _shown(path: Path) -> str:
    return os.path.relpath(path)
