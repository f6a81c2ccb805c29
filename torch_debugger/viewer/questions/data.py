"""What is known of the data of a run beside its samples: labels, ranges, loaders, and what is wrong with it."""

from __future__ import annotations

from typing import Any

from torch_debugger.archive.run import Run
from torch_debugger.records import Finding
from torch_debugger.report.json_form import finding_to_json
from torch_debugger.viewer.asked import Asked
from torch_debugger.viewer.data_facts import (
    class_names,
    first_odd_step,
    labels_of,
    loaders_of,
    ranges_of,
)

_FAMILY = "TD2"
# Of other families, and yet of what is in the batches.
_ALSO = frozenset(
    ("sample-raises", "binary-targets-out-of-range", "targets-out-of-reach", "regression-target-scale",
     "padding-counted-in-loss", "target-shifted")
)  # fmt: skip
_OF_NAN = frozenset(("loss-not-finite", "values-not-finite", "nan-steps-skipped"))


def answer(asked: Asked) -> dict[str, Any]:
    return asked.of_run(data_of)


def data_of(run: Run) -> dict[str, Any]:
    folder = run.facts.run.folder if run.facts.run else None
    ranges = ranges_of(run)
    odd_at = first_odd_step(ranges)
    wrong = [finding for finding in run.findings if _is_of_the_data(finding, odd_at)]
    return {
        "labels": labels_of(run),
        "classes": class_names(run),
        "ranges": ranges,
        "loaders": loaders_of(run),
        "findings": [finding_to_json(finding, folder, None) for finding in wrong],
    }


def _is_of_the_data(finding: Finding, odd_at: float) -> bool:
    """A NaN that was in the batch to begin with is one, whichever check met it."""
    came_in = finding.evidence.get("phase") == "input"
    seen_before = finding.name in _OF_NAN and odd_at <= finding.first_step
    return finding.check.startswith(_FAMILY) or finding.name in _ALSO or came_in or seen_before
