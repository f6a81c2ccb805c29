"""TD802: a model is in DistributedDataParallel, and its gradients are not averaged."""

from __future__ import annotations

from collections.abc import Iterable

from torch_debugger.checks.deliveries import at
from torch_debugger.checks.rank_check import RankCheck
from torch_debugger.checks.rank_digests import DigestsOfRanks, SideBySide
from torch_debugger.checks.rank_states import RankStates
from torch_debugger.records import CalledModel, Edit, Finding, Place, RankDigest, Record
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

    def see_rank(self, rank: int, record: Record, ranks: RankStates) -> Iterable[Finding]:
        assert isinstance(record, RankDigest)
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
        told = f"the gradients of {who} differed at {len(steps)} steps that were compared"
        around = (
            f"`{wrapper}` is a DistributedDataParallel{at(last.average.made)}, but the module inside of it is "
            f"called{at(call.call)}"
            if way == "inner"
            else f"Every backward of `{wrapper}`{at(call.call)} is under `no_sync()`, also the last one before "
            "the optimizer steps"
        )
        return self.finding(
            severity="error",
            confidence=0.97,
            message=f"{around}: {told}.",
            why="DistributedDataParallel averages gradients only for a backward that began with a call of the "
            "wrapper itself, outside of `no_sync()`. Otherwise each rank trains a model of its own on its "
            "share of the data, and only one of them is kept.",
            fix=f"Call `{wrapper}(...)`{at(call.call)}."
            if way == "inner"
            else f"Use `with {wrapper}.no_sync():` only for the backward passes that are followed by another "
            "one before `optimizer.step()`.",
            where=call.call,
            first_step=first.step,
            last_step=last.step,
            evidence={
                "ranks": float(len(last.digests)),
                "steps_compared": float(len(steps)),
                "different_gradients": f"{len(different)} of {len(last.first.names)}",
            },
            edit=_edit(call.call, wrapper) if way == "inner" else None,
        )


def _way_around(found: SideBySide) -> str:
    """inner | paused, where that is what happened on every rank and gradients differ for it; else empty."""
    if not found.different_gradients():
        return ""
    roles = {
        rank: {call.role for each, call in found.calls() if each == rank} - {"other"} for rank in found.digests
    }
    if all(seen == {"inner"} for seen in roles.values()):
        return "inner"
    averages = [digest.average for digest in found.digests.values()]
    paused = all(average is not None and average.paused for average in averages)
    return "paused" if paused and all(seen == {"wrapper"} for seen in roles.values()) else ""


def _call(found: SideBySide) -> CalledModel:
    return next(call for _, call in found.calls() if call.role != "other")


def _edit(call: Place, wrapper: str) -> Edit | None:
    code, around = call.code or "", f"{wrapper}.module("
    if call.file is None or call.line is None or code.count(around) != 1:
        return None
    return Edit(call.file, call.line, code, code.replace(around, f"{wrapper}("))
