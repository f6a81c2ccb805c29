"""TD208: a shuffled loader gives the same order in every epoch."""

from __future__ import annotations

from collections.abc import Iterable

from torch_debugger.checks.base import Check
from torch_debugger.checks.deliveries import at, digest_of, inputs_of, line_of, name_of
from torch_debugger.checks.state import RunState
from torch_debugger.records import BatchLook, Finding, FixedDraw, LoaderFact, Record

_Pass = tuple[int, int]  # loader, iteration


class SameOrderEachEpoch(Check):
    """Shuffling is on, yet every epoch has the same batches in the same order.

    Symptom:
        The loss curve repeats its bumps at the same place of every epoch, and the model fits the batches
        rather than the samples.
    Evidence:
        shuffle=True or a DistributedSampler, and the first batches of several epochs hold identical samples in
        the same order. Or, with batches cut by hand, a function that the epoch loop calls draws the order from
        a generator that it seeds with the same number each time.
    Fix:
        Seed once, before the first epoch: make the loader and its generator outside of the epoch loop and call
        `torch.manual_seed` only at the start of the script. A DistributedSampler wants `set_epoch(epoch)` in
        every epoch.
    Known limits:
        Only passes that are trained on count. Samples that are changed at random in between hide it.
    """

    id = "TD208"
    name = "same-order-each-epoch"
    title = "shuffling gives the same order in every epoch"
    reads = (BatchLook, FixedDraw)

    passes_needed = 3
    batches_needed = 2  # of a pass

    def __init__(self) -> None:
        self._openings: dict[tuple[object, ...], dict[_Pass, list[BatchLook]]] = {}
        self._reported: set[tuple[object, ...]] = set()

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        if isinstance(record, FixedDraw):
            if record.each == "epoch":
                yield self._judge_by_hand(record)
            return
        assert isinstance(record, BatchLook)
        fact = state.loaders.get(record.loader)
        if fact is None or fact.shuffle is not True or not record.trained or not inputs_of(record):
            return
        if record.index >= self.batches_needed or (fact.length or 0) <= self.batches_needed:
            return
        key = (fact.made.file, fact.made.line, fact.base)  # one loader, or one a pass made on the same line
        openings = self._openings.setdefault(key, {})
        openings.setdefault((record.loader, record.iteration), []).append(record)
        if key not in self._reported and self._repeats(openings):
            self._reported.add(key)
            yield self._judge(fact, openings, record.step)

    def _judge_by_hand(self, draw: FixedDraw) -> Finding:
        return self.finding(
            severity="warning",
            confidence=0.9,
            message=(
                f"`{draw.function}`, which every epoch calls{at(draw.call)}, seeds its generator with the same "
                f"number each time{at(draw.seed)}: all epochs have the same batches in the same order."
            ),
            why="Batches then always hold the same samples together, as if the data was shuffled only once.",
            fix=(
                f"Make the generator once, before the epoch loop, and give it to `{draw.function}`, or add the "
                f"number of the epoch to the seed{at(draw.seed)}."
            ),
            where=draw.seed,
            first_step=draw.step,
            last_step=draw.step,
            evidence={"function": draw.function},
        )

    def _repeats(self, openings: dict[_Pass, list[BatchLook]]) -> bool:
        whole = [looks for looks in openings.values() if len(looks) == self.batches_needed]
        same = {tuple(digest_of(look) for look in looks) for looks in whole}
        return len(whole) >= self.passes_needed and len(same) == 1

    def _judge(self, fact: LoaderFact, openings: dict[_Pass, list[BatchLook]], step: int) -> Finding:
        where, name = line_of(fact), name_of(fact)
        cause, fix = _cause_and_fix(fact, len({number for number, _ in openings}) > 1)
        return self.finding(
            severity="warning",
            confidence=0.93,
            message=(
                f"`{name}`{at(where)} is shuffled, but {len(openings)} epochs in a row had the same batches in "
                "the same order."
            ),
            why=f"{cause} Batches then always hold the same samples together, as if nothing was shuffled.",
            fix=fix,
            where=where,
            first_step=next(iter(openings.values()))[0].step,
            last_step=step,
            evidence={"epochs": float(len(openings))},
        )


def _cause_and_fix(fact: LoaderFact, anew: bool) -> tuple[str, str]:
    where, name = at(line_of(fact)), name_of(fact)
    if fact.replicas:
        return (
            "Its DistributedSampler draws the order from its seed and the number of the epoch, which it was "
            "never told.",
            f"Call `set_epoch(epoch)` of the sampler of `{name}`{where} at the beginning of every epoch, "
            f"before the loop over `{name}`.",
        )
    if anew:
        return (
            "The loader is made anew for every epoch, from the same seed.",
            f"Make `{name}`{where} and its generator once, before the epoch loop, and seed only there.",
        )
    return (
        "Its random numbers start from the same seed in every epoch.",
        f"Seed once before the epoch loop: take `manual_seed` out of the loop over `{name}`.",
    )
