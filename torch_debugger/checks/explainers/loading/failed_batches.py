"""Samples of which no batch can be made: one of them is None, or holds something else than the others."""

from __future__ import annotations

import re

from torch_debugger.checks.explainers.blame import Blame, place_text
from torch_debugger.checks.explainers.loading.failed_samples import NOT_OF_A_SAMPLE, OF_ANOTHER_KIND
from torch_debugger.checks.explainers.loading.loader_words import (
    capital,
    failure_evidence,
    failure_of,
    listed,
    samples_text,
)
from torch_debugger.checks.explainers.shapes.collate_shapes import ragged_sizes
from torch_debugger.records import CrashFact, Place
from torch_debugger.records.evidence.loading import LoaderState, OddPart, SampleFailure

_BATCHED = "Batches are made of tensors, numpy arrays, numbers, strings, and of dicts and lists of these."
_SKIP = (
    "`collate_fn=lambda batch: torch.utils.data.default_collate([item for item in batch if item is not None])`"
)
_CONVERSIONS = (
    (r"PIL\..*", "Turn the image into a tensor in `__getitem__`: `transforms.ToTensor()(image)`, or "
                 "`torch.from_numpy(np.array(image))`."),
    (r"pathlib\..*", "Give the path as text: `str(path)`."),
    (r"ndarray of <U\d+|ndarray of \|S\d+", "Give text as a list of `str`, or as the numbers of the classes."),
    (r"ndarray of object", "Give the array a number type: `.astype(np.float32)`."),
    (r"(frozen)?set", "Give a list or a tensor instead of a set: `sorted(...)`."),
)  # fmt: skip


def explain_odd_sample(crash: CrashFact) -> Blame | None:
    """When torch's own collate function could not put the samples together."""
    found = failure_of(crash)
    if found is None or found[1].stage != "collate" or found[1].raised.place.file:
        return None
    loader, failure = found
    odd = failure.odd
    if odd is None or ragged_sizes(odd) is not None or OF_ANOTHER_KIND.search(failure.raised.message):
        return None
    part = f"`sample{odd.path}` of {samples_text(odd.samples)}" if odd.path else samples_text(odd.samples)
    if not odd.usual:
        part = f"`sample{odd.path}` of every sample" if odd.path else "every sample"
    return Blame(
        message=f"The DataLoader cannot make a batch of `{loader.dataset}`: {part} is {_a(odd.kind)}"
        f"{f', the others have {_a(odd.usual)}' if odd.usual else ''}.",
        why=f"{_BATCHED} {_counted(odd, failure)}",
        fix=_fix(loader, odd),
        where=_where(crash, loader, odd),
        evidence=failure_evidence(failure, odd=odd.kind, usual=odd.usual or "the same"),
        confidence=0.97,
    )


def _a(words: str) -> str:
    return (
        words if words == "None" else f"{'an' if words.startswith(('a', 'e', 'i', 'o', 'nd')) else 'a'} {words}"
    )


def _counted(odd: OddPart, failure: SampleFailure) -> str:
    if not odd.usual:
        return f"All {odd.counted} samples looked at are alike."
    differ = f"{len(odd.samples)} differ{'s' if len(odd.samples) == 1 else ''}: {listed(odd.samples)}"
    return f"Of {odd.counted} samples looked at {differ}."


def _where(crash: CrashFact, loader: LoaderState, odd: OddPart) -> Place:
    if odd.kind == "None" and not odd.path and loader.none_place.file:
        return loader.none_place
    return loader.sample_place if loader.sample_place.file else (loader.dataset_place or crash.place)


def _fix(loader: LoaderState, odd: OddPart) -> str:
    if odd.kind == "None" and not odd.path:
        return (
            f"Return a sample for every index, or leave those out when the dataset is made; to skip them while "
            f"loading, give the DataLoader {_SKIP}."
        )
    for pattern, advice in _CONVERSIONS:
        if re.fullmatch(pattern, odd.kind):
            return advice
    at = place_text(loader.sample_place if loader.sample_place.file else loader.dataset_place)
    if odd.usual:
        return f"Let every sample have {_a(odd.usual)} there ({at}), or write a collate_fn of your own."
    return f"Turn it into a tensor in `__getitem__` ({at}), or write a collate_fn of your own."


def explain_collate_function(crash: CrashFact) -> Blame | None:
    """The user's own collate function raised, or what a worker runs first."""
    found = failure_of(crash)
    if found is None or found[1].stage == "sample" or not found[1].raised.place.file:
        return None
    loader, failure = found
    raised = failure.raised
    if (failure.worker is None and raised.kind in NOT_OF_A_SAMPLE) or OF_ANOTHER_KIND.search(raised.message):
        return None
    held = "; ".join(f"`{name}` is {text}" for name, text in raised.reach.items())
    asked = f" on {samples_text(failure.indices)} of `{loader.dataset}`" if failure.indices else ""
    what = (
        f"`{raised.function}`{asked}"
        if failure.stage == "collate"
        else f"The start of a worker, in `{raised.function}`,"
    )
    odd = _odd_words(failure.odd)
    return Blame(
        message=f"{capital(what)} raises {raised.kind} at {place_text(raised.place)}: {raised.message}",
        why=f"`{raised.failing or raised.place.code}` fails{f': {held}' if held else ''}.{odd}",
        fix=f"Correct {place_text(raised.place)}, or the samples it cannot cope with.",
        where=raised.place,
        evidence=failure_evidence(failure, **raised.reach),
        confidence=0.9,
    )  # fmt: skip


def _odd_words(odd: OddPart | None) -> str:
    if odd is None or not odd.usual:
        return ""
    part = f"`sample{odd.path}`" if odd.path else "The sample"
    return f" {part} of {samples_text(odd.samples)} is {_a(odd.kind)}, where the others have {_a(odd.usual)}."
