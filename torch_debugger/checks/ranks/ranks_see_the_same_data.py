"""TD803: several ranks train on the same batches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from torch_debugger.checks.deliveries import at, line_of, name_of
from torch_debugger.checks.loader_call import with_distributed_sampler
from torch_debugger.checks.rank_check import RankCheck
from torch_debugger.checks.rank_digests import DigestsOfRanks, SideBySide
from torch_debugger.checks.rank_states import RankStates
from torch_debugger.records import BatchLook, Finding, LoaderFact, Place, RankDigest, Record
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
        fact = self._loader(same[0], ranks)
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
            first_step=self._steps[0],
            last_step=self._steps[-1],
            evidence={
                "ranks": who.removeprefix("ranks "),
                "steps_compared": float(steps),
                "different_batches": float(len(set(self._batches[same[0]]))),
            },
            edit=with_distributed_sampler(where) if loader is not None else None,
        )

    def _loader(self, rank: int, ranks: RankStates) -> LoaderFact | None:
        """The one whose batches are trained on."""
        counts = self._trained.get(rank, Counter())
        number = counts.most_common(1)[0][0] if counts else 0
        return ranks.states[rank].loaders.get(number)


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
            f"The model is called{at(call)} with what every rank makes for itself, in the same way.",
            "Give every rank a share of its own: where batches are drawn at random, seed with `seed + rank` "
            "once the model is made; where they are cut from an array, take rows `[rank::world_size]`.",
        )
    name, line = name_of(fact), at(line_of(fact))
    if fact.replicas:
        return (
            f"The DistributedSampler of `{name}`{line} takes share {fact.replica} of {fact.replicas} on each "
            "of them.",
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
