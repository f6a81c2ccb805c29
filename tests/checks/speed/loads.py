"""Small builders of what is known of loading: every field has a plain default, name what matters."""

from __future__ import annotations

from collections.abc import Iterable

from tests.checks.data.looks import loader
from tests.fakes import judged, place, scalars
from torch_debugger.records import (
    Finding,
    LineCost,
    LoaderFact,
    LoadingLines,
    LoadingTime,
    Record,
    Scalars,
    SpeedSettings,
)

CODE = "train_loader = DataLoader(data, batch_size=8, shuffle=True)"


def settings(cores: int = 8, threads: int = 1) -> SpeedSettings:
    return SpeedSettings("cpu", "", (0, 0), cores, threads, False, True, False, False, False, 4)


def split(wait_s: float = 0.03, rest_s: float = 0.02, steps: int = 100) -> list[Scalars]:
    told = {"split/data_wait_s": wait_s, "split/forward_s": rest_s}
    return [scalars(step, told) for step in range(1, steps + 1)]


def times(wait_s: float = 0.03, batch_s: float = 0.05, batches: int = 100, **others: object) -> LoadingTime:
    """A wait that the training process computes through, on a machine with nothing else to do."""
    facts: dict[str, object] = {
        "loader": 1, "step": 100, "wait_cpu_s": wait_s, "cpu_s": batch_s * batches, "stretch": 1.0,
        "workers_cpu_s": None, "workers_queued_s": 0.0, "worker_threads": 0, "passes": 0, "passes_s": 0.0,
        "opening_s": 0.0, "closing_s": 0.0, "on_device": False,
    }  # fmt: skip
    told = {"wait_s": wait_s, "batches": batches, "elapsed_s": batch_s * batches, **facts, **others}
    return LoadingTime(**told)  # type: ignore[arg-type]


def lines(costs: Iterable[tuple[str, float]], seconds: float = 0.3, looks: int = 10) -> LoadingLines:
    """[(code, seconds with all that it called)], from the outermost inwards, from line 30 on."""
    told = [
        LineCost(place(30 + depth, code=code), "__getitem__", spent, depth) for depth, (code, spent) in enumerate(costs)
    ]
    return LoadingLines(1, 100, looks, seconds, tuple(told))


def waiting(
    name: str,
    time: LoadingTime | None = None,
    fact: LoaderFact | None = None,
    cores: int = 8,
    seen: LoadingLines | None = None,
    others: Iterable[Record] = (),
) -> list[Finding]:
    """What the check of this name says of a run with one loader."""
    time, fact = time or times(), fact or loader()
    rest_s = max(0.001, time.elapsed_s / time.batches - time.wait_s) if time.batches else 0.05
    records: list[Record] = [fact, settings(cores), *split(time.wait_s, rest_s, steps=200), *others]
    return judged([*records, *([seen] if seen is not None else []), time], name)
