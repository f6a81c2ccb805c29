"""TD207: each worker of a loader delivers the same samples."""

from __future__ import annotations

from collections.abc import Iterable

from torch_debugger.checks.base import Check
from torch_debugger.checks.deliveries import at, digest_of, inputs_of, line_of, name_of
from torch_debugger.checks.state import RunState
from torch_debugger.records import BatchLook, Finding, LoaderFact, Record


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

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        assert isinstance(record, BatchLook)
        fact = state.loaders.get(record.loader)
        if fact is None or fact.workers < 2 or record.loader in self._reported or record.iteration > 1:
            return
        looks = self._looks.setdefault(record.loader, [])
        if record.index != len(looks) or not inputs_of(record):
            return
        looks.append(record)
        if len(looks) == self.groups_needed * fact.workers and self._in_groups(looks, fact.workers):
            self._reported.add(record.loader)
            yield self._judge(fact, looks)

    def _in_groups(self, looks: list[BatchLook], size: int) -> bool:
        digests = [digest_of(look) for look in looks]
        groups = [set(digests[start : start + size]) for start in range(0, len(digests), size)]
        together = {digest for group in groups for digest in group}
        return all(len(group) == 1 for group in groups) and len(together) == len(groups)

    def _judge(self, fact: LoaderFact, looks: list[BatchLook]) -> Finding:
        where, name = line_of(fact), name_of(fact)
        return self.finding(
            severity="error",
            confidence=0.96,
            message=(
                f"Each of the {fact.workers} workers of `{name}`{at(where)} delivers the same samples: the "
                f"first {len(looks)} batches are {len(looks) // fact.workers} different ones, {fact.workers} "
                "times each."
            ),
            why=(
                f"A worker has its own copy of `{fact.dataset}`, with the same state. Unless it asks which "
                "worker it is, it reads, or draws at random, exactly what the others do."
            ),
            fix=(
                f"In `{fact.dataset}.__iter__` use `info = torch.utils.data.get_worker_info()`: go through "
                "every `info.num_workers`-th sample from `info.id` on, and seed generators of your own with "
                "`info.seed`."
            ),
            where=where,
            first_step=looks[0].step,
            last_step=looks[-1].step,
            evidence={"workers": float(fact.workers), "batches": float(len(looks))},
        )
