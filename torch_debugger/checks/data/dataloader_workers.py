"""Random numbers and samples that the workers of a loader share."""

from __future__ import annotations

from collections.abc import Iterable

from torch_debugger.checks.base import Check, RunState, at_line
from torch_debugger.checks.batches import digest_of, inputs_of, line_of, name_of
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
        self._reported: set[int] = set()

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        if isinstance(record, CopiedGenerator):
            self._kept[record.loader] = record
            return
        assert isinstance(record, (BatchLook, PassFact))
        if record.trained if isinstance(record, BatchLook) else record.updates:
            self._trained.add(record.loader)
        for number in (self._trained & self._kept.keys()) - self._reported:
            self._reported.add(number)
            kept = self._kept[number]
            loader = state.loaders.get(kept.loader)
            read_by = f"`{name_of(loader)}`" if loader is not None else "the loader"
            own = f"self.{kept.attribute}"
            yield self.finding(
                severity="warning",
                confidence=0.92,
                message=f"`{own}` of `{kept.owner}`{at_line(kept.place)} ({kept.kind}) is copied into each of the "
                f"{kept.workers} workers of {read_by}: all of them draw the same random numbers{at_line(kept.drawn)}.",
                why="Workers start as copies of the dataset, generator included, and usually anew in every epoch: "
                "what is drawn in one of them is drawn in the others too, and again in the next epoch.",
                fix=f"Draw from torch itself in place of `{own}`: each worker seeds it differently. Or give "
                f"{read_by} a `worker_init_fn` that makes `{own}` anew, seeded with `torch.initial_seed()`.",
                where=kept.place if kept.place.file else kept.drawn,
                steps=(kept.step, max(kept.step, state.step)),
                evidence={"workers": float(kept.workers), "attribute": own, "kind": kept.kind},
            )


class SamplesRepeatedByWorkers(Check):
    """Every worker process of a loader goes through the same samples.

    Symptom:
        An epoch is `num_workers` times as long as it should be; random augmentations and generated samples
        repeat themselves, and the model overfits sooner.
    Evidence:
        Batches come in groups of `num_workers` with identical samples, one from each worker, while the groups
        differ from each other.
    Fix:
        Let each worker take its share: `torch.utils.data.get_worker_info()` in the dataset's `__iter__`; seed
        generators of the dataset's own with the worker's seed.
    Known limits:
        Seen only where the batches are equal as a whole: workers that shuffle differently repeat samples in
        another order.
    """

    id = "TD207"
    name = "samples-repeated-by-workers"
    title = "each worker delivers the same samples"
    reads = (BatchLook,)

    groups_needed = 3  # in a row, with nothing out of line

    def __init__(self) -> None:
        self._looks: dict[int, list[BatchLook]] = {}
        self._reported: set[int] = set()

    def see(self, record: BatchLook, state: RunState) -> Iterable[Finding]:
        fact = state.loaders.get(record.loader)
        if fact is None or fact.workers < 2 or record.loader in self._reported or record.iteration > 1:
            return
        looks = self._looks.setdefault(record.loader, [])
        if record.index != len(looks) or not inputs_of(record):
            return
        looks.append(record)
        if len(looks) != self.groups_needed * fact.workers:
            return
        digests = [digest_of(look) for look in looks]
        groups = [set(digests[start : start + fact.workers]) for start in range(0, len(digests), fact.workers)]
        if all(len(group) == 1 for group in groups) and len(set(digests)) == len(groups):
            self._reported.add(record.loader)
            where, name = line_of(fact), name_of(fact)
            yield self.finding(
                severity="error",
                confidence=0.96,
                message=f"Each of the {fact.workers} workers of `{name}`{at_line(where)} delivers the same samples: "
                f"the first {len(looks)} batches are {len(looks) // fact.workers} different ones, {fact.workers} "
                "times each.",
                why=f"A worker has its own copy of `{fact.dataset}`, with the same state. Unless it asks which "
                "worker it is, it reads, or draws at random, exactly what the others do.",
                fix=f"In `{fact.dataset}.__iter__` use `info = torch.utils.data.get_worker_info()`: go through every "
                "`info.num_workers`-th sample from `info.id` on, and seed generators of your own with `info.seed`.",
                where=where,
                steps=(looks[0].step, looks[-1].step),
                evidence={"workers": float(fact.workers), "batches": float(len(looks))},
            )
