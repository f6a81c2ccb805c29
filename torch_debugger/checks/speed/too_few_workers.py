"""TD702: the loader has workers, and the training still waits for them."""

from __future__ import annotations

from collections.abc import Iterable

from torch_debugger.checks.deliveries import at
from torch_debugger.checks.gains import WARNED_GAIN, milliseconds, severity_of
from torch_debugger.checks.loading import Loading, cores_in_words, with_keywords
from torch_debugger.checks.loading_check import LoadingCheck
from torch_debugger.checks.state import RunState
from torch_debugger.checks.traced_loading import TracedLoading
from torch_debugger.records import Finding


class TooFewWorkers(LoadingCheck):
    """The workers of a DataLoader do not keep up with the training.

    Symptom:
        Steps are slow although num_workers is set; the GPU, or the training process, stands still between
        batches.
    Evidence:
        The training waits for a loader with workers during at least a quarter of the time, and at least 5 ms a
        batch, the first batch of each pass left out. The time that the workers computed, and stood in line for
        a core, tells what more of them would bring: if they mostly wait for a disk or a network, or cores are
        left, more workers help; if the training and its workers keep all cores busy, only less work does.
    Fix:
        A larger `num_workers`; where no core is left, less work for each sample.
    Known limits:
        How busy workers are is known on Linux alone. Where other programs keep the cores busy nothing is said:
        the wait may be theirs.
    """

    id = "TD702"
    name = "too-few-workers"
    title = "the loader's workers do not keep up"

    # Of the cores: from here on, the training and its workers leave none.
    all_busy = 0.85
    # How often longer everything takes on a machine that others keep busy, so that nothing can be told.
    most_stretched = 1.5

    def judge(self, loading: Loading, state: RunState) -> Iterable[Finding]:
        if not loading.fact.workers or loading.time.workers_cpu_s is None:
            return
        none_left = loading.cores_used >= self.all_busy * loading.cores
        if none_left and loading.gain < WARNED_GAIN:
            yield self._less_work(loading)
        elif not self._is_crowded(loading):
            severity = severity_of(loading.gain)
            if severity is not None:
                yield self._more_workers(loading, severity)

    def judge_traced(self, loading: TracedLoading) -> Iterable[Finding]:
        then_s = loading.best_s(2)
        gain = 1 - then_s / loading.step_s
        severity = severity_of(gain)
        if severity is not None and loading.training.loader_workers:
            yield self.finding(
                severity=severity,
                confidence=0.75,
                message=(
                    f"The training waits {loading.waits} for data, although its DataLoader has workers: "
                    "they do not keep up."
                ),
                why="The workers together take longer to make a batch than the training takes for a step.",
                fix=(
                    "Pass a larger `num_workers`, or do less for each sample. Twice as many workers bring a "
                    f"step from {milliseconds(loading.step_s)} to about {milliseconds(then_s)} where the "
                    "machine has the cores for them."
                ),
                where=loading.training.loader_at,
                first_step=1,
                last_step=loading.training.steps,
                evidence=loading.evidence(gain),
            )

    def _is_crowded(self, loading: Loading) -> bool:
        """Other programs keep the cores busy, and the time in line for one can be what is waited for."""
        own_s = loading.time.cpu_s / loading.time.batches
        in_line_s = (loading.time.stretch - 1) * own_s + loading.computed_s
        explained = loading.wait_s - in_line_s < self.least_share * loading.batch_s
        return loading.time.stretch > self.most_stretched and explained

    def _more_workers(self, loading: Loading, severity: str) -> Finding:
        workers, then_s = loading.best_workers(), loading.with_workers(loading.best_workers())
        idle = 1 - loading.computed_s / loading.making_s
        return self._told(
            loading,
            severity,
            why=(
                f"{_workers(loading)} made a batch every {milliseconds(loading.batch_s)}, and each is at work "
                f"on one for {milliseconds(loading.making_s)}. {idle:.0%} of that they do not compute but "
                "wait, for a disk, a network or the like."
                if idle >= 0.3
                else f"{_workers(loading)} made a batch every {milliseconds(loading.batch_s)}, and the "
                f"training and they use {loading.cores_used:.1f} of {cores_in_words(loading.cores)}: some are "
                "left."
            ),
            fix=(
                f"Pass `num_workers={workers}`{at(loading.where)}. A batch should then take about "
                f"{milliseconds(then_s)} instead of {milliseconds(loading.batch_s)}, {loading.gain:.0%} less, "
                f"if nothing else needs {cores_in_words(loading.cores)}."
            ),
            gain=loading.gain,
            workers=workers,
        )

    def _less_work(self, loading: Loading) -> Finding:
        return self._told(
            loading,
            severity_of(loading.share) or "note",
            why=(
                f"The training and its {loading.fact.workers} workers use {loading.cores_used:.1f} of "
                f"{cores_in_words(loading.cores)}: more workers would only take the cores from each other. "
                f"Making a batch is {milliseconds(loading.computed_s)} of work for the processor."
            ),
            fix=(
                "Do less for each sample: prepare once what does not change (decode, resize, tokenize before "
                "the training and store the result), and leave the rest to faster code or to the GPU, a batch "
                f"at a time. Up to {loading.share:.0%} of the time can be saved. More workers than "
                f"{loading.fact.workers} help only on a machine with more cores."
            ),
            gain=loading.share,
            workers=loading.fact.workers,
        )

    def _told(
        self, loading: Loading, severity: str, *, why: str, fix: str, gain: float, workers: int
    ) -> Finding:
        more = workers > loading.fact.workers
        return self.finding(
            severity=severity,
            confidence=0.85,
            message=(
                f"The training waits {loading.waits} for data: the {_workers(loading, bare=True)} of "
                f"{loading.named} {'does' if loading.fact.workers == 1 else 'do'} not keep up."
            ),
            why=why,
            fix=fix,
            where=loading.where,
            first_step=1,
            last_step=loading.time.step,
            evidence={
                "wait_s": loading.wait_s,
                "batch_s": loading.batch_s,
                "expected_gain": gain,
                "workers_now": float(loading.fact.workers),
                "workers": float(workers),
                "cores": float(loading.cores),
                "cores_used": loading.cores_used,
            },
            edit=with_keywords(loading.where, {"num_workers": str(workers)}) if more else None,
        )


def _workers(loading: Loading, *, bare: bool = False) -> str:
    number = loading.fact.workers
    if number == 1:
        return "one worker" if bare else "Its one worker"
    return f"{number} workers" if bare else f"Its {number} workers"
