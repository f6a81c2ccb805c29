"""TD705: one line of the user's makes loading so slow that workers cannot hide it."""

from __future__ import annotations

from collections.abc import Iterable

from torch_debugger.checks.gains import milliseconds, severity_of
from torch_debugger.checks.loading import Loading, cores_in_words
from torch_debugger.checks.loading_check import LoadingCheck
from torch_debugger.checks.loading_lines import WaitLine, slow_line, told
from torch_debugger.checks.state import RunState
from torch_debugger.records import Finding


class SlowSampleLine(LoadingCheck):
    """Most of the time waited for data goes to one line of a dataset, a transform or a collate function.

    Symptom:
        Each sample takes milliseconds to make. Workers help less than expected, because the cores are busy.
    Evidence:
        Some batches of a loader with num_workers=0 were timed line by line: at least 60 % of the time went
        into this line and what it called. Workers were computed not to hide the wait: with as many as the
        cores allow, at least a quarter of the line's time would be left.
    Fix:
        Do the work of this line once, before the training, and keep its result; or use a faster function.
    Known limits:
        Lines are timed in the training process alone, so not where workers load. Where workers can hide the
        wait, data-loaded-in-the-training-process names the line instead. What the line does is not judged: it
        may have to be there.
    """

    id = "TD705"
    name = "slow-sample-line"
    title = "one line makes loading slow"
    explains = ("data-loaded-in-the-training-process",)

    line_share = 0.6  # of the wait: one line stands out
    # Of the line's time, what workers would leave of it: below, workers are the easier way out.
    least_left = 0.25

    def judge(self, loading: Loading, state: RunState) -> Iterable[Finding]:
        line = slow_line(state, loading, self.line_share)
        if line is None:
            return
        gain = line.share * loading.share
        if severity_of(gain) is not None and gain - loading.gain >= self.least_left * gain:
            yield self._told(loading, line, gain)

    def _told(self, loading: Loading, line: WaitLine, gain: float) -> Finding:
        line_s, left_s = line.share * loading.wait_s, loading.with_workers(loading.best_workers())
        each = f", {milliseconds(line_s / loading.fact.batch_size)} a sample" if loading.fact.batch_size else ""
        return self.finding(
            severity="note",  # the line may have to be there: a random crop is another one each time
            confidence=0.85,
            message=(
                f"The training waits {loading.waits} for data, {line.share:.0%} of it in {told(line.place)}: "
                f"{milliseconds(line_s)} a batch{each}."
            ),
            why=(
                f"{loading.named} makes its batches in the training process, and this line is most of that "
                f"work. Workers alone would not hide it on {cores_in_words(loading.cores)}: a batch would "
                f"still take about {milliseconds(left_s)}, of which training on it takes "
                f"{milliseconds(loading.rest_s)}."
            ),
            fix=(
                f"Make this line cheaper. If it gives the same result for a sample each time, do it once, "
                "before the training, and keep the results; else look for a faster function, or do it on whole "
                f"batches. Without it a batch would take about {milliseconds(loading.batch_s - line_s)} "
                f"instead of {milliseconds(loading.batch_s)}, {gain:.0%} less."
            ),
            where=line.place,
            first_step=1,
            last_step=loading.time.step,
            evidence={
                "line_s": line_s,
                "wait_s": loading.wait_s,
                "batch_s": loading.batch_s,
                "line_share_of_wait": line.share,
                "expected_gain": gain,
                "gain_of_workers": loading.gain,
            },
        )
