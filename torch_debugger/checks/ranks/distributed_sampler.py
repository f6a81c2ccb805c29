"""How the data is shared out among ranks: the same batches, or fewer of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from torch_debugger.checks.base import at_line
from torch_debugger.checks.batches import line_of, name_of
from torch_debugger.checks.call_edits import with_distributed_sampler
from torch_debugger.checks.hangs import (
    OUT_OF_DATA,
    Deadlock,
    DeadlockCheck,
    HangSituation,
    doing_words,
    nothing_moves,
    seconds,
    spot,
    verb,
)
from torch_debugger.checks.rank_checks import DigestsOfRanks, RankCheck, RankStates, SideBySide
from torch_debugger.records import BatchLook, Finding, LoaderFact, PassFact, Place, RankDigest, Record
from torch_debugger.records.ranks import ranks_in_words

_Ranks = tuple[int, ...]


class RanksSeeTheSameData(RankCheck):
    """Several ranks are given the same batches, so they compute the same gradient several times.

    Symptom:
        A run on several GPUs learns no faster per step than on one, as if the batch had not grown; epochs are
        as many steps long as on a single GPU.
    Evidence:
        Checksums of what the models are given, equal on these ranks at every step that was compared, while the
        batches of one rank differ from step to step; and a DistributedDataParallel, FSDP or averages of the
        user's own, which only make sense for different batches.
    Fix:
        Give every rank a share of its own: `DataLoader(..., sampler=DistributedSampler(dataset))` instead of
        `shuffle=True`, and `sampler.set_epoch(epoch)` in every epoch. Batches that are drawn by hand need
        another seed on every rank, or rows `[rank::world_size]`.
    Known limits:
        Equal batches to begin with and different ones later are taken for a warm-up. A batch that is the same
        at every step is not judged. Augmentation at random on every rank hides that the samples are the same.
    """

    id = "TD803"
    name = "ranks-see-the-same-data"
    title = "several ranks train on the same batches"
    reads = (RankDigest, BatchLook)

    # Steps at which batches were equal, and how many different batches there were among them.
    steps_needed, batches_needed = 6, 4
    # Before that a warm-up may be under way, and only the end of the run tells that it was none.
    told_from_step = 64

    def __init__(self) -> None:
        self._digests = DigestsOfRanks()
        self._alike: list[_Ranks] | None = None  # ranks that have always had the same
        self._batches: dict[int, list[tuple[int, ...]]] = {}  # by rank
        self._steps: list[int] = []
        self._last: SideBySide | None = None
        self._trained: dict[int, Counter[int]] = {}  # by rank: batches of each loader that were trained on

    def see_rank(self, rank: int, record: Record, ranks: RankStates) -> Iterable[Finding]:
        if isinstance(record, BatchLook):
            if record.trained:
                self._trained.setdefault(rank, Counter())[record.loader] += 1
            return
        assert isinstance(record, RankDigest)
        found = self._digests.add(rank, record, ranks)
        if found is None:
            return
        self._compare(found)
        if found.step >= self.told_from_step:
            yield from self._judge(ranks)

    def finish_ranks(self, ranks: RankStates) -> Iterable[Finding]:
        yield from self._judge(ranks)

    def _compare(self, found: SideBySide) -> None:
        given = found.inputs()
        if not all(given.values()):
            return
        before = self._alike if self._alike is not None else [tuple(given)]
        self._alike = [same for group in before for same in _equal(group, given)]
        for rank, batch in given.items():
            self._batches.setdefault(rank, []).append(batch)
        self._steps.append(found.step)
        self._last = found

    def _judge(self, ranks: RankStates) -> Iterable[Finding]:
        if self._last is None or len(self._steps) < self.steps_needed:
            return
        for same in self._alike or ():
            if len(set(self._batches[same[0]])) >= self.batches_needed:
                yield self._tell(same, ranks)
                return

    def _tell(self, same: _Ranks, ranks: RankStates) -> Finding:
        assert self._last is not None
        rank = same[0]
        counts = self._trained.get(rank, Counter())
        number = counts.most_common(1)[0][0] if counts else 0
        fact = ranks.states[rank].loaders.get(number)
        who, steps = ranks_in_words(same), len(self._steps)
        call = self._last.digests[same[0]].calls[0].call
        where = line_of(fact) if fact is not None else call
        cause, fix = _words(fact, call, ranks.world_size)
        loader = fact if fact is not None and not fact.replicas and not fact.iterable else None
        return self.finding(
            severity="warning",
            confidence=0.95,
            message=f"{who.capitalize()} train on the same batches: equal at all {steps} steps that were "
            f"compared, up to step {self._steps[-1]}. {cause}",
            why="The gradients of equal batches are equal, and so is their average: these ranks do the work of "
            "one, and an epoch is as long as without the others.",
            fix=fix,
            where=where,
            steps=(self._steps[0], self._steps[-1]),
            evidence={
                "ranks": who.removeprefix("ranks "),
                "steps_compared": float(steps),
                "different_batches": float(len(set(self._batches[same[0]]))),
            },
            edit=with_distributed_sampler(where) if loader is not None else None,
        )


def _equal(group: _Ranks, given: dict[int, tuple[int, ...]]) -> list[_Ranks]:
    """The group cut into those that were given the same; whoever is alone is left out."""
    found: dict[tuple[int, ...], list[int]] = {}
    for rank in group:
        found.setdefault(given[rank], []).append(rank)
    return [tuple(same) for same in found.values() if len(same) > 1]


def _words(fact: LoaderFact | None, call: Place, world: int) -> tuple[str, str]:
    """The cause, as far as it is known, and what to do."""
    if fact is None:
        return (
            f"The model is called{at_line(call)} with what every rank makes for itself, in the same way.",
            "Give every rank a share of its own: where batches are drawn at random, seed with `seed + rank` "
            "once the model is made; where they are cut from an array, take rows `[rank::world_size]`.",
        )
    name, line = name_of(fact), at_line(line_of(fact))
    if fact.replicas:
        return (
            f"The DistributedSampler of `{name}`{line} takes share {fact.replica} of {fact.replicas} on each of them.",
            f"Make it with `num_replicas={world}` and the rank of the process among all (`dist.get_rank()`, "
            "not `LOCAL_RANK`), or leave both out: it asks the process group itself.",
        )
    if fact.iterable:
        return (
            f"`{name}`{line} reads a stream, which every rank reads from its beginning.",
            "Let `__iter__` of the dataset skip the samples of other ranks: "
            "`itertools.islice(samples, rank, None, world_size)`.",
        )
    return (
        f"`{name}`{line} has no DistributedSampler, and the seed is the same on every rank."
        if fact.shuffle
        else f"`{name}`{line} has no DistributedSampler.",
        f"Give `{name}`{line} `sampler=DistributedSampler(dataset)` in place of `shuffle`, and call "
        "`sampler.set_epoch(epoch)` at the beginning of every epoch.",
    )


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
        name, line = name_of(fact), at_line(line_of(fact))
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
            steps=(1, seen.step),
            evidence={
                f"batches_of_rank_{few}": float(fact.length or 0),
                f"batches_of_rank_{many}": float(known[many].length or 0),
            },
        )


class RankOutOfData(DeadlockCheck):
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
    reason = OUT_OF_DATA

    def explain(self, deadlock: Deadlock, scene: HangSituation) -> Finding:
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
            f"batches than {done_ranks}. {nothing_moves(fact)}",
            fix="Give all ranks the same number of batches: a DistributedSampler pads them, or cut the data "
            "into equal parts and pass drop_last=True. Where that cannot be, wrap the loop into "
            "torch.distributed.algorithms.join.Join([model]).",
            where=fact.place,
            steps=(fact.step, fact.step),
            evidence={"stood still": seconds(fact.still_s), **_batches(deadlock, scene), **scene.rows()},
        )


def _batches(deadlock: Deadlock, scene: HangSituation) -> dict[str, float | str]:
    ranks = [*deadlock.odd, *deadlock.waiting]
    return {f"batches of rank {rank}": float(scene.facts[rank].batches) for rank in sorted(ranks)[:16]}
