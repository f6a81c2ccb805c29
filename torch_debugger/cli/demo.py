"""torch-debugger demo: a broken training script, found out and fixed bug by bug."""

from __future__ import annotations

import argparse
import difflib
import json
import math
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.rule import Rule
from rich.status import Status
from rich.table import Table
from rich.text import Text

from torch_debugger.log.reader_records import LogFollower
from torch_debugger.records import Edit, Scalars
from torch_debugger.report.tables import Trimmed, render_curve
from torch_debugger.report.text import diff_lines
from torch_debugger.system.errors import DebuggerError, UsageError
from torch_debugger.viewer.questions import page_file


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--output",
        metavar="FOLDER",
        default="torch-debugger-demo",
        help="where the script, its pictures and its logs go (default: torch-debugger-demo)",
    )


def run(arguments: argparse.Namespace) -> int:
    started = time.monotonic()
    stage = Stage(Console())
    folder = _prepare(Path(arguments.output))
    stage.opening(folder)
    played = [_play(number, stage, folder) for number in range(1, len(VERSIONS) + 1)]
    by_version = {each.version: each for each in played}
    stage.curves(by_version[BEFORE], played[-1])
    stage.closing(folder, played[-1], time.monotonic() - started)
    return 0


def _prepare(folder: Path) -> Path:
    script = folder / SCRIPT
    if script.exists() and script.read_text(encoding="utf-8") not in {each.text for each in VERSIONS}:
        raise UsageError(f"{script} is not the demo's own and would be overwritten; name another --output folder.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DebuggerError(f"The demo cannot make its folder {folder}: {error.strerror}.") from error
    return folder


def _play(number: int, stage: Stage, folder: Path) -> Played:
    version = VERSIONS[number - 1]
    stage.heading(number, version)
    played = _run_visibly(version, stage, folder)
    stage.finding(played)
    _compare(played)
    if number < len(VERSIONS):
        stage.change(version, VERSIONS[number])
    return played


def _run_visibly(version: Version, stage: Stage, folder: Path) -> Played:
    doing = f"torch-debugger run {SCRIPT}"

    def show(step: int, loss: float) -> None:
        status.update(f"{doing}: step {step}, loss {loss:.4g}")

    status: Status = stage.console.status(doing)
    with status:
        return play(version, folder, show)


def _compare(played: Played) -> None:
    """The demo tells a story; where this machine tells another, say so instead of going on."""
    found = played.verdict["name"] if played.verdict else None
    if found != played.version.verdict:
        raise DebuggerError(
            f"This version should give {played.version.verdict or 'no verdict'}, not {found or 'none'}. "
            f"The log is in {played.log}; please report it."
        )


# How the demo looks: the finding, the change that answers it, and the curves at the end.
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
        self._print(Text(), _labelled("applied", Text(old.remedy)), Text(), Padding(Group(place, *lines), (0, 4)))

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


# One version of the demo's script, run by the real `torch-debugger run` in a process of its own.
_POLL_S = 0.2


@dataclass(frozen=True)
class Played:
    """What came of one version."""

    version: Version
    result: dict[str, Any]  # as `--json` writes it
    losses: tuple[float, ...]
    log: Path

    @property
    def verdict(self) -> dict[str, Any] | None:
        index = self.result["verdict"]
        return None if index is None else self.result["findings"][index]


def play(version: Version, folder: Path, on_step: Callable[[int, float], None]) -> Played:
    """Write the script, run it, and follow its log while it runs."""
    stem = version.file.removesuffix(".py")
    log, result = folder / "runs" / stem, folder / "runs" / f"{stem}.json"
    log.parent.mkdir(parents=True, exist_ok=True)
    result.unlink(missing_ok=True)
    shutil.rmtree(log, ignore_errors=True)  # of an earlier demo: its losses are not this run's
    (folder / SCRIPT).write_text(version.text, encoding="utf-8")
    output = folder / "runs" / f"{stem}.txt"
    losses = _run(_run_command(log, result), folder, output, log, on_step)
    if not result.exists():
        raise DebuggerError(f"The run of {version.file} left no result; its output is in {output}.")
    return Played(version, json.loads(result.read_text(encoding="utf-8")), losses, log)


def _run_command(log: Path, result: Path) -> list[str]:
    # The story tells of verdicts that must not depend on how many looks a busy machine can afford.
    options = ["--deep-steps", "20", "--log-dir", str(log.resolve()), "--json", str(result.resolve())]
    return [sys.executable, "-m", "torch_debugger", "run", *options, SCRIPT]


def _run(
    command: list[str], folder: Path, output: Path, log: Path, on_step: Callable[[int, float], None]
) -> tuple[float, ...]:
    # One thread: layers this small train no faster with more, and much slower on a busy machine.
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    follower = LogFollower(log)
    losses: list[float] = []
    with output.open("wb") as file:
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=file, stderr=file
        )
        try:
            while process.poll() is None:
                _wait(process)
                losses += _new_losses(follower, on_step)
        finally:
            process.terminate()
            process.wait()
    losses += _new_losses(follower, on_step)
    follower.close()
    return tuple(losses)


def _wait(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(_POLL_S)
    except subprocess.TimeoutExpired:
        return


def _new_losses(follower: LogFollower, on_step: Callable[[int, float], None]) -> list[float]:
    records = [record for record in follower.poll() if isinstance(record, Scalars) and "loss" in record.values]
    if records:
        on_step(records[-1].step, records[-1].values["loss"])
    return [record.values["loss"] for record in records]


# The demo's sequence of scripts: what each still has wrong, and what the next one changes.
SCRIPT = "vae.py"
PICTURES = ("orig_data.png", "reconstructions.png", "generated_samples.png")


@dataclass(frozen=True)
class Version:
    """One state of the script on its way from broken to healthy."""

    file: str
    heading: str
    verdict: str | None  # the check that must be the verdict; None for the healthy version
    remedy: str  # what the next version changes, and why

    @property
    def text(self) -> str:
        return (resources.files("torch_debugger.cli") / "demo_versions" / self.file).read_text(encoding="utf-8")


VERSIONS = (
    Version(
        "v1_all_bugs.py",
        "the script as it came",
        "shape-mismatch",
        "The decoder reads the latent code, so its first layer takes LATENT numbers.",
    ),
    Version(
        "v2_shape_fixed.py",
        "the shape fixed",
        "wrong-reparameterization",
        "The encoder gives the logarithm of the variance; the noise is multiplied with the standard "
        "deviation, which is exp(0.5 * log_var).",
    ),
    Version(
        "v3_math_fixed.py",
        "the math fixed",
        "missing-zero-grad",
        "Each step starts from its own gradients.",
    ),
    Version(
        "v4_training_fixed.py",
        "the training fixed",
        "tensor-on-wrong-device",
        "The noise is made where the other tensors are.",
    ),
    Version("v5_healthy.py", "all four fixed", None, ""),
)
BEFORE = VERSIONS[2]  # the last version whose loss still shows a bug


def change(old: Version, new: Version) -> Edit:
    """The lines that differ between two versions, with one line around them."""
    before, after = old.text.splitlines(), new.text.splitlines()
    differing = difflib.SequenceMatcher(None, before, after, autojunk=False)
    (group,) = differing.get_grouped_opcodes(1)
    start, end = group[0][1], group[-1][2]
    new_start, new_end = group[0][3], group[-1][4]
    return Edit(SCRIPT, start + 2, "\n".join(before[start:end]), "\n".join(after[new_start:new_end]))
