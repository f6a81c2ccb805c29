"""Words about a DataLoader that several explainers use."""

from __future__ import annotations

from collections.abc import Sequence

from torch_debugger.checks.explainers.blame import line_text
from torch_debugger.records import CrashFact
from torch_debugger.records.evidence.loading import LoaderState, SampleFailure

_LISTED = 8


def failure_of(crash: CrashFact) -> tuple[LoaderState, SampleFailure] | None:
    loading = crash.evidence.loading
    if loading is None or loading.loader is None or loading.failure is None:
        return None
    return loading.loader, loading.failure


def listed(numbers: Sequence[int]) -> str:
    """3, 7 and 12"""
    shown = [str(number) for number in numbers[:_LISTED]]
    if len(numbers) > _LISTED:
        return f"{', '.join(shown)} and more"
    return " and ".join(filter(None, (", ".join(shown[:-1]), shown[-1]))) if shown else ""


def samples_text(indices: Sequence[int]) -> str:
    return f"sample{'s' if len(indices) > 1 else ''} {listed(indices)}"


def sample_name(loader: LoaderState, failure: SampleFailure) -> str:
    """sample 37 of `Reviews`"""
    index = failure.raised.index if failure.raised.index is not None else next(iter(failure.failing), None)
    return f"{'a sample' if index is None else f'sample {index}'} of `{loader.dataset}`"


def looked_again_text(failure: SampleFailure) -> str:
    """What fetching the batch's samples once more, one by one, has shown."""
    if not failure.looked_at:
        return ""
    looked = f"{failure.looked_at} samples were fetched once more, one by one"
    if not failure.failing:
        return f" {looked}, and none of them failed: it depends on the worker's own state or random numbers."
    if len(failure.failing) == failure.looked_at > 1:
        return f" {looked}, and all of them fail: it is the line, not one bad sample."
    return f" {looked}: {samples_text(failure.failing)} {'fail' if len(failure.failing) > 1 else 'fails'}."


def failure_evidence(failure: SampleFailure, **first: float | str) -> dict[str, float | str]:
    """What an explainer found itself, and then the batch around it."""
    told: dict[str, float | str] = dict(first)
    told["error"] = f"{failure.raised.kind}: {failure.raised.message}"
    if failure.worker is not None:
        told["worker"] = float(failure.worker)
    if failure.batch is not None:
        told["batch"] = float(failure.batch)
    if failure.indices:
        told["samples of the batch"] = listed(failure.indices)
    if failure.raised.place.file:
        told["line"] = line_text(failure.raised.place)
    return told


def capital(text: str) -> str:
    return text[:1].upper() + text[1:]
