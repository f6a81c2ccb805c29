"""A batch that did not come within the DataLoader's timeout."""

from __future__ import annotations

from torch_debugger.checks.explainers.blame import Blame, line_text, place_text
from torch_debugger.records import CrashFact


def explain_timeout(crash: CrashFact) -> Blame | None:
    loading = crash.evidence.loading
    if loading is None or loading.slow is None or loading.loader is None:
        return None
    loader, slow = loading.loader, loading.slow
    whose = f"batch {slow.batch}" + (f" from worker {slow.worker}" if slow.worker is not None else "")
    told: dict[str, float | str] = {"timeout in s": slow.timeout_s, "workers": float(loader.workers)}
    if slow.batch is not None:
        told["batch"] = float(slow.batch)
    if slow.place.file:
        told["waits at"] = line_text(slow.place)
    known = slow.index is not None and bool(slow.place.file)
    if known:
        why = (
            f"Sample {slow.index} was fetched once more in another process, and did not come there either: "
            f"it waits in `{slow.place.code}`."
        )
        fix = (
            f"Make {place_text(slow.place)} faster or bound its waiting, or raise `timeout={slow.timeout_s:g}`."
        )
    else:
        why = "Its samples came quickly when they were fetched once more, so the cause was of that moment."
        fix = f"Raise `timeout={slow.timeout_s:g}`, or use fewer workers: starting them takes time as well."
    sample = f", with sample {slow.index} of `{loader.dataset}` in it," if known else f" of `{loader.dataset}`"
    return Blame(
        message=f"The DataLoader waited {slow.timeout_s:g} s for {whose}{sample} and gave up.",
        why=why,
        fix=fix,
        where=slow.place if known else (loader.place or crash.place),
        evidence=told | {"loop": line_text(crash.place)},
        confidence=0.95 if known else 0.8,
    )
