"""How a run was started, from which code, on what machine, with which hyperparameters: rows of words."""

from __future__ import annotations

from collections.abc import Iterator

from torch_debugger.archive.run import Run
from torch_debugger.redaction import redact_value
from torch_debugger.report import sentences

_MOST_HPARAMS = 100
_HARDWARE = ("cpu", "gpu", "gpus", "memory")
_PACKAGES = ("torch", "torchvision", "transformers", "lightning", "numpy")


def how_it_was_run(run: Run) -> list[tuple[str, str]]:
    return [*_of_the_code(run), *_of_the_machine(run)]


def hparam_rows(run: Run) -> list[tuple[str, str]]:
    known = [(name, redact_value(name, value)) for name, value in run.hparams.items()]
    shown = [(name, _hparam(value)) for name, value in known[:_MOST_HPARAMS]]
    if len(known) > _MOST_HPARAMS:
        shown.append(("and", f"{len(known) - _MOST_HPARAMS:,} more"))
    return shown


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


def _hparam(value: object) -> str:
    return sentences.number(value) if isinstance(value, float) else str(value)
