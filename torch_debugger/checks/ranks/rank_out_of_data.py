"""One rank has fewer batches than the others."""

from __future__ import annotations

from collections.abc import Iterable

from torch_debugger.checks.deadlocks import OUT_OF_DATA, Deadlock, deadlock_of
from torch_debugger.checks.hang_check import HangCheck
from torch_debugger.checks.hang_scene import Scene, doing_words, patience, seconds, spot, verb
from torch_debugger.records import Finding
from torch_debugger.records.ranks import ranks_in_words


class RankOutOfData(HangCheck):
    """One rank has finished its data, and the others wait for it in the next batch's collective.

    Symptom: all ranks stand still near the end of an epoch, often of the first.

    Evidence: the loaders of some ranks have delivered their last batch, the others wait in a collective after
    more batches than those had, and no rank computes.

    Fix: give all ranks the same number of batches: `DistributedSampler` (it pads), or `drop_last=True` with
    parts of the same size. Where the data cannot be cut evenly, train under `with Join([model]):`.

    Known limits: batches are counted for DataLoaders. A loop over something else that ends early on one rank
    is told as collectives-out-of-order.
    """

    id = "TD827"
    name = "rank-out-of-data"
    title = "A rank has no batches left while others wait for it"

    def judge(self, scene: Scene) -> Iterable[Finding]:
        deadlock = deadlock_of(scene)
        if deadlock is not None and deadlock.reason == OUT_OF_DATA:
            yield self._finding(deadlock, scene)

    def _finding(self, deadlock: Deadlock, scene: Scene) -> Finding:
        fact, odd = deadlock.first, deadlock.odd
        done = max(scene.facts[rank].batches for rank in odd)
        done_ranks, waiting = ranks_in_words(odd), ranks_in_words(deadlock.waiting)
        return self.finding(
            severity="error",
            confidence=0.95,
            message=f"{done_ranks.capitalize()} finished {'its' if len(odd) == 1 else 'their'} data at batch "
            f"{done:,}; {waiting} {verb(deadlock.waiting)} at batch {fact.batches:,} in "
            f"{doing_words(fact)} at {spot(fact.place)}.",
            why=f"Every rank must call a collective the same number of times, and {waiting} have more "
            f"batches than {done_ranks}. Nothing has moved for {seconds(fact.still_s)}. {patience(fact)}",
            fix="Give all ranks the same number of batches: a DistributedSampler pads them, or cut the data "
            "into equal parts and pass drop_last=True. Where that cannot be, wrap the loop into "
            "torch.distributed.algorithms.join.Join([model]).",
            where=fact.place,
            first_step=fact.step,
            last_step=fact.step,
            evidence={"stood still": seconds(fact.still_s), **_batches(deadlock, scene), **scene.rows()},
        )


def _batches(deadlock: Deadlock, scene: Scene) -> dict[str, float | str]:
    ranks = [*deadlock.odd, *deadlock.waiting]
    return {f"batches of rank {rank}": float(scene.facts[rank].batches) for rank in sorted(ranks)[:16]}
