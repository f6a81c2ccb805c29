"""TD219: every worker of a loader draws the same random numbers."""

from __future__ import annotations

from collections.abc import Iterable

from torch_debugger.checks.base import Check
from torch_debugger.checks.deliveries import at, name_of
from torch_debugger.checks.state import RunState
from torch_debugger.records import BatchLook, CopiedGenerator, Finding, PassFact, Record


class WorkerRngIdentical(Check):
    """A dataset draws from a random generator of its own, and every worker process has a copy of it.

    Symptom:
        Augmentations, noise and crops are the same in all workers, and again in every epoch: there is less
        variety in the data than it seems, and the model overfits sooner.
    Evidence:
        The dataset, or a transform of it, keeps a numpy, Python or torch generator as an attribute and draws
        from it where it makes a sample; the loader that training reads has two workers or more and no
        `worker_init_fn`, and the class never asks which worker it is.
    Fix:
        Seed the generator anew in each worker, or draw from torch, which seeds its own generator there.
    Known limits:
        Generators in global variables and in classes of libraries are not seen. torch itself seeds `random`,
        `numpy.random` and its own functions differently in each worker.
    """

    id = "TD219"
    name = "worker-rng-identical"
    title = "every worker draws the same random numbers"
    reads = (CopiedGenerator, BatchLook, PassFact)
    explains = ("overfits-training-data",)

    def __init__(self) -> None:
        self._kept: dict[int, CopiedGenerator] = {}
        self._trained: set[int] = set()
        self._told: set[int] = set()

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        if isinstance(record, CopiedGenerator):
            self._kept[record.loader] = record
            return
        assert isinstance(record, (BatchLook, PassFact))
        if record.trained if isinstance(record, BatchLook) else record.updates:
            self._trained.add(record.loader)
        for number in (self._trained & self._kept.keys()) - self._told:
            self._told.add(number)
            yield self._judge(self._kept[number], state)

    def _judge(self, kept: CopiedGenerator, state: RunState) -> Finding:
        loader = state.loaders.get(kept.loader)
        read_by = f"`{name_of(loader)}`" if loader is not None else "the loader"
        own = f"self.{kept.attribute}"
        return self.finding(
            severity="warning",
            confidence=0.92,
            message=(
                f"`{own}` of `{kept.owner}`{at(kept.place)} ({kept.kind}) is copied into each of the "
                f"{kept.workers} workers of {read_by}: all of them draw the same random numbers"
                f"{at(kept.drawn)}."
            ),
            why=(
                "Workers start as copies of the dataset, generator included, and usually anew in every epoch: "
                "what is drawn in one of them is drawn in the others too, and again in the next epoch."
            ),
            fix=(
                f"Draw from torch itself in place of `{own}`: each worker seeds it differently. Or give "
                f"{read_by} a `worker_init_fn` that makes `{own}` anew, seeded with `torch.initial_seed()`."
            ),
            where=kept.place if kept.place.file else kept.drawn,
            first_step=kept.step,
            last_step=max(kept.step, state.step),
            evidence={"workers": float(kept.workers), "attribute": own, "kind": kept.kind},
        )
