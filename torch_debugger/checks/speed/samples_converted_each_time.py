"""TD706: a dataset makes a tensor out of lists or arrays again whenever a sample is asked for."""

from __future__ import annotations

from collections.abc import Iterable

from torch_debugger.checks.base import Check
from torch_debugger.checks.conversion_line import Conversion, conversion_in
from torch_debugger.checks.gains import milliseconds, severity_of
from torch_debugger.checks.loading import Loading, waited_for
from torch_debugger.checks.loading_lines import WaitLine, lines_to_judge, told
from torch_debugger.checks.state import RunState
from torch_debugger.records import Finding, HeldData, LoadingTime, Record


class SamplesConvertedEachTime(Check):
    """A dataset keeps its samples as lists or arrays and converts one into a tensor at every access.

    Symptom:
        Loading is slow although all data is in memory.
    Evidence:
        A line such as `torch.tensor(self.rows[index])` takes at least 30 % of the time waited for data (sampled
        stacks of the training thread), and the dataset holds `rows` as a list or an array with an entry for
        each sample.
    Fix:
        Convert once, in `__init__`, and index the tensors.
    Known limits:
        The entry must be taken and converted in one line. Where workers load, lines are not sampled.
    """

    id = "TD706"
    name = "samples-converted-each-time"
    title = "samples are made into tensors at every access"
    reads = (LoadingTime,)
    explains = ("data-loaded-in-the-training-process", "slow-sample-line")

    least_share = 0.1  # of the time
    least_wait_s = 0.005
    line_share = 0.3  # of the wait
    # What indexing a tensor, or a list of them, takes instead (measured: 1 to 3 us).
    index_s = 3e-6

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        loading = waited_for(state, self.least_share, self.least_wait_s)
        if loading is None:
            return
        held = {each.attribute: each for each in loading.fact.holds if _is_data(each)}
        for line in lines_to_judge(state, loading) or ():
            conversion = conversion_in(line.place.code, frozenset(held))
            if conversion is None or line.share < self.line_share:
                continue
            saved_s = line.share * loading.wait_s - self._indexing_s(loading)
            severity = severity_of(saved_s / loading.batch_s)
            if severity is not None:
                yield self._judge(loading, line, conversion, held[conversion.attribute], saved_s, severity)

    def _indexing_s(self, loading: Loading) -> float:
        return (loading.fact.batch_size or 1) * self.index_s * loading.time.stretch

    def _judge(
        self,
        loading: Loading,
        line: WaitLine,
        conversion: Conversion,
        held: HeldData,
        saved_s: float,
        severity: str,
    ) -> Finding:
        line_s, gain = line.share * loading.wait_s, saved_s / loading.batch_s
        name = f"self.{held.attribute}"
        what = f"a list of {held.length}" if held.kind in ("list", "tuple") else f"an array of {held.length}"
        once = (
            f"{name} = [torch.tensor(entry) for entry in {name}]"
            if held.kind in ("list", "tuple")
            else f"{name} = torch.from_numpy({name})"
        )
        return self.finding(
            severity=severity,
            confidence=0.9,
            message=(
                f"{told(line.place)} makes a tensor anew whenever a sample is asked for: "
                f"{milliseconds(line_s)} of the {milliseconds(loading.batch_s)} that a batch takes "
                f"({line_s / loading.batch_s:.0%}). `{name}` is {what} entries in memory, the same in every "
                "epoch."
            ),
            why=(
                "Reading numbers out of Python objects, or copying an array, into a tensor costs far more than "
                "indexing a tensor that is there, and is done again for every sample of every epoch."
            ),
            fix=(
                f"Convert once, at the end of `__init__`: `{once}` (with the dtype that this line gives), and "
                f"write `{name}[...]` here instead of `{conversion.call}`. Expected: {milliseconds(saved_s)} "
                f"less for each batch, {gain:.0%} of the time."
            ),
            where=line.place,
            first_step=1,
            last_step=loading.time.step,
            evidence={
                "line_s": line_s,
                "wait_s": loading.wait_s,
                "batch_s": loading.batch_s,
                "attribute": held.attribute,
                "entries": float(held.length),
                "expected_gain": gain,
            },
        )


def _is_data(held: HeldData) -> bool:
    """Numbers in Python objects or arrays; a list of paths is none."""
    return held.kind != "Tensor" and held.entry not in ("str", "PosixPath", "WindowsPath", "Tensor")
