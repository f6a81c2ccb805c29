"""What a DataLoader and its workers were doing."""

from __future__ import annotations

from collections.abc import Iterator

from torch_debugger.probes.examiners.loading_deaths import find_dying_loader, worker_death
from torch_debugger.probes.examiners.loading_failures import sample_failure
from torch_debugger.probes.examiners.loading_files import open_files
from torch_debugger.probes.examiners.loading_pickles import unpicklable_part
from torch_debugger.probes.examiners.loading_scene import Loading, describe_loader, find_loading
from torch_debugger.probes.examiners.loading_use import loader_call, loader_use
from torch_debugger.probes.examiners.loading_waits import slow_batch
from torch_debugger.probes.examiners.scene import Scene
from torch_debugger.records.evidence import LoadingEvidence


def examine_loading(scene: Scene) -> LoadingEvidence | None:
    return next(_found(scene), None)


def _found(scene: Scene) -> Iterator[LoadingEvidence]:
    """Each looks for its own signs first; a full table of files is behind whatever else went wrong."""
    if (files := open_files(scene)) is not None:
        yield LoadingEvidence(files=files)
    loading = find_loading(scene)
    if loading is not None:
        yield from _while_reading(scene, loading)
    dying = find_dying_loader(scene)
    death = worker_death(scene, dying) if dying is not None else None
    if dying is not None and death is not None:
        yield LoadingEvidence(describe_loader(scene, dying), death=death)
    if (part := unpicklable_part(scene)) is not None:
        yield LoadingEvidence(unpicklable=part)
    yield from _in_the_line(scene)
    if loading is not None:
        yield LoadingEvidence(describe_loader(scene, loading))


def _while_reading(scene: Scene, loading: Loading) -> Iterator[LoadingEvidence]:
    if (failure := sample_failure(scene, loading)) is not None:
        yield LoadingEvidence(describe_loader(scene, loading), failure=failure)
    if (slow := slow_batch(scene, loading)) is not None:
        yield LoadingEvidence(describe_loader(scene, loading), slow=slow)


def _in_the_line(scene: Scene) -> Iterator[LoadingEvidence]:
    if (made := loader_call(scene)) is not None:
        yield LoadingEvidence(describe_loader(scene, made[1]), call=made[0])
    if (used := loader_use(scene)) is not None:
        yield LoadingEvidence(describe_loader(scene, used[1]), use=used[0])
