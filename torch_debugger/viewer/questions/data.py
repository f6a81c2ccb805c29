"""What is known of the data of a run beside its samples: labels, ranges, loaders, and what is wrong with it."""

from __future__ import annotations

from typing import Any

from torch_debugger.archive.run import Run
from torch_debugger.report.json_form import finding_to_json
from torch_debugger.viewer.asked import Asked
from torch_debugger.viewer.data_facts import class_names, labels_of, loaders_of, ranges_of

_FAMILY = "TD2"


def answer(asked: Asked) -> dict[str, Any]:
    return asked.of_run(data_of)


def data_of(run: Run) -> dict[str, Any]:
    folder = run.facts.run.folder if run.facts.run else None
    wrong = [finding for finding in run.findings if finding.check.startswith(_FAMILY)]
    return {
        "labels": labels_of(run),
        "classes": class_names(run),
        "ranges": ranges_of(run),
        "loaders": loaders_of(run),
        "findings": [finding_to_json(finding, folder, None) for finding in wrong],
    }
