"""TD706: a dataset makes a tensor out of lists or arrays again whenever a sample is asked for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from torch_debugger.checks.conversion_line import Conversion, conversion_in
from torch_debugger.checks.gains import milliseconds, severity_of
from torch_debugger.checks.loading import Loading
from torch_debugger.checks.loading_check import LoadingCheck
from torch_debugger.checks.loading_lines import WaitLine, lines_to_judge, told
from torch_debugger.checks.state import RunState
from torch_debugger.records import Finding, HeldData


class SamplesConvertedEachTime(LoadingCheck):
    """A dataset keeps its samples as lists or arrays and converts one into a tensor at every access.

    Symptom:
        Loading is slow although all data is in memory.
    Evidence:
        A line such as `torch.tensor(self.rows[index])` takes at least 30 % of the time waited for data (some
        batches are timed line by line), and the dataset holds `rows` as a list or an array with an entry for
        each sample.
    Fix:
        Convert once, in `__init__`, and index the tensors.
    Known limits:
        An entry must be taken and converted in one line. Where workers load, lines are not timed.
    """

    id = "TD706"
    name = "samples-converted-each-time"
    title = "samples are made into tensors at every access"
    explains = ("data-loaded-in-the-training-process", "slow-sample-line")

    least_share = 0.1  # of the time: the edit is worth it before workers are
    line_share = 0.3  # of the wait
    # What indexing a tensor, or a list of them, takes instead (measured: 1 to 3 us).
    index_s = 3e-6

    def judge(self, loading: Loading, state: RunState) -> Iterable[Finding]:
        held = {each.attribute: each for each in loading.fact.holds if _is_data(each)}
        lines = lines_to_judge(state, loading) or ()
        found = [(line, conversion_in(line.place.code, frozenset(held))) for line in lines]
        dear = sorted(
            (
                _Converted(line, conversion, held[conversion.attribute])
                for line, conversion in found
                if conversion
            ),
            key=lambda each: -each.line.share,
        )
        share = sum(each.line.share for each in dear)
        saved_s = share * loading.wait_s - self._indexing_s(loading) * len(dear)
        severity = severity_of(saved_s / loading.batch_s)
        if share >= self.line_share and severity is not None:
            yield self._told(loading, dear, saved_s, severity)

    def _indexing_s(self, loading: Loading) -> float:
        return (loading.fact.batch_size or 1) * self.index_s * loading.time.stretch

    def _told(self, loading: Loading, dear: list[_Converted], saved_s: float, severity: str) -> Finding:
        first, others = dear[0], dear[1:]
        line_s = sum(each.line.share for each in dear) * loading.wait_s
        gain = saved_s / loading.batch_s
        also = "".join(f" and {told(each.line.place)}" for each in others)
        return self.finding(
            severity=severity,
            confidence=0.9,
            message=(
                f"{told(first.line.place)}{also} {'make' if others else 'makes'} a tensor anew whenever a "
                f"sample is asked for: {milliseconds(line_s)} of the {milliseconds(loading.batch_s)} that a "
                f"batch takes ({line_s / loading.batch_s:.0%}). {first.what}, the same in every epoch."
            ),
            why=(
                "Reading numbers out of Python objects, or copying an array, into a tensor costs far more than "
                "indexing a tensor that is there, and is done again for every sample of every epoch."
            ),
            fix=(
                f"Convert once, at the end of `__init__`: {' and '.join(each.once for each in dear)}. Here, "
                f"write {_instead(dear)}. Expected: {milliseconds(saved_s)} less for each batch, {gain:.0%} of "
                "the time."
            ),
            where=first.line.place,
            first_step=1,
            last_step=loading.time.step,
            evidence={
                "line_s": line_s,
                "wait_s": loading.wait_s,
                "batch_s": loading.batch_s,
                "attribute": first.held.attribute,
                "entries": float(first.held.length),
                "expected_gain": gain,
            },
        )


@dataclass(frozen=True)
class _Converted:
    line: WaitLine
    conversion: Conversion
    held: HeldData

    @property
    def name(self) -> str:
        return f"self.{self.held.attribute}"

    @property
    def what(self) -> str:
        kind = "a list" if self.held.kind in ("list", "tuple") else "an array"
        return f"`{self.name}` is {kind} of {self.held.length} entries in memory"

    @property
    def once(self) -> str:
        return f"`{self.name} = [{self.conversion.of_entry} for entry in {self.name}]`"


def _instead(dear: list[_Converted]) -> str:
    return " and ".join(f"`{each.name}[...]` instead of `{each.conversion.call}`" for each in dear)


def _is_data(held: HeldData) -> bool:
    """Numbers in Python objects or arrays; a list of paths is none."""
    return held.kind != "Tensor" and held.entry not in ("str", "PosixPath", "WindowsPath", "Tensor")
