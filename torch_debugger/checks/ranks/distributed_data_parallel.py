"""DistributedDataParallel: gradients that are not averaged, weights that drift apart, BatchNorm."""

from __future__ import annotations

from collections.abc import Iterable

from torch_debugger.checks.base import at_line
from torch_debugger.checks.call_edits import replace_in_line
from torch_debugger.checks.rank_checks import DigestsOfRanks, RankCheck, RankStates, SideBySide
from torch_debugger.records import BatchNormLook, CalledModel, Finding, GradientAverage, Place, RankDigest, Record
from torch_debugger.records.ranks import ranks_in_words


class DdpBypassed(RankCheck):
    """A model is in DistributedDataParallel, but trained around it: every rank trains a model of its own.

    Symptom:
        Each rank's loss goes its own way, validation differs from rank to rank, and what rank 0 saves has
        learned from its share of the data only.
    Evidence:
        The gradients differ between the ranks when the optimizer steps. The module inside was called, and the
        wrapper was not; or it was, and always under `no_sync()`.
    Fix:
        Call the wrapper: `model(x)`, not `model.module(x)` nor the network that went into it. Leave `no_sync()`
        for the last backward before each `optimizer.step()`.
    Known limits:
        Seen at some steps, chosen by their number. With a communication hook nothing is said, nor where a
        wrapper averages among some of the ranks only.
    """

    id = "TD802"
    name = "ddp-bypassed"
    title = "the model in DistributedDataParallel is trained around it"
    reads = (RankDigest,)
    explains = ("ranks-drift-apart",)

    # A first step may be a rehearsal of something else.
    steps_needed = 3

    def __init__(self) -> None:
        self._digests = DigestsOfRanks()
        self._found: dict[str, list[SideBySide]] = {"inner": [], "paused": []}
        self._reported = False

    def see_rank(self, rank: int, record: RankDigest, ranks: RankStates) -> Iterable[Finding]:
        found = self._digests.add(rank, record, ranks)
        if found is None or found.average.kind != "DistributedDataParallel":
            return
        way = _way_around(found)
        for name, steps in self._found.items():
            if name != way:
                steps.clear()
        if way:
            self._found[way].append(found)
            if len(self._found[way]) >= self.steps_needed:
                yield self._tell(way, self._found[way])

    def _tell(self, way: str, steps: list[SideBySide]) -> Finding:
        first, last = steps[0], steps[-1]
        call = _call(last)
        wrapper = last.average.name or "model"
        different = last.different_gradients()
        who = ranks_in_words(last.digests)
        differed = f"the gradients of {who} differed at {len(steps)} steps that were compared"
        around = (
            f"`{wrapper}` is a DistributedDataParallel{at_line(last.average.made)}, but the module inside of it is "
            f"called{at_line(call.call)}"
            if way == "inner"
            else f"Every backward of `{wrapper}`{at_line(call.call)} is under `no_sync()`, also the last one before "
            "the optimizer steps"
        )
        return self.finding(
            severity="error",
            confidence=0.97,
            message=f"{around}: {differed}.",
            why="DistributedDataParallel averages gradients only for a backward that began with a call of the "
            "wrapper itself, outside of `no_sync()`. Otherwise each rank trains a model of its own on its "
            "share of the data, and only one of them is kept.",
            fix=f"Call `{wrapper}(...)`{at_line(call.call)}."
            if way == "inner"
            else f"Use `with {wrapper}.no_sync():` only for the backward passes that are followed by another "
            "one before `optimizer.step()`.",
            where=call.call,
            steps=(first.step, last.step),
            evidence={
                "ranks": float(len(last.digests)),
                "steps_compared": float(len(steps)),
                "different_gradients": f"{len(different)} of {len(last.first.names)}",
            },
            edit=replace_in_line(call.call, f"{wrapper}.module(", f"{wrapper}(") if way == "inner" else None,
        )


def _way_around(found: SideBySide) -> str:
    """inner | paused, where that is what happened on every rank and gradients differ for it; else empty."""
    if not found.different_gradients():
        return ""
    roles = {rank: {call.role for each, call in found.calls() if each == rank} - {"other"} for rank in found.digests}
    if all(seen == {"inner"} for seen in roles.values()):
        return "inner"
    averages = [digest.average for digest in found.digests.values()]
    paused = all(average is not None and average.paused for average in averages)
    return "paused" if paused and all(seen == {"wrapper"} for seen in roles.values()) else ""


def _call(found: SideBySide) -> CalledModel:
    return next(call for _, call in found.calls() if call.role != "other")


_Cause = tuple[str, str, Place]  # what happened, what to do, where


class RanksDriftApart(RankCheck):
    """The weights of the ranks should be equal to the last bit, and are not.

    Symptom:
        Losses, accuracies or checkpoints differ from rank to rank although gradients are averaged; a model
        resumed from rank 0's checkpoint behaves unlike the run did.
    Evidence:
        Checksums of up to 32 parameters, made at the same steps on every rank. Something averages the gradients
        (DistributedDataParallel, or `all_reduce` of every `.grad`), so the weights must stay equal once they
        are. What differed first tells the cause: the weights before the first update, the number of updates,
        the learning rates, the gradients.
    Fix:
        Begin with equal weights (`broadcast` them from rank 0, load a checkpoint on all ranks), and let every
        rank make every update with the same rate.
    Known limits:
        Buffers, such as the averages of BatchNorm, are not compared: they may differ. Of sharded parameters
        (FSDP) each rank has only its own, and nothing is said. Nor is anything with a communication hook or
        under `join()`.
    """

    id = "TD811"
    name = "ranks-drift-apart"
    title = "ranks that should have the same weights do not"
    reads = (RankDigest,)

    # One step alone may have met a rank in the middle of loading or copying weights.
    steps_needed = 3

    def __init__(self) -> None:
        self._digests = DigestsOfRanks()
        self._before: dict[int, SideBySide] = {}  # by optimizer: the last step with equal weights
        self._apart: dict[int, list[SideBySide]] = {}

    def see_rank(self, rank: int, record: RankDigest, ranks: RankStates) -> Iterable[Finding]:
        found = self._digests.add(rank, record, ranks)
        if found is None:
            return
        apart = self._apart.setdefault(record.optimizer, [])
        if not found.different_weights():
            apart.clear()
            self._before[record.optimizer] = found
            return
        apart.append(found)
        if len(apart) >= self.steps_needed:
            yield self._tell(apart, self._before.get(record.optimizer))

    def _tell(self, apart: list[SideBySide], before: SideBySide | None) -> Finding:
        first, last = apart[0], apart[-1]
        names = last.different_weights()
        name = max(names, key=lambda each: _spread(last.norms_of(each)))
        norms = last.norms_of(name)
        low, high = min(norms, key=norms.__getitem__), max(norms, key=norms.__getitem__)
        cause, fix, where = _cause(first, before)
        equal = f" (at step {before.step} they were)" if before is not None else ""
        return self.finding(
            severity="error",
            confidence=0.95,
            message=f"The weights of {ranks_in_words(last.digests)} should be equal and are not, since step "
            f"{first.step}{equal}: at step {last.step} the norm of `{name}` is {norms[low]:.6g} on rank "
            f"{low} and {norms[high]:.6g} on rank {high}. {cause}",
            why="Averaged gradients keep ranks together only as long as their weights are equal. From then on "
            "each rank changes its weights by gradients that others have computed for theirs.",
            fix=fix,
            where=where,
            steps=(first.step, last.step),
            evidence={
                "different_parameters": f"{len(names)} of {len(last.first.names)}",
                "largest_difference": _spread(norms),
                "averaged": last.average.kind,
            },
        )


def _spread(norms: dict[int, float]) -> float:
    """Of the largest."""
    high = max(norms.values())
    return (high - min(norms.values())) / high if high else 0.0


def _cause(first: SideBySide, before: SideBySide | None) -> _Cause:
    if before is None and first.is_from_the_start:
        call = _training_line(first)
        if first.average.kind == "DistributedDataParallel":
            made = first.average.made
            return (
                f"They differed before the first update, although DistributedDataParallel{at_line(made)} gives all "
                "ranks the weights of rank 0: something has changed them since, on some ranks only.",
                "Load checkpoints and set weights on all ranks, or before the model goes into DistributedDataParallel.",
                made or call,
            )
        return (
            "They differed before the first update: every rank has made weights of its own, and averaging "
            "gradients does not make them one.",
            "Send the weights of rank 0 to all before the first step: `for p in model.parameters(): "
            "dist.broadcast(p.data, 0)`; or use DistributedDataParallel, which does that and the averaging.",
            call,
        )
    uneven = _uneven_updates(first) or (before is not None and _uneven_updates(before))
    if uneven:
        return uneven
    for found in filter(None, (before, first)):
        rates = {digest.rates for digest in found.digests.values()}
        if len(rates) > 1:
            digests = list(found.digests.items())[:4]
            by_rank = ", ".join(f"{_listed(digest.rates)} on rank {rank}" for rank, digest in digests)
            return (
                f"Their learning rates differ at step {found.step}: {by_rank}.",
                "Let every rank set the same rate: a schedule that follows a loss (ReduceLROnPlateau) must be given "
                "the same number on every rank, for example the mean of all.",
                _training_line(found),
            )
    found = before if before is not None and before.different_gradients() else first
    different, names = found.different_gradients(), found.first.names
    where = found.average.made or _training_line(found)
    if different and len(different) < len(names):
        which = f"`{different[0]}`" + (f" and {len(different) - 1} more" if len(different) > 1 else "")
        return (
            f"The gradients of {which} are not averaged, those of the others are.",
            "Put the whole model into what averages gradients: DistributedDataParallel knows the parameters "
            "that it was made with, and none that were added or thawed later.",
            where,
        )
    if different:
        return ("Their gradients differ.", "See that every backward averages its gradients.", where)
    return (
        "Gradients and learning rates were equal: something else writes into the weights, on some ranks only.",
        "Look for lines after `optimizer.step()`, or under `if rank == 0:`, that load, copy, clamp or add "
        "noise to weights: all ranks must do the same.",
        where,
    )


def _uneven_updates(found: SideBySide) -> _Cause | None:
    """For the same number of updates some ranks have made more backward passes: they have left some out."""
    counts = {rank: digest.backwards for rank, digest in found.digests.items()}
    low, high = min(counts, key=counts.__getitem__), max(counts, key=counts.__getitem__)
    if counts[low] == counts[high]:
        return None
    updates = found.first.updates
    return (
        f"Rank {high} has left out updates: {counts[high]} backward passes for its first {updates} updates and "
        f"the next, where rank {low} has made {counts[low]}.",
        "Let all ranks decide alike whether to step: a condition on a rank's own loss or batch (`if "
        "loss.isnan(): continue`) must be the same on every rank, for example by an `all_reduce` of it.",
        _training_line(found),
    )


def _listed(rates: tuple[float, ...]) -> str:
    return " and ".join(f"{rate:.4g}" for rate in dict.fromkeys(rates))


def _training_line(found: SideBySide) -> Place:
    return next((call.call for _, call in found.calls()), found.average.made)


class BatchnormPerRank(RankCheck):
    """Gradients are averaged over all ranks, but BatchNorm normalises by the few samples of its own rank.

    Symptom:
        A model that trains well with one large batch is worse with the same batch over many GPUs; evaluation is
        noisier than training.
    Evidence:
        The number of samples that BatchNorm layers normalise over on every rank, at all deep steps, and a
        DistributedDataParallel around the model.
    Fix:
        `model = nn.SyncBatchNorm.convert_sync_batchnorm(model)` before it goes into DistributedDataParallel (on
        GPUs), or GroupNorm, which does not look at other samples.
    Known limits:
        A piece of advice: whether it matters depends on the task. Layers with many values for each sample
        (images) have more to go by than the number of samples says.
    """

    id = "TD807"
    name = "batchnorm-per-rank"
    title = "BatchNorm sees only the few samples of its rank"
    reads = (BatchNormLook, RankDigest)

    # With so few the means of a batch are off by a third of a deviation and more.
    fewest_samples = 8
    # Below that the layer is useless with any number of ranks, which batchnorm-tiny-batch says.
    least_samples = 2
    looks_needed = 3
    steps_needed = 50

    def __init__(self) -> None:
        self._looks: dict[tuple[int, str], list[int]] = {}  # by rank and layer: samples of each look
        self._average: GradientAverage | None = None

    def see_rank(self, rank: int, record: Record, ranks: RankStates) -> None:
        if isinstance(record, RankDigest):
            average = record.average
            if average is not None and average.kind == "DistributedDataParallel":
                self._average = average
            return
        assert isinstance(record, BatchNormLook)
        self._looks.setdefault((rank, record.name), []).append(record.shape[0])

    def finish_ranks(self, ranks: RankStates) -> Iterable[Finding]:
        first = min(ranks.states, default=0)
        if self._average is None or self._average.ranks < 2 or ranks.states[first].step < self.steps_needed:
            return
        names = [name for rank, name in self._looks if rank == first and self._is_small(name, ranks)]
        if names:
            yield self._tell(names, ranks.states[first].step, first, ranks)

    def _is_small(self, name: str, ranks: RankStates) -> bool:
        for rank, state in ranks.states.items():
            samples, module = self._looks.get((rank, name), []), state.module(name)
            if len(samples) < self.looks_needed or (module is not None and module.kind == "SyncBatchNorm"):
                return False
            if max(samples) >= self.fewest_samples or max(samples) < self.least_samples:
                return False
        return True

    def _tell(self, names: list[str], step: int, first: int, ranks: RankStates) -> Finding:
        assert self._average is not None
        name, wrapper = names[-1], self._average.name or "model"  # met on the way back from the loss
        samples = max(self._looks[first, name])
        module = ranks.states[first].module(name)
        made = module.place if module is not None else Place()
        more = f", as {len(names) - 1} more layers do" if len(names) > 1 else ""
        return self.finding(
            severity="note",
            confidence=0.8,
            message=f"`{name}` normalises over the {samples} samples of its own rank{more}, although "
            f"{samples * self._average.ranks} are trained on together.",
            why="DistributedDataParallel averages gradients, not the means and variances of BatchNorm: each "
            f"rank takes them from its own {samples} samples, which is a noisy guess.",
            fix=f"Convert the model before it goes into `{wrapper}`: "
            "`nn.SyncBatchNorm.convert_sync_batchnorm(net)` (it needs GPUs), or use `nn.GroupNorm`.",
            where=Place(made.file, made.line, name, made.code),
            steps=(1, step),
            evidence={"samples": float(samples), "ranks": float(self._average.ranks), "layers": float(len(names))},
        )
