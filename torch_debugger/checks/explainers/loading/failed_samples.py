"""A sample whose __getitem__ raises: which file it read, or at least which sample it is, and the values."""

from __future__ import annotations

import os
import re

from torch_debugger.checks.explainers.blame import Blame, place_text
from torch_debugger.checks.explainers.loading.loader_words import (
    capital,
    failure_evidence,
    failure_of,
    looked_again_text,
    sample_name,
)
from torch_debugger.records import CrashFact
from torch_debugger.records.evidence.loading import MissingFile, SampleFailure

# In this process these are as often faults of the code as of a sample, and other checks read the frames.
NOT_OF_A_SAMPLE = {
    "RuntimeError", "NotImplementedError", "TypeError", "AttributeError", "NameError", "ImportError",
    "ModuleNotFoundError", "UnboundLocalError", "OutOfMemoryError", "MemoryError", "RecursionError",
}  # fmt: skip
OF_ANOTHER_KIND = re.compile(
    r"Cannot re-initialize CUDA|stack expects each tensor|Too many open files|CUDA error"
)


def explain_missing_file(crash: CrashFact) -> Blame | None:
    found = failure_of(crash)
    missing = found[1].raised.missing if found else None
    if found is None or missing is None or found[1].stage != "sample":
        return None
    loader, failure = found
    why, fix = _around(missing, earlier=bool(failure.batch))
    return Blame(
        message=f"{capital(sample_name(loader, failure))} reads `{missing.path}`, which does not exist.",
        why=why + looked_again_text(failure),
        fix=fix,
        where=failure.raised.place,
        evidence=failure_evidence(failure, file=missing.path, beside=f"{missing.entries} entries"),
        confidence=0.97,
    )


def _around(missing: MissingFile, earlier: bool) -> tuple[str, str]:
    folder, name = os.path.split(missing.path)
    shown = f"`{folder}`" if folder else "the folder the script was started in"
    if not missing.folder_exists and earlier:
        return (
            "It was not there when the sample was read; earlier batches came.",
            f"Leave out samples without a file when the dataset is made, or put `{name}` there.",
        )
    if not missing.folder_exists:
        start = " It is looked for from the folder the script was started in." if missing.relative else ""
        own = (
            ", or build the path from the script's own place (`Path(__file__).parent`)"
            if missing.relative
            else ""
        )
        return (
            f"Not even the folder {shown} is there.{start}",
            f"Correct the folder {shown} where the dataset makes its paths{own}.",
        )
    why = f"{capital(shown)} exists and has {missing.entries} entries, but no `{name}`."
    if missing.nearest:
        return (
            f"{why} The nearest name is `{missing.nearest}`.",
            f"Make the dataset's names match the files: `{missing.nearest}` instead of `{name}`.",
        )
    return why, f"Leave out samples without a file when the dataset is made, or put `{name}` there."


def explain_raising_sample(crash: CrashFact) -> Blame | None:
    """No cause is claimed: which sample it is, the line, and the values in it."""
    found = failure_of(crash)
    if found is None or found[1].stage != "sample" or not found[1].raised.place.file:
        return None
    loader, failure = found
    raised = failure.raised
    here = failure.worker is None
    if (here and raised.kind in NOT_OF_A_SAMPLE) or OF_ANOTHER_KIND.search(raised.message):
        return None
    held = "; ".join(f"`{name}` is {text}" for name, text in raised.reach.items())
    return Blame(
        message=f"{capital(sample_name(loader, failure))} raises {raised.kind} at {place_text(raised.place)}: "
        f"{raised.message or 'no message'}",
        why=f"`{raised.failing or raised.place.code}` fails{f': {held}' if held else ''}."
        f"{looked_again_text(failure)}",
        fix=_advice(failure),
        where=raised.place,
        evidence=failure_evidence(failure, **raised.reach),
        confidence=0.95 if failure.failing or raised.index is not None else 0.85,
    )


def _advice(failure: SampleFailure) -> str:
    line = place_text(failure.raised.place)
    if failure.looked_at > 1 and len(failure.failing) == failure.looked_at:
        return f"Correct {line}: no sample gets past it."
    index = failure.raised.index if failure.raised.index is not None else next(iter(failure.failing), None)
    if index is None:
        return f"Run it with `num_workers=0` to see the values, and correct the data or the line {line}."
    return f"Correct the data of sample {index}, or leave it out when the dataset is made; or let {line} cope."
