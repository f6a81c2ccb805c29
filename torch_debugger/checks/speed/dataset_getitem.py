"""What makes one sample slow: a line, a conversion, indexing sample by sample."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass

from torch_debugger.checks.base import RunState, at_line
from torch_debugger.checks.call_edits import called_name, calls_in, over_whole_batches
from torch_debugger.checks.data_loading import (
    LoaderWait,
    LoadingCheck,
    WaitLine,
    code_at,
    cores_in_words,
    lines_to_judge,
    slow_line,
)
from torch_debugger.checks.step_time import milliseconds, severity_of
from torch_debugger.records import Finding, HeldData


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

    def judge(self, loading: LoaderWait, state: RunState) -> Iterable[Finding]:
        line = slow_line(state, loading, self.line_share)
        if line is None:
            return
        gain = line.share * loading.share
        if severity_of(gain) is not None and gain - loading.gain >= self.least_left * gain:
            line_s, left_s = line.share * loading.wait_s, loading.with_workers(loading.best_workers())
            each = f", {milliseconds(line_s / loading.fact.batch_size)} a sample" if loading.fact.batch_size else ""
            yield self.finding(
                severity="note",  # the line may have to be there: a random crop is another one each time
                confidence=0.85,
                message=f"The training waits {loading.waits} for data, {line.share:.0%} of it in "
                f"{code_at(line.place)}: {milliseconds(line_s)} a batch{each}.",
                why=f"{loading.named} makes its batches in the training process, and this line is most of that work. "
                f"Workers alone would not hide it on {cores_in_words(loading.cores)}: a batch would still take "
                f"about {milliseconds(left_s)}, of which training on it takes {milliseconds(loading.rest_s)}.",
                fix=f"Make this line cheaper. If it gives the same result for a sample each time, do it once, "
                "before the training, and keep the results; else look for a faster function, or do it on whole "
                f"batches. Without it a batch would take about {milliseconds(loading.batch_s - line_s)} "
                f"instead of {milliseconds(loading.batch_s)}, {gain:.0%} less.",
                where=line.place,
                steps=(1, loading.time.step),
                evidence={
                    "line_s": line_s,
                    "wait_s": loading.wait_s,
                    "batch_s": loading.batch_s,
                    "line_share_of_wait": line.share,
                    "expected_gain": gain,
                    "gain_of_workers": loading.gain,
                },
            )


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

    def judge(self, loading: LoaderWait, state: RunState) -> Iterable[Finding]:
        # Numbers in Python objects or arrays; a list of paths is none.
        data = {
            each.attribute: each
            for each in loading.fact.holds
            if each.kind != "Tensor" and each.entry not in ("str", "PosixPath", "WindowsPath", "Tensor")
        }
        lines = lines_to_judge(state, loading) or ()
        found = [(line, conversion_in(line.place.code, frozenset(data))) for line in lines]
        dear = sorted(
            (_Converted(line, conversion, data[conversion.attribute]) for line, conversion in found if conversion),
            key=lambda each: -each.line.share,
        )
        share = sum(each.line.share for each in dear)
        indexing_s = (loading.fact.batch_size or 1) * self.index_s * loading.time.stretch
        line_s = share * loading.wait_s
        saved_s = line_s - indexing_s * len(dear)
        gain = saved_s / loading.batch_s
        severity = severity_of(gain)
        if share < self.line_share or severity is None:
            return
        first, others = dear[0], dear[1:]
        kind = "a list" if first.data.kind in ("list", "tuple") else "an array"
        once = " and ".join(f"`{each.name} = [{each.conversion.of_entry} for entry in {each.name}]`" for each in dear)
        instead = " and ".join(f"`{each.name}[...]` instead of `{each.conversion.call}`" for each in dear)
        also = "".join(f" and {code_at(each.line.place)}" for each in others)
        yield self.finding(
            severity=severity,
            confidence=0.9,
            message=f"{code_at(first.line.place)}{also} {'make' if others else 'makes'} a tensor anew whenever a "
            f"sample is asked for: {milliseconds(line_s)} of the {milliseconds(loading.batch_s)} that a batch takes "
            f"({line_s / loading.batch_s:.0%}). `{first.name}` is {kind} of {first.data.length} entries in memory, the "
            "same in every epoch.",
            why="Reading numbers out of Python objects, or copying an array, into a tensor costs far more than "
            "indexing a tensor that is there, and is done again for every sample of every epoch.",
            fix=f"Convert once, at the end of `__init__`: {once}. Here, write "
            f"{instead}. Expected: {milliseconds(saved_s)} less for each batch, {gain:.0%} of the time.",
            where=first.line.place,
            steps=(1, loading.time.step),
            evidence={
                "line_s": line_s,
                "wait_s": loading.wait_s,
                "batch_s": loading.batch_s,
                "attribute": first.data.attribute,
                "entries": float(first.data.length),
                "expected_gain": gain,
            },
        )


@dataclass(frozen=True)
class _Converted:
    line: WaitLine
    conversion: Conversion
    data: HeldData

    @property
    def name(self) -> str:
        return f"self.{self.data.attribute}"


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

    def judge(self, loading: LoaderWait, state: RunState) -> Iterable[Finding]:
        if not self._only_indexes(loading, state):
            return
        batch_bytes = (loading.fact.batch_size or 0) * sum(each.entry_bytes for each in loading.fact.holds)
        copied_s = batch_bytes / self.copied_bytes_s * loading.time.stretch
        saved_s = max(0.0, (1 - self.remains) * loading.computed_s - copied_s)
        severity = severity_of(saved_s / loading.batch_s)
        if severity is not None:
            gain, size = saved_s / loading.batch_s, loading.fact.batch_size
            then_s = loading.batch_s - saved_s
            yield self.finding(
                severity=severity,
                confidence=0.9,
                message=f"The training waits {loading.waits} for data that is in memory: {loading.named} takes {size} "
                f"samples one at a time out of the tensors of `{loading.fact.dataset}` and stacks them again.",
                why="Indexing one sample and stacking it with the others costs some microseconds each, whatever "
                "its size. One index with all the numbers of a batch does the same in a single call.",
                fix="Let the loader ask for whole batches: `DataLoader(data, batch_size=None, "
                f"sampler=BatchSampler(RandomSampler(data), {size}, drop_last=False))`{at_line(loading.where)}; "
                f"the dataset is then indexed with a list of {size} numbers. A batch should take about "
                f"{milliseconds(then_s)} instead of {milliseconds(loading.batch_s)}, {gain:.0%} less.",
                where=loading.where,
                steps=(1, loading.time.step),
                evidence={
                    "wait_s": loading.wait_s,
                    "batch_s": loading.batch_s,
                    "expected_batch_s": then_s,
                    "expected_gain": gain,
                    "batch_size": float(size or 0),
                },
                edit=over_whole_batches(loading.where, loading.fact.shuffle),
            )

    def _only_indexes(self, loading: LoaderWait, state: RunState) -> bool:
        fact = loading.fact
        plain = not fact.workers and not fact.iterable and fact.collates and fact.batch_size is not None
        if not plain or not fact.holds or any(each.kind != "Tensor" for each in fact.holds):
            return False
        lines = lines_to_judge(state, loading)
        if lines is None:
            return False
        return all(_ONLY_INDEXES.fullmatch(line.place.code or "") for line in lines if line.share >= 0.05)


# A line of a dataset that makes a tensor out of an entry of something it holds.
_TENSOR = ("tensor", "as_tensor", "from_numpy", "Tensor", "FloatTensor", "LongTensor", "DoubleTensor")
_ARRAY = ("array", "asarray")


@dataclass(frozen=True)
class Conversion:
    call: str  # torch.tensor(self.rows[index], dtype=torch.float32)
    attribute: str  # rows
    of_entry: str  # torch.tensor(entry, dtype=torch.float32)


def conversion_in(code: str | None, attributes: frozenset[str]) -> Conversion | None:
    """`torch.tensor(self.rows[i])` -> the call and rows; None unless one of these attributes is converted."""
    for node in calls_in(code):
        if called_name(node) not in _TENSOR:
            continue
        for entry in _entries_in(node.args[0]) if node.args else ():
            name = entry.value.attr if isinstance(entry.value, ast.Attribute) else ""
            if name in attributes:
                call = ast.unparse(node)
                return Conversion(call, name, call.replace(ast.unparse(entry), "entry"))
    return None


def _entries_in(argument: ast.expr) -> list[ast.Subscript]:
    """Where the argument is an entry of an attribute of `self`: as it is, as an array, or in a list."""
    match argument:
        case ast.Subscript(value=ast.Attribute(value=ast.Name(id="self"))):
            return [argument]
        case ast.Call(args=[first, *_]) if called_name(argument) in _ARRAY:
            return _entries_in(first)
        case ast.List(elts=[element]) | ast.Tuple(elts=[element]):
            return _entries_in(element)
        case ast.Call(func=ast.Attribute(value=value, attr="astype" | "copy" | "tolist")):
            return _entries_in(value)
    return []
