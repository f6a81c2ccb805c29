"""TD701: num_workers=0, and the training waits for its data."""

from __future__ import annotations

from collections.abc import Iterable

from torch_debugger.checks.deliveries import at
from torch_debugger.checks.gains import milliseconds, severity_of
from torch_debugger.checks.loading import Loading, cores_in_words, with_keywords
from torch_debugger.checks.loading_check import LoadingCheck
from torch_debugger.checks.loading_lines import words_of_line
from torch_debugger.checks.state import RunState
from torch_debugger.checks.traced_loading import WORKERS, TracedLoading
from torch_debugger.records import Finding


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

    def judge(self, loading: Loading, state: RunState) -> Iterable[Finding]:
        severity = severity_of(loading.gain)
        if severity is not None and not loading.fact.workers and not loading.time.on_device:
            yield self._told(loading, severity, state)

    def judge_traced(self, loading: TracedLoading) -> Iterable[Finding]:
        then_s = loading.best_s(WORKERS)
        gain = 1 - then_s / loading.step_s
        severity = severity_of(gain)
        if severity is not None and loading.training.loader_workers is False:
            yield self.finding(
                severity=severity,
                confidence=0.85,
                message=(
                    f"The training waits {loading.waits} for data: its DataLoader has num_workers=0, so the "
                    "training process makes each batch itself."
                ),
                why="Without workers a batch is made while the model stands still.",
                fix=(
                    f"Pass `num_workers={WORKERS}, persistent_workers=True` to the DataLoader. A step should "
                    f"then take about {milliseconds(then_s)} instead of {milliseconds(loading.step_s)} where "
                    f"{WORKERS} cores are free."
                ),
                where=loading.training.loader_at,
                first_step=1,
                last_step=loading.training.steps,
                evidence=loading.evidence(gain),
            )

    def _told(self, loading: Loading, severity: str, state: RunState) -> Finding:
        workers, wait_s = loading.best_workers(), loading.wait_s
        computed_s = loading.computed_s
        then_s = loading.with_workers(workers)
        stream = (
            " Its dataset is a stream, which every worker reads from the beginning: let each deliver a part of "
            "its own (`torch.utils.data.get_worker_info()`), else every sample comes several times."
            if loading.fact.iterable
            else ""
        )
        return self.finding(
            severity=severity,
            confidence=0.9,
            message=(
                f"The training waits {loading.waits} for data: {loading.named} has num_workers=0, so the "
                f"training process makes each batch itself{words_of_line(state, loading)}."
            ),
            why=(f"Without workers a batch is made while the model stands still. {_kind(wait_s, computed_s)}"),
            fix=(
                f"Pass `num_workers={workers}, persistent_workers=True`{at(loading.where)}. A batch should "
                f"then take about {milliseconds(then_s)} instead of {milliseconds(loading.batch_s)}, "
                f"{loading.gain:.0%} less, if nothing else needs {cores_in_words(loading.cores)}.{stream}"
            ),
            where=loading.where,
            first_step=1,
            last_step=loading.time.step,
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


def _kind(wait_s: float, computed_s: float) -> str:
    if computed_s >= 0.8 * wait_s:
        return "Making it is work for the processor, which other cores can do while the model computes."
    return (
        f"Of each wait only {milliseconds(computed_s)} is work for the processor; the rest is waiting for a "
        "disk, a network or the like, which workers can do without a core of their own."
    )
