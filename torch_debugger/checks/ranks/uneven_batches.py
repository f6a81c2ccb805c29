"""TD805: ranks whose loaders have different numbers of batches."""

from __future__ import annotations

from collections.abc import Iterable

from torch_debugger.checks.deliveries import at, line_of, name_of
from torch_debugger.checks.rank_check import RankCheck
from torch_debugger.checks.rank_states import RankStates
from torch_debugger.records import Finding, LoaderFact, PassFact, RankDigest, Record


class UnevenBatches(RankCheck):
    """One rank's loader has more batches than another's, and every rank goes through all of its own.

    Symptom:
        The run stands still at the end, or at the end of an epoch; or "Connection closed by peer" when the rank
        with fewer batches is done. Until then batches of one epoch are averaged with those of the next.
    Evidence:
        The lengths of the same loader on every rank; complete passes that were trained on, on the rank that has
        fewest and on the one that has most; and something that averages gradients, without `model.join()`.
    Fix:
        Share the data out with DistributedSampler, which gives every rank as many samples, or stop all ranks at
        the smallest number of batches, or train within `with model.join():`.
    Known limits:
        Datasets without a length have no number of batches to compare. Where ranks stand still before the first
        pass is complete on all of them, that is told as a hang.
    """

    id = "TD805"
    name = "uneven-batches"
    title = "ranks have different numbers of batches"
    reads = (PassFact, RankDigest)
    explains = ("ranks-disagree", "rank-left-early")

    def __init__(self) -> None:
        self._averaged = False
        self._joins = False
        self._passes: dict[int, dict[int, PassFact]] = {}  # by loader, by rank: the first complete one

    def see_rank(self, rank: int, record: Record, ranks: RankStates) -> Iterable[Finding]:
        if isinstance(record, RankDigest):
            average = record.average
            self._averaged |= average is not None and average.ranks == ranks.world_size
            self._joins |= average is not None and average.joins
            return
        assert isinstance(record, PassFact)
        if record.updates and record.backwards:
            self._passes.setdefault(record.loader, {}).setdefault(rank, record)
        yield from self._judge(record.loader, ranks)

    def finish_ranks(self, ranks: RankStates) -> Iterable[Finding]:
        for loader in self._passes:
            yield from self._judge(loader, ranks)

    def _judge(self, loader: int, ranks: RankStates) -> Iterable[Finding]:
        facts = {rank: state.loaders.get(loader) for rank, state in ranks.states.items()}
        known = {rank: fact for rank, fact in facts.items() if fact is not None and fact.length}
        passes = self._passes.get(loader, {})
        if not self._averaged or self._joins or len(known) < max(2, ranks.world_size):
            return
        few = min(known, key=lambda rank: known[rank].length or 0)
        many = max(known, key=lambda rank: known[rank].length or 0)
        whole = all(rank in passes and passes[rank].batches == known[rank].length for rank in (few, many))
        if known[few].length == known[many].length or not whole:
            return
        if len({line_of(fact) for fact in known.values()}) > 1:
            return  # another loader on another rank
        yield self._tell(few, many, known, passes[few])

    def _tell(self, few: int, many: int, known: dict[int, LoaderFact], seen: PassFact) -> Finding:
        fact = known[few]
        name, line = name_of(fact), at(line_of(fact))
        return self.finding(
            severity="error",
            confidence=0.9,
            message=f"`{name}`{line} has {fact.length:,} batches on rank {few} and {known[many].length:,} on "
            f"rank {many}, and each of them goes through all of its own.",
            why="Every backward waits for that of all other ranks. The rank with fewer batches goes on to its "
            "next epoch, or ends, while the others are still in this one: batches of different epochs are "
            "averaged, and in the end somebody waits for a rank that is gone.",
            fix="Give every rank as many batches: `DistributedSampler(dataset)` pads its shares to one size "
            "(`drop_last=True` cuts them), or stop at the smallest number of all ranks. With data that cannot "
            "be shared out evenly, train within `with model.join():`.",
            where=line_of(fact),
            first_step=1,
            last_step=seen.step,
            evidence={
                f"batches_of_rank_{few}": float(fact.length or 0),
                f"batches_of_rank_{many}": float(known[many].length or 0),
            },
        )
