"""TD707: data that is in memory as tensors is indexed sample by sample and put together again."""

from __future__ import annotations

import re
from collections.abc import Iterable

from torch_debugger.checks.deliveries import at
from torch_debugger.checks.gains import milliseconds, severity_of
from torch_debugger.checks.loader_call import over_whole_batches
from torch_debugger.checks.loading import Loading
from torch_debugger.checks.loading_check import LoadingCheck
from torch_debugger.checks.loading_lines import lines_to_judge
from torch_debugger.checks.state import RunState
from torch_debugger.records import Finding

_ONLY_INDEXES = re.compile(r"return \(?self\.\w+\[\w+\](, ?self\.\w+\[\w+\])*\)?")


class BatchesTakenOneSampleAtATime(LoadingCheck):
    """A loader takes tensors apart into samples and stacks them again, slower than indexing whole batches.

    Symptom:
        Loading is a large part of each step although all data is in memory as tensors.
    Evidence:
        The dataset holds tensors alone and only indexes them, torch's own collate function stacks the samples,
        and the training waits for that at least a quarter of the time and 5 ms a batch. The time to copy the
        bytes of a batch is left out: it stays.
    Fix:
        Let the sampler give a whole batch of indices at once: `batch_size=None` and a `BatchSampler` as
        sampler.
    Known limits:
        Datasets of one's own are judged only where `__getitem__` is one line that returns entries of tensors.
    """

    id = "TD707"
    name = "batches-taken-one-sample-at-a-time"
    title = "tensors in memory are taken apart and stacked again"
    explains = ("data-loaded-in-the-training-process", "slow-sample-line")

    # Bytes a second that gathering rows into a batch moves at least (measured: 3 to 5 GB on a slow core).
    copied_bytes_s = 2e9
    # Of the wait: what indexing a batch takes in any case, drawing its indices included.
    remains = 0.15

    def judge(self, loading: Loading, state: RunState) -> Iterable[Finding]:
        if not self._only_indexes(loading, state):
            return
        saved_s = self._saved_s(loading)
        severity = severity_of(saved_s / loading.batch_s)
        if severity is not None:
            yield self._told(loading, saved_s, severity)

    def _only_indexes(self, loading: Loading, state: RunState) -> bool:
        fact = loading.fact
        plain = not fact.workers and not fact.iterable and fact.collates and fact.batch_size is not None
        if not plain or not fact.holds or any(held.kind != "Tensor" for held in fact.holds):
            return False
        lines = lines_to_judge(state, loading)
        if lines is None:
            return False
        return all(_ONLY_INDEXES.fullmatch(line.place.code or "") for line in lines if line.share >= 0.05)

    def _saved_s(self, loading: Loading) -> float:
        batch_bytes = (loading.fact.batch_size or 0) * sum(held.entry_bytes for held in loading.fact.holds)
        copied_s = batch_bytes / self.copied_bytes_s * loading.time.stretch
        return max(0.0, (1 - self.remains) * loading.computed_s - copied_s)

    def _told(self, loading: Loading, saved_s: float, severity: str) -> Finding:
        gain, size = saved_s / loading.batch_s, loading.fact.batch_size
        then_s = loading.batch_s - saved_s
        return self.finding(
            severity=severity,
            confidence=0.9,
            message=(
                f"The training waits {loading.waits} for data that is in memory: {loading.named} takes {size} "
                f"samples one at a time out of the tensors of `{loading.fact.dataset}` and stacks them again."
            ),
            why=(
                "Indexing one sample and stacking it with the others costs some microseconds each, whatever "
                "its size. One index with all the numbers of a batch does the same in a single call."
            ),
            fix=(
                "Let the loader ask for whole batches: `DataLoader(data, batch_size=None, "
                f"sampler=BatchSampler(RandomSampler(data), {size}, drop_last=False))`{at(loading.where)}; the "
                f"dataset is then indexed with a list of {size} numbers. A batch should take about "
                f"{milliseconds(then_s)} instead of {milliseconds(loading.batch_s)}, {gain:.0%} less."
            ),
            where=loading.where,
            first_step=1,
            last_step=loading.time.step,
            evidence={
                "wait_s": loading.wait_s,
                "batch_s": loading.batch_s,
                "expected_batch_s": then_s,
                "expected_gain": gain,
                "batch_size": float(size or 0),
            },
            edit=over_whole_batches(loading.where, loading.fact.shuffle),
        )
