"""How a run was started, on what, and with which hyperparameters."""

from __future__ import annotations

from typing import Any

from torch_debugger.archive.run import Run
from torch_debugger.viewer.asked import Asked
from torch_debugger.viewer.how_it_was_run import how_it_was_run, hparam_rows


def answer(asked: Asked) -> dict[str, Any]:
    return asked.of_run(facts)


def facts(run: Run) -> dict[str, Any]:
    return {"rows": how_it_was_run(run), "hparams": hparam_rows(run)}
