"""DataLoader workers that ended without a word, that are too slow, or that could not even start."""

from __future__ import annotations

import signal

from torch_debugger.checks.explainers.blame import Blame, line_text, place_text
from torch_debugger.records import CrashFact
from torch_debugger.records.evidence.loading import LoaderState, WorkerDeath

_MIB = 2**20
_WITHOUT_WORKERS = "Run it with `num_workers=0`: then the error is shown where it arises."


def explain_worker_death(crash: CrashFact) -> Blame | None:
    loading = crash.evidence.loading
    if loading is None or loading.death is None or loading.loader is None or loading.death.unguarded.file:
        return None
    loader, death = loading.loader, loading.death
    why, fix, confidence = _reason(loader, death)
    sample = f"sample {death.culprit} of `{loader.dataset}`" if death.culprit is not None else "its samples"
    at = f" at {place_text(death.culprit_place)}" if death.culprit_place.file else ""
    return Blame(
        message=(
            f"{_who(loader, death)} {_ended(death)} while it fetched {sample}{at}{_batch(death)}{_seen(death)}."
        ),
        why=why,
        fix=fix,
        where=death.culprit_place if death.culprit_place.file else (loader.dataset_place or crash.place),
        evidence=_evidence(loader, death, crash),
        confidence=confidence,
    )


def _who(loader: LoaderState, death: WorkerDeath) -> str:
    if death.worker is None:
        return "A DataLoader worker"
    return f"DataLoader worker {death.worker} of {loader.workers} (0 is the first)"


def _seen(death: WorkerDeath) -> str:
    """Only what a look from time to time has shown: where the sample itself is known, that says more."""
    if death.culprit is not None or death.seen_at is None:
        return ""
    at = f" at {place_text(death.seen_place)}" if death.seen_place.file else ""
    return f"; it was last seen at sample {death.seen_at}{at}"


def _batch(death: WorkerDeath) -> str:
    """Without the sample it is only known which batch did not come: what is behind it may be the cause."""
    if death.batch is None:
        return ""
    return (
        f", in batch {death.batch}" if death.culprit is not None else f", in batch {death.batch} or soon after"
    )


def _ended(death: WorkerDeath) -> str:
    if death.exit_code is not None and death.exit_code < 0:
        return f"was ended by {_signal_name(-death.exit_code)}"
    return f"ended itself with exit code {death.exit_code}"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _reason(loader: LoaderState, death: WorkerDeath) -> tuple[str, str, float]:
    """Why, the fix, and how sure that is."""
    if death.exit_code == -signal.SIGBUS:
        return _shared_memory(loader, death)
    if death.exit_code == -signal.SIGKILL:
        return _killed(loader, death)
    if death.culprit is not None:
        return _repeated(loader, death)
    why = (
        "Its samples were fetched once more in another process, which did not end: what ended it is not known."
    )
    return why, _WITHOUT_WORKERS, 0.8


def _repeated(loader: LoaderState, death: WorkerDeath) -> tuple[str, str, float]:
    again = f"Fetched once more in another process, sample {death.culprit} ended that one too"
    line = f", at {line_text(death.culprit_place)}" if death.culprit_place.file else ""
    if death.exit_code is not None and death.exit_code > 0:
        why = f"{again}{line}. A process that ends itself there leaves no exception behind."
        fix = "Raise an exception instead of ending the process; the DataLoader then hands it on with its line."
    else:
        why = f"{again}{line}. It is native code that fails, not Python."
        fix = (
            f"Look at what sample {death.culprit} hands to native code at {place_text(death.culprit_place)}; "
            f"repair or leave out that sample."
        )
    return why, fix, 0.97


def _shared_memory(loader: LoaderState, death: WorkerDeath) -> tuple[str, str, float]:
    why = (
        f"A bus error in a worker means that /dev/shm, through which batches travel, was full: it has "
        f"{_size(death.shared_total_bytes)}, of which {_size(death.shared_free_bytes)} are free now"
        f"{_batches(loader, death)}."
    )
    fix = (
        "Give it more (`docker run --shm-size=8g`), or need less: fewer workers, a smaller `batch_size` or "
        "`prefetch_factor`, or `num_workers=0`."
    )
    return why, fix, 0.85


def _killed(loader: LoaderState, death: WorkerDeath) -> tuple[str, str, float]:
    why = (
        f"Nobody but the system (or a person) sends SIGKILL; it does so when memory runs out. "
        f"{_size(death.memory_free_bytes)} are free now that the worker is gone{_batches(loader, death)}. "
        f"That it was memory is likely, not certain."
    )
    fix = (
        f"Let `{loader.dataset}` hold less in each worker (each copies what it changes), use fewer "
        f"workers or a smaller `batch_size`; `dmesg` tells whether the system did it."
    )
    return why, fix, 0.75


def _batches(loader: LoaderState, death: WorkerDeath) -> str:
    if death.batch_bytes <= 0:
        return ""
    return f"; a batch has {_size(death.batch_bytes)}, and each worker ({loader.workers}) prepares two"


def _size(count: int) -> str:
    if count < 0:
        return "an unknown amount"
    if count < _MIB:
        return f"{count / 1024:.1f} KiB"
    return f"{count / _MIB / 1024:.1f} GiB" if count >= 1024 * _MIB else f"{count / _MIB:.1f} MiB"


def _evidence(loader: LoaderState, death: WorkerDeath, crash: CrashFact) -> dict[str, float | str]:
    told: dict[str, float | str] = {
        "exit code": float(death.exit_code or 0),
        **({} if death.worker is None else {"worker": float(death.worker)}),
        **({} if death.delivered is None else {"batches delivered": float(death.delivered)}),
        "workers": float(loader.workers),
        "free in /dev/shm": _size(death.shared_free_bytes),
        "free memory": _size(death.memory_free_bytes),
    }
    if death.batch_bytes > 0:
        told["a batch"] = _size(death.batch_bytes)
    return told | {"loop": line_text(crash.place)}
