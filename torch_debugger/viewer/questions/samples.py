"""Batches as the model saw them. Without a step: what was kept of which; with one: that step's numbers."""

from __future__ import annotations

from typing import Any

from torch_debugger.archive.run import Run
from torch_debugger.records import BatchSample
from torch_debugger.viewer.asked import Asked
from torch_debugger.viewer.told_samples import heading_of, sample_to_json

_MOST_TENSORS = 16  # of one step


def answer(asked: Asked) -> dict[str, Any]:
    if not asked.text("step"):
        return asked.of_run(headings)
    step = asked.whole("step", 1)
    return asked.of_run(
        lambda run: {"step": step, "tensors": [sample_to_json(each) for each in _at(run, step)]}
    )


def headings(run: Run) -> dict[str, Any]:
    kept = [each for each in _first_rank(run).records(BatchSample) if isinstance(each, BatchSample)]
    return {"steps": sorted({each.step for each in kept}), "tensors": [heading_of(each) for each in kept]}


def _at(run: Run, step: int) -> list[BatchSample]:
    """Inputs before targets."""
    found = _first_rank(run).records_at(step, BatchSample)
    samples = [each for each in found if isinstance(each, BatchSample)]
    return sorted(samples, key=lambda each: each.role != "input")[:_MOST_TENSORS]


def _first_rank(run: Run) -> Run:
    """They all look alike."""
    parts = run.ranks
    return parts[min(parts)] if parts else run
