"""Loading in the training process, too few workers, and workers started anew for every pass."""

from __future__ import annotations

from collections.abc import Iterable

from torch_debugger.checks.base import Check, RunState, at_line
from torch_debugger.checks.batches import line_of, name_of
from torch_debugger.checks.data_loading import (
    WORKERS,
    LoaderWait,
    LoadingCheck,
    TracedLoading,
    cores_in_words,
    with_keywords,
    words_of_line,
)
from torch_debugger.checks.step_time import LEAST_GAIN, WARNED_GAIN, milliseconds, severity_of
from torch_debugger.records import Finding, LoadingTime


class DataLoadedInTheTrainingProcess(LoadingCheck):
    """The training process makes every batch itself, and nothing is computed while it does.

    Symptom:
        Steps are slow, and the processor's other cores, or the GPU, stand still for a good part of each step.
    Evidence:
        A DataLoader with num_workers=0 is waited for during at least a quarter of the time, and at least 5 ms
        a batch: the mean over the run without its slowest waits. What workers would save is computed from what
        was measured: a batch then takes as long as training on it, as making it, or as the processor needs for
        both with all cores at work, whichever is longest. Where that saves less than 5 %, nothing is said.
    Fix:
        `num_workers=N, persistent_workers=True` where the loader is made.
    Known limits:
        What other programs need of the cores is not known. Datasets that make tensors on a GPU are not judged:
        they cannot be used in workers. Code that makes batches without a DataLoader is not seen here.
    """

    id = "TD701"
    name = "data-loaded-in-the-training-process"
    title = "the training loads its data itself and waits for it"

    def judge(self, loading: LoaderWait, state: RunState) -> Iterable[Finding]:
        severity = severity_of(loading.gain)
        if severity is not None and not loading.fact.workers and not loading.time.on_device:
            workers, wait_s = loading.best_workers(), loading.wait_s
            computed_s = loading.computed_s
            then_s = loading.with_workers(workers)
            kind = (
                "Making it is work for the processor, which other cores can do while the model computes."
                if computed_s >= 0.8 * wait_s
                else f"Of each wait only {milliseconds(computed_s)} is work for the processor; the rest is waiting for "
                "a disk, a network or the like, which workers can do without a core of their own."
            )
            stream = (
                " Its dataset is a stream, which every worker reads from the beginning: let each deliver a part of "
                "its own (`torch.utils.data.get_worker_info()`), else every sample comes several times."
                if loading.fact.iterable
                else ""
            )
            yield self.finding(
                severity=severity,
                confidence=0.9,
                message=f"The training waits {loading.waits} for data: {loading.named} has num_workers=0, so the "
                f"training process makes each batch itself{words_of_line(state, loading)}.",
                why=f"Without workers a batch is made while the model stands still. {kind}",
                fix=f"Pass `num_workers={workers}, persistent_workers=True`{at_line(loading.where)}. A batch should "
                f"then take about {milliseconds(then_s)} instead of {milliseconds(loading.batch_s)}, "
                f"{loading.gain:.0%} less, if nothing else needs {cores_in_words(loading.cores)}.{stream}",
                where=loading.where,
                steps=(1, loading.time.step),
                evidence={
                    "wait_s": wait_s,
                    "wait_cpu_s": loading.time.wait_cpu_s,
                    "batch_s": loading.batch_s,
                    "expected_batch_s": then_s,
                    "expected_gain": loading.gain,
                    "workers": float(workers),
                    "cores": float(loading.cores),
                },
                edit=with_keywords(loading.where, {"num_workers": str(workers), "persistent_workers": "True"}),
            )

    def judge_traced(self, loading: TracedLoading) -> Iterable[Finding]:
        then_s = loading.best_s(WORKERS)
        gain = 1 - then_s / loading.step_s
        severity = severity_of(gain)
        if severity is not None and loading.training.loader_workers is False:
            yield self.finding(
                severity=severity,
                confidence=0.85,
                message=f"The training waits {loading.waits} for data: its DataLoader has num_workers=0, so the "
                "training process makes each batch itself.",
                why="Without workers a batch is made while the model stands still.",
                fix=f"Pass `num_workers={WORKERS}, persistent_workers=True` to the DataLoader. A step should "
                f"then take about {milliseconds(then_s)} instead of {milliseconds(loading.step_s)} where "
                f"{WORKERS} cores are free.",
                where=loading.training.loader_at,
                steps=(1, loading.training.steps),
                evidence=loading.evidence(gain),
            )


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

    def judge(self, loading: LoaderWait, state: RunState) -> Iterable[Finding]:
        if not loading.fact.workers or loading.time.workers_cpu_s is None:
            return
        none_left = loading.cores_used >= self.all_busy * loading.cores
        if none_left and loading.gain < WARNED_GAIN:
            yield self._found(
                loading,
                severity_of(loading.share) or "note",
                why=f"The training and its {loading.fact.workers} workers use {loading.cores_used:.1f} of "
                f"{cores_in_words(loading.cores)}: more workers would only take the cores from each other. "
                f"Making a batch is {milliseconds(loading.computed_s)} of work for the processor.",
                fix="Do less for each sample: prepare once what does not change (decode, resize, tokenize before "
                "the training and store the result), and leave the rest to faster code or to the GPU, a batch "
                f"at a time. Up to {loading.share:.0%} of the time can be saved. More workers than "
                f"{loading.fact.workers} help only on a machine with more cores.",
                gain=loading.share,
                workers=loading.fact.workers,
            )
        elif not self._is_crowded(loading):
            severity = severity_of(loading.gain)
            if severity is not None:
                workers, then_s = loading.best_workers(), loading.with_workers(loading.best_workers())
                idle = 1 - loading.computed_s / loading.making_s
                yield self._found(
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
                    fix=f"Pass `num_workers={workers}`{at_line(loading.where)}. A batch should then take about "
                    f"{milliseconds(then_s)} instead of {milliseconds(loading.batch_s)}, {loading.gain:.0%} less, "
                    f"if nothing else needs {cores_in_words(loading.cores)}.",
                    gain=loading.gain,
                    workers=workers,
                )

    def judge_traced(self, loading: TracedLoading) -> Iterable[Finding]:
        then_s = loading.best_s(2)
        gain = 1 - then_s / loading.step_s
        severity = severity_of(gain)
        if severity is not None and loading.training.loader_workers:
            yield self.finding(
                severity=severity,
                confidence=0.75,
                message=f"The training waits {loading.waits} for data, although its DataLoader has workers: "
                "they do not keep up.",
                why="The workers together take longer to make a batch than the training takes for a step.",
                fix="Pass a larger `num_workers`, or do less for each sample. Twice as many workers bring a "
                f"step from {milliseconds(loading.step_s)} to about {milliseconds(then_s)} where the "
                "machine has the cores for them.",
                where=loading.training.loader_at,
                steps=(1, loading.training.steps),
                evidence=loading.evidence(gain),
            )

    def _is_crowded(self, loading: LoaderWait) -> bool:
        """Other programs keep the cores busy, and the time in line for one can be what is waited for."""
        own_s = loading.time.cpu_s / loading.time.batches
        in_line_s = (loading.time.stretch - 1) * own_s + loading.computed_s
        explained = loading.wait_s - in_line_s < self.least_share * loading.batch_s
        return loading.time.stretch > self.most_stretched and explained

    def _found(self, loading: LoaderWait, severity: str, *, why: str, fix: str, gain: float, workers: int) -> Finding:
        more = workers > loading.fact.workers
        return self.finding(
            severity=severity,
            confidence=0.85,
            message=f"The training waits {loading.waits} for data: the {_workers(loading, bare=True)} of "
            f"{loading.named} {'does' if loading.fact.workers == 1 else 'do'} not keep up.",
            why=why,
            fix=fix,
            where=loading.where,
            steps=(1, loading.time.step),
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


def _workers(loading: LoaderWait, *, bare: bool = False) -> str:
    number = loading.fact.workers
    if number == 1:
        return "one worker" if bare else "Its one worker"
    return f"{number} workers" if bare else f"Its {number} workers"


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

    def see(self, record: LoadingTime, state: RunState) -> Iterable[Finding]:
        fact = state.loaders.get(record.loader)
        if fact is None or not fact.workers or fact.persistent or record.passes < self.least_passes:
            return
        if not state.split.is_enough() or record.passes_s <= 0:
            return
        # The first batch must still be made: that takes a worker no longer than its turn in the round.
        starts_s = record.passes * (record.opening_s + record.closing_s)
        batch_s = max(0.0, record.elapsed_s - starts_s) / record.batches if record.batches else record.opening_s / 2
        saved_s = max(0.0, record.opening_s - fact.workers * batch_s) + record.closing_s
        if saved_s >= self.least_s and saved_s * record.passes >= LEAST_GAIN * record.passes_s:
            where, each_s = line_of(fact), record.passes_s / record.passes
            gain = min(1.0, saved_s / each_s)
            yield self.finding(
                severity="note",  # passes over small data are short, and nobody minds
                confidence=0.9,
                message=f"`{name_of(fact)}`{at_line(where)} starts its {fact.workers} workers again for every pass: "
                f"{milliseconds(record.opening_s)} until the first batch is there and "
                f"{milliseconds(record.closing_s)} until they have ended, in each of {record.passes + 1} passes, "
                f"which come every {milliseconds(each_s)}.",
                why="Without persistent_workers the processes that load are made anew by each `for` over the "
                "loader, and ended when it is through. The training waits for both.",
                fix=f"Pass `persistent_workers=True`{at_line(where)}. Each pass should then take about "
                f"{milliseconds(saved_s)} less, {gain:.0%} of the time. (If the dataset itself is changed "
                "between passes, leave it: workers keep their copy.)",
                where=where,
                steps=(1, record.step),
                evidence={
                    "opening_s": record.opening_s,
                    "closing_s": record.closing_s,
                    "pass_s": each_s,
                    "passes": float(record.passes + 1),
                    "expected_gain": gain,
                },
                edit=with_keywords(where, {"persistent_workers": "True"}),
            )
