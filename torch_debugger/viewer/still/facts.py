"""What the run was: how it was started, from which code, on what, with what, and how it went."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator

from torch_debugger.archive.run import Run
from torch_debugger.redaction import redact_value
from torch_debugger.report import sentences
from torch_debugger.report.result import RunResult
from torch_debugger.viewer.still.markup import Markup, element

_MOST_HPARAMS = 100
_HARDWARE = ("cpu", "gpu", "gpus", "memory")
_PACKAGES = ("torch", "torchvision", "transformers", "lightning", "numpy")


def facts_table(run: Run, result: RunResult) -> Markup:
    facts = [*_of_the_run(run, result), *_of_the_code(run), *_of_the_machine(run), *_said(run, result)]
    return _table("The run", facts)


def hparams_table(run: Run) -> Markup | None:
    known = [(name, redact_value(name, value)) for name, value in run.hparams.items()]
    shown = [(name, _hparam(value)) for name, value in known[:_MOST_HPARAMS]]
    if len(known) > _MOST_HPARAMS:
        shown.append(("and", f"{len(known) - _MOST_HPARAMS:,} more"))
    return _table("Hyperparameters", shown) if shown else None


def _of_the_run(run: Run, result: RunResult) -> Iterator[tuple[str, str]]:
    started = run.facts.run.started if run.facts.run else None
    yield "status", run.status
    yield "steps", f"{result.steps:,} ({result.counted})"
    if result.losses is not None:
        losses = result.losses
        yield (
            "loss",
            f"first {_point(losses.first)}, lowest {_point(losses.lowest)}, last {_point(losses.last)}",
        )
    if started is not None:
        yield "started", time.strftime("%Y-%m-%d %H:%M:%S %z", time.localtime(started))
    if run.duration_s is not None:
        yield "took", f"{run.duration_s:,.1f} s"


def _of_the_code(run: Run) -> Iterator[tuple[str, str]]:
    around = run.facts.surroundings
    if around is None:
        return
    yield "command", " ".join(around.command)
    if around.git_commit:
        changed = {True: ", with changes", False: "", None: ""}[around.git_dirty]
        yield "git", f"{around.git_commit[:12]} on {around.git_branch or 'no branch'}{changed}"
    if run.facts.seeds:
        yield "seeds", ", ".join(f"{name} {seed}" for name, seed in run.facts.seeds.items())


def _of_the_machine(run: Run) -> Iterator[tuple[str, str]]:
    facts = run.facts
    if facts.run is not None:
        yield "device", facts.run.device
        yield "python", facts.run.python
    if facts.surroundings is not None:
        packages, hardware = facts.surroundings.packages, facts.surroundings.hardware
        yield from ((name, packages[name]) for name in _PACKAGES if name in packages)
        yield from ((name, hardware[name]) for name in _HARDWARE if name in hardware)
    if len(run.ranks) > 1:
        yield "ranks", f"{len(run.ranks):,}"


def _said(run: Run, result: RunResult) -> Iterator[tuple[str, str]]:
    """What the report on the terminal says last, and what could not be read."""
    wanted = ("unseen", "notice", "cost")
    yield from (line for line in sentences.closing(result) if line[0] in wanted)
    yield from (("damage", sentence) for sentence in run.damage)


def _point(point: tuple[int, float] | None) -> str:
    return f"{sentences.number(point[1])} (step {point[0]:,})" if point is not None else "none that is finite"


def _hparam(value: object) -> str:
    return sentences.number(value) if isinstance(value, float) else str(value)


def _table(title: str, rows: Iterable[tuple[str, str]]) -> Markup:
    made = [element("tr", element("th", name, scope="row"), element("td", value)) for name, value in rows]
    return element(
        "table", element("caption", title), element("tbody", *made), class_="still-table still-facts"
    )
