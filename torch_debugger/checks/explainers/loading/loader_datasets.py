"""A dataset that lacks what a DataLoader asks it for."""

from __future__ import annotations

from torch_debugger.checks.explainers.blame import Blame, line_text, place_text
from torch_debugger.records import CrashFact
from torch_debugger.records.evidence.loading import LoaderState

_DEFINITIONS = {"__len__": "def __len__(self):", "__getitem__": "def __getitem__(self, index):"}


def explain_dataset(crash: CrashFact) -> Blame | None:
    """Seen when the DataLoader first asks for it."""
    loading = crash.evidence.loading
    if loading is None or loading.loader is None or loading.call is not None or loading.use is not None:
        return None
    loader, failure = loading.loader, loading.failure
    asked = "__len__" if failure is None else "__getitem__"
    if asked not in loader.lacks or (failure is not None and failure.raised.place.file):
        return None
    if loader.dataset.endswith("DataLoader"):
        return _blame(
            crash, loader, "another DataLoader as its dataset", "Give it the dataset itself: `loader.dataset`."
        )
    fix = (
        f"Write `{_DEFINITIONS[asked]}` in `{loader.dataset}`, indented as a method of the class; a stream "
        f"derives from IterableDataset and has `__iter__`."
    )
    return _blame(crash, loader, f"`{loader.dataset}`, which has no `{asked}`", fix)


def _blame(crash: CrashFact, loader: LoaderState, given: str, fix: str) -> Blame:
    return Blame(
        message=f"The DataLoader read at {place_text(crash.place)} was given {given}.",
        why="A DataLoader asks its dataset for `len(dataset)` and `dataset[index]`.",
        fix=fix,
        where=loader.class_place or loader.place or crash.place,
        evidence={"dataset": loader.dataset, "loop": line_text(crash.place)},
        confidence=0.96,
    )
