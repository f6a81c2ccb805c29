"""An exception while a batch was made, in this process or in a worker: which sample, which line."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any

from torch.utils.data import IterableDataset

from torch_debugger.anatomy.kinds import is_a
from torch_debugger.anatomy.sources import line_at
from torch_debugger.probes.crash_frames import Seen
from torch_debugger.probes.examiners.loading_forms import form_of, odd_part
from torch_debugger.probes.examiners.loading_order import batch_indices, failed_batch
from torch_debugger.probes.examiners.loading_raised import describe_raised
from torch_debugger.probes.examiners.loading_refetch import Refetched, fetch_again
from torch_debugger.probes.examiners.loading_scene import Loading, length_of
from torch_debugger.probes.examiners.loading_text import WorkerText, read_worker_text
from torch_debugger.probes.examiners.scene import Scene
from torch_debugger.records.evidence.loading import Raised, SampleFailure

_KEPT, _SAMPLES = 16, 100_000


def sample_failure(scene: Scene, loading: Loading) -> SampleFailure | None:
    """Either the frames go through torch's fetch.py, or they hand on what a worker caught."""
    fetching = [place for place, seen in enumerate(scene.frames) if _is_fetch(seen)]
    if fetching:
        return _here(scene, loading, scene.frames[: fetching[-1] + 1], scene.frames[fetching[-1] + 1 :])
    handed_on = scene.innermost is not None and scene.innermost.function == "reraise"
    told = read_worker_text(str(scene.error)) if handed_on else None
    return _in_worker(scene, loading, told) if told is not None else None


def _is_fetch(seen: Seen) -> bool:
    return seen.file.endswith("fetch.py") and seen.function in ("fetch", "<listcomp>") and not seen.user


def _here(scene: Scene, loading: Loading, until: Sequence[Seen], inside: Sequence[Seen]) -> SampleFailure:
    fetch = next(seen for seen in reversed(until) if seen.function == "fetch")
    collating = "collate_fn(" in line_at(until[-1].file, until[-1].line)
    indices = _indices(fetch.frame.f_locals.get("possibly_batched_index"))
    samples = fetch.frame.f_locals.get("data")
    asked = until[-1].frame.f_locals.get("idx")
    failing = (asked,) if type(asked) is int and not collating else ()
    whole = samples if is_a(samples, list) and len(samples) == len(indices) and collating else []
    odd = (
        odd_part([(index, form_of(item)) for index, item in zip(indices, whole, strict=False)])
        if whole
        else None
    )
    return SampleFailure(
        stage="collate" if collating else "sample",
        raised=describe_raised(scene.error, inside),
        batch=failed_batch(scene, loading.iterator),
        indices=indices[:_KEPT],
        failing=failing,
        odd=odd,
    )  # fmt: skip


def _indices(held: Any) -> tuple[int, ...]:
    listed = held if is_a(held, (list, tuple)) else [held]
    return tuple(index for index in listed if type(index) is int)


def _in_worker(scene: Scene, loading: Loading, told: WorkerText) -> SampleFailure:
    batch = failed_batch(scene, loading.iterator)
    indices = batch_indices(loading.iterator, batch)
    frame = told.user_frame
    raised = Raised(told.kind, told.message, told.place, frame.function if frame else "")
    failure = SampleFailure(told.stage, raised, told.worker, batch, indices[:_KEPT])
    if told.stage == "start" or is_a(loading.dataset, IterableDataset):
        return failure
    return _looked_again(failure, fetch_again(loading.dataset, indices or _all(loading.dataset)))


def _all(dataset: Any) -> Iterable[int]:
    return range(min(length_of(dataset) or 0, _SAMPLES))


def _looked_again(failure: SampleFailure, again: Refetched) -> SampleFailure:
    """Only what fails as the worker said is the same failure."""
    if failure.stage == "collate":
        odd = odd_part(again.forms) if again.forms else None
        return dataclasses.replace(failure, odd=odd, looked_at=again.looked_at)
    alike = [(index, raised) for index, raised in again.raised if _same(raised, failure.raised)]
    said = [(index, raised) for index, raised in alike if raised.message == failure.raised.message]
    if said and failure.indices and alike[0] != said[0]:
        alike = said  # the worker met this one first: since then the others have changed
    elif said:
        alike = [said[0], *(pair for pair in alike if pair != said[0])]
    return dataclasses.replace(
        failure,
        raised=alike[0][1] if alike else failure.raised,
        failing=tuple(index for index, _ in alike)[:_KEPT],
        looked_at=again.looked_at,
    )


def _same(raised: Raised, told: Raised) -> bool:
    return raised.kind == told.kind and raised.place == told.place
