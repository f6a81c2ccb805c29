"""What was looked at and what could not be: the grounds of a verdict, and of none."""

from __future__ import annotations

from typing import Any

from torch_debugger.archive.run import Run
from torch_debugger.checks.base import Check
from torch_debugger.checks.catalog import FAMILIES, catalog, family
from torch_debugger.records import CostFact, Notice, ProbeFault, Scalars
from torch_debugger.report.printable import one_line
from torch_debugger.report.sentences import cost_sentence, unseen
from torch_debugger.viewer.asked import Asked

_MOST = 50


def answer(asked: Asked) -> dict[str, Any]:
    return asked.of_run(checked)


def checked(run: Run) -> dict[str, Any]:
    kinds = run.record_kinds | ({Scalars.__name__} if run.tags.get("scalars") else set())
    cost = run.last_record(CostFact)
    notices = [each.text for each in run.records(Notice) if isinstance(each, Notice)]
    return {
        "families": [row for name in FAMILIES if (row := _family(name, kinds))["checks"]],
        "unseen": _faults(run)[:_MOST],
        "notices": [one_line(text) for text in dict.fromkeys(notices)][:_MOST],
        "cost": cost_sentence(cost) if cost is not None and run.steps else None,
    }


def _family(name: str, kinds: set[str]) -> dict[str, Any]:
    """How many checks it has, and how many of them found something to judge in this run."""
    checks = [check for check in catalog() if family(check) == name]
    return {"name": name, "checks": len(checks), "asked": sum(_had_something(check, kinds) for check in checks)}


def _had_something(check: type[Check], kinds: set[str]) -> bool:
    return any(kind.__name__ in kinds for kind in check.reads)


def _faults(run: Run) -> list[str]:
    faults = [each for each in run.records(ProbeFault) if isinstance(each, ProbeFault)]
    return list(dict.fromkeys(map(unseen, faults)))
