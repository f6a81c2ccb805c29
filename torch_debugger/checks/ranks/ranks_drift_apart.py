"""TD811: ranks that should have the same weights do not."""

from __future__ import annotations

from collections.abc import Iterable

from torch_debugger.checks.deliveries import at
from torch_debugger.checks.rank_check import RankCheck
from torch_debugger.checks.rank_digests import DigestsOfRanks, SideBySide
from torch_debugger.checks.rank_states import RankStates
from torch_debugger.records import Finding, Place, RankDigest, Record
from torch_debugger.records.ranks import ranks_in_words

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

    def see_rank(self, rank: int, record: Record, ranks: RankStates) -> Iterable[Finding]:
        assert isinstance(record, RankDigest)
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
            first_step=first.step,
            last_step=last.step,
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
        return _from_the_start(first)
    uneven = _uneven_updates(first) or (before is not None and _uneven_updates(before))
    if uneven:
        return uneven
    for found in filter(None, (before, first)):
        rates = {digest.rates for digest in found.digests.values()}
        if len(rates) > 1:
            return _other_rates(found)
    return _other_gradients(first, before)


def _from_the_start(first: SideBySide) -> _Cause:
    call = _training_line(first)
    if first.average.kind == "DistributedDataParallel":
        made = first.average.made
        return (
            f"They differed before the first update, although DistributedDataParallel{at(made)} gives all "
            "ranks the weights of rank 0: something has changed them since, on some ranks only.",
            "Load checkpoints and set weights on all ranks, or before the model goes into "
            "DistributedDataParallel.",
            made or call,
        )
    return (
        "They differed before the first update: every rank has made weights of its own, and averaging "
        "gradients does not make them one.",
        "Send the weights of rank 0 to all before the first step: `for p in model.parameters(): "
        "dist.broadcast(p.data, 0)`; or use DistributedDataParallel, which does that and the averaging.",
        call,
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


def _other_rates(found: SideBySide) -> _Cause:
    rates = {rank: digest.rates for rank, digest in found.digests.items()}
    told = ", ".join(f"{_listed(each)} on rank {rank}" for rank, each in list(rates.items())[:4])
    return (
        f"Their learning rates differ at step {found.step}: {told}.",
        "Let every rank set the same rate: a schedule that follows a loss (ReduceLROnPlateau) must be given "
        "the same number on every rank, for example the mean of all.",
        _training_line(found),
    )


def _listed(rates: tuple[float, ...]) -> str:
    return " and ".join(f"{rate:.4g}" for rate in dict.fromkeys(rates))


def _other_gradients(first: SideBySide, before: SideBySide | None) -> _Cause:
    found = before if before is not None and before.different_gradients() else first
    different, names = found.different_gradients(), found.first.names
    where = found.average.made or _training_line(found)
    if different and len(different) < len(names):
        told = f"`{different[0]}`" + (f" and {len(different) - 1} more" if len(different) > 1 else "")
        return (
            f"The gradients of {told} are not averaged, those of the others are.",
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


def _training_line(found: SideBySide) -> Place:
    return next((call.call for _, call in found.calls()), found.average.made)
