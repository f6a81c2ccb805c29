"""TD703: the workers of a loader are started anew for every pass, and passes are short."""

from __future__ import annotations

from collections.abc import Iterable

from torch_debugger.checks.base import Check
from torch_debugger.checks.deliveries import at, line_of, name_of
from torch_debugger.checks.gains import LEAST_GAIN, milliseconds
from torch_debugger.checks.loading import with_keywords
from torch_debugger.checks.state import RunState
from torch_debugger.records import Finding, LoaderFact, LoadingTime, Record


class WorkersStartedEachPass(Check):
    """A DataLoader starts its workers at the beginning of every pass and ends them after it.

    Symptom:
        Each epoch begins with a pause, in which nothing is computed; with short epochs that is much of the
        time.
    Evidence:
        Over all passes but the first: how long `iter(loader)` and the first batch take, what a batch costs a
        worker at most, and how long it takes until the workers of a pass have ended (medians).
    Fix:
        `persistent_workers=True`: the workers of the first pass stay.
    Known limits:
        A dataset that is changed between passes must not have persistent workers: they keep their copy of it.
    """

    id = "TD703"
    name = "workers-started-each-pass"
    title = "workers are started again for every pass"
    reads = (LoadingTime,)
    explains = ("too-few-workers",)

    least_passes = 3
    # A start and an end of workers costs at least that; shorter ones are no reason for an edit.
    least_s = 0.02

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        assert isinstance(record, LoadingTime)
        fact = state.loaders.get(record.loader)
        if fact is None or not fact.workers or fact.persistent or record.passes < self.least_passes:
            return
        if not state.split.is_enough() or record.passes_s <= 0:
            return
        saved_s = _saved_s(fact, record)
        if saved_s >= self.least_s and saved_s * record.passes >= LEAST_GAIN * record.passes_s:
            yield self._judge(fact, record, saved_s)

    def _judge(self, fact: LoaderFact, time: LoadingTime, saved_s: float) -> Finding:
        where, each_s = line_of(fact), time.passes_s / time.passes
        gain = min(1.0, saved_s / each_s)
        return self.finding(
            severity="note",  # passes over small data are short, and nobody minds
            confidence=0.9,
            message=(
                f"`{name_of(fact)}`{at(where)} starts its {fact.workers} workers again for every pass: "
                f"{milliseconds(time.opening_s)} until the first batch is there and "
                f"{milliseconds(time.closing_s)} until they have ended, in each of {time.passes + 1} passes, "
                f"which come every {milliseconds(each_s)}."
            ),
            why=(
                "Without persistent_workers the processes that load are made anew by each `for` over the "
                "loader, and ended when it is through. The training waits for both."
            ),
            fix=(
                f"Pass `persistent_workers=True`{at(where)}. Each pass should then take about "
                f"{milliseconds(saved_s)} less, {gain:.0%} of the time. (If the dataset itself is changed "
                "between passes, leave it: workers keep their copy.)"
            ),
            where=where,
            first_step=1,
            last_step=time.step,
            evidence={
                "opening_s": time.opening_s,
                "closing_s": time.closing_s,
                "pass_s": each_s,
                "passes": float(time.passes + 1),
                "expected_gain": gain,
            },
            edit=with_keywords(where, {"persistent_workers": "True"}),
        )


def _saved_s(fact: LoaderFact, time: LoadingTime) -> float:
    """The first batch must still be made: that takes a worker no longer than its turn in the round."""
    starts_s = time.passes * (time.opening_s + time.closing_s)
    batch_s = max(0.0, time.elapsed_s - starts_s) / time.batches if time.batches else time.opening_s / 2
    return max(0.0, time.opening_s - fact.workers * batch_s) + time.closing_s
