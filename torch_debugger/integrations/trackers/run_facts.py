"""What a tracker shows as the setting of a run. The command is that of Surroundings, which has no secrets."""

from __future__ import annotations

import math
import os
import shlex

from torch_debugger.records import ModelFact, Record, RunFact, SeedFact, Surroundings
from torch_debugger.records.surroundings import HparamValue

Facts = dict[str, HparamValue]


def facts_of(record: Record) -> Facts:
    """By names such as run/torch or git/commit; empty for records that say nothing of the setting."""
    match record:
        case RunFact():
            return _of_run(record)
        case Surroundings():
            return _of_surroundings(record)
        case SeedFact():
            return {f"seed/{name}": seed for name, seed in record.seeds.items()}
        case ModelFact():
            return _of_model(record)
        case _:
            return {}


def _of_run(run: RunFact) -> Facts:
    return {
        "run/script": os.path.basename(run.script),
        "run/python": run.python,
        "run/torch": run.torch,
        "run/device": run.device,
        "run/torch_debugger": run.debugger,
    }


def _of_surroundings(around: Surroundings) -> Facts:
    """Neither the script's text nor the diff nor hundreds of packages: they stay in the log."""
    facts: Facts = {
        "run/command": shlex.join(around.command),
        "run/script_hash": around.script_hash,
        "git/commit": around.git_commit,
        "git/branch": around.git_branch,
        "git/dirty": "" if around.git_dirty is None or not around.git_commit else around.git_dirty,
    }
    for heading, values in [("hardware", around.hardware), ("environment", around.environment)]:
        facts |= {f"{heading}/{name}": value for name, value in values.items()}
    return {name: value for name, value in facts.items() if value != ""}


def _of_model(model: ModelFact) -> Facts:
    return {
        f"{model.root}/kind": model.kind,
        f"{model.root}/parameters": sum(math.prod(parameter.shape) for parameter in model.parameters),
    }
