"""Steps that take longer and longer, and containers that grow."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

from torch_debugger.checks.base import Check, RunState
from torch_debugger.checks.step_time import LEAST_SAMPLES, hot_lines, milliseconds, severity_of
from torch_debugger.checks.trends import quarters, steadiness
from torch_debugger.records import (
    BatchFact,
    Finding,
    HeldByVariable,
    KeptGraphs,
    MemoryLook,
    PassFact,
    Place,
    ProfileFact,
    RankFact,
    Record,
    Request,
    RootInput,
    SampledStacks,
    Scalars,
    TargetLook,
)
from torch_debugger.records.performance import AFTER_UPDATE
from torch_debugger.records.units import bytes_text

_WORDS = {
    "data_wait": "the wait for the next batch",
    "copy": "copying the batch",
    "forward": "the forward pass and the loss",
    "backward": "the backward pass",
    "optimizer": "the update",
    "logging": "what comes between the update and the next batch",
    "other": "what stands between the parts of the step",
}
_REMEDIES = {  # why, and what to do about {}
    "backward": (
        "The backward pass goes through everything that the loss was made of. If a tensor of an earlier "
        "step is part of it, that step's graph is gone through again, and so are all before it.",
        "Look at what reaches {} from earlier steps and cut it off: `state = state.detach()` for a "
        "state that is carried on, `.item()` for sums; `retain_graph=True` is not needed then. Where a "
        "tensor grows, keep its last entries only: `bank = bank[-4096:]`.",
    ),
    "other": (
        "The model and its inputs are no larger than at the start, so the line works through something that "
        "every step adds to: a list, a bank or a tensor of all earlier batches.",
        "Bound what {} works through: count up instead of keeping everything (`total += value`), or keep "
        "the last entries only (`history = history[-1000:]`, `collections.deque(maxlen=1000)`).",
    ),
}
_WITH_COLLECTIVES = ("forward", "backward", "optimizer")


@dataclass(frozen=True)
class _Progress:
    """How far the run was: steps, seconds by part, and of those in line for a core."""

    steps: int
    seconds: Mapping[str, float]
    queued_s: float = 0.0

    def pace(self, since: _Progress) -> float:
        """Seconds of a step between the two: without evaluations, and as if the machine did nothing else."""
        whole_s = sum(self.pace_of(part, since) for part in self.seconds if part != "evaluation")
        return max(0.0, whole_s - (self.queued_s - since.queued_s) / max(1, self.steps - since.steps))

    def pace_of(self, part: str, since: _Progress) -> float:
        spent_s = self.seconds.get(part, 0.0) - since.seconds.get(part, 0.0)
        return spent_s / max(1, self.steps - since.steps)


class StepsGetSlower(Check):
    """Steps take longer and longer, though each is given as much as the first one.

    Symptom:
        The first epoch takes a minute, the tenth five. Started anew, the training is quick again.
    Evidence:
        The time of a step, without evaluations and without waiting for a core that other programs use, in four
        quarters of the run: the last is slower than the first by half or more, and it rose steadily in between,
        while batches and inputs keep their sizes and another part of the step stays as it is. The part of the
        step and, from sampled stacks, the line whose time grew most.
    Fix:
        Something that the line works through gets longer with every step: a list or a bank of earlier batches,
        a graph that reaches back into earlier steps. Keep a running value, the last entries only, or detach it.
    Known limits:
        Where the sizes of batches and inputs change, nothing is said, nor where all parts of a step slow down
        alike: then it is the machine (heat, other jobs). Of several ranks, forward, backward and update wait
        for the slowest, and are not judged.
    """

    id = "TD743"
    name = "steps-get-slower"
    title = "every step takes longer than the one before"
    reads = (Scalars, BatchFact, RootInput, TargetLook, SampledStacks, ProfileFact, RankFact)

    marks = 16  # of a run, about equally long: enough for four medians of four
    least_s = 2.0  # of all steps together
    least_rise = 1.5  # of the last quarter over the first
    # Kendall's tau: 0.5 where a machine that others begin to use jumps once, in the middle, and stays there.
    steady = 0.65
    least_slower_s = 0.001  # of a step
    explained = 0.6  # of the rise, by one part of the step
    least_share = 0.03  # of a step: a part by which others are measured
    profiled_steps = 5

    def __init__(self) -> None:
        self._marks: list[_Progress] = [_Progress(0, {})]
        self._sizes: dict[str, tuple[int, ...]] = {}
        self._sizes_change = False
        self._sized_at = 0  # the last step of which sizes are known
        self._stacks: list[SampledStacks] = []  # the last two that were told
        self._profiled = Place()
        self._line = Place()  # that was told: it stays the one
        self._asked = False
        self._awaits_ranks = False

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        if isinstance(record, BatchFact):
            self._keep_size(record.name, record.shape, record.step)
        elif isinstance(record, RootInput):
            self._keep_size(f"{record.root} {record.call.line} {record.trained}", record.shape, record.step)
        elif isinstance(record, TargetLook):
            self._keep_size(record.site, record.shape, record.step)
        elif isinstance(record, SampledStacks):
            self._stacks = [*self._stacks, record][-2:] if record.who == "training" else self._stacks
        elif isinstance(record, ProfileFact):
            dearest = max(record.lines, key=lambda line: line.host_s + line.backward_s, default=None)
            self._profiled = dearest.place if dearest is not None else Place()
        elif isinstance(record, RankFact):
            self._awaits_ranks = record.world_size > 1
        elif self._mark(state):
            yield from self._judge(state, ends=False)

    def finish(self, state: RunState) -> Iterable[Finding]:
        return self._judge(state, ends=True)

    def _keep_size(self, name: str, shape: tuple[int, ...], step: int) -> None:
        """The last batch of a pass may be smaller; a batch that is larger than the first one is not."""
        first = self._sizes.setdefault(name, shape)
        larger = len(first) != len(shape) or any(new > old for new, old in zip(shape, first, strict=True))
        self._sizes_change = self._sizes_change or larger
        self._sized_at = max(self._sized_at, step)

    def _mark(self, state: RunState) -> bool:
        """One more, once the run has become longer by its share; when there are too many, every second goes."""
        split, last = state.split, self._marks[-1]
        between_s = max(self.least_s, sum(self._marks[-1].seconds.values())) / self.marks
        if split.total_s - sum(last.seconds.values()) < between_s or split.steps == last.steps:
            return False
        self._marks.append(_Progress(split.steps, dict(split.seconds), split.queued_s))
        if len(self._marks) > 2 * self.marks:
            self._marks = self._marks[::2]
        return len(self._marks) > self.marks

    def _judge(self, state: RunState, ends: bool) -> Iterable[Finding]:
        marks = self._marks[1:]  # what came before the first one were the slow first steps
        is_long = len(marks) > self.marks // 2 and state.split.total_s >= self.least_s
        # What grows steadily has grown by the end of the first quarter.
        if self._sizes_change or 4 * self._sized_at < state.step or not is_long:
            return
        paces = [later.pace(earlier) for earlier, later in pairwise(marks)]
        medians = quarters(paces)
        part = self._grown_part(marks) if self._rises(paces) else None
        if part is None or medians[-1] - medians[0] < self.least_slower_s:
            return
        self._line = self._line or self._grown_line()
        if self._line or ends:
            line = self._line
            why, fix = _REMEDIES.get(part, _REMEDIES["other"])
            request = None if self._asked else Request(self.profiled_steps, reason=self.name, profile=True)
            self._asked = True
            at = f", most of all at `{line.code}`" if line.code else ""
            first, last = medians[0], medians[-1]
            yield self.finding(
                severity="warning",
                confidence=0.85 if line.line else 0.6,
                message=f"Steps take longer and longer: {milliseconds(first)} at the start, {milliseconds(last)} at "
                f"step {state.step}, with inputs of the same sizes. What grows is {_WORDS[part]}{at}.",
                why=why,
                fix=fix.format(f"`{line.code}`" if line.code else "that part of the step"),
                where=line,
                steps=(max(1, marks[0].steps), state.step),
                evidence={
                    "expected_gain": 1.0 - first / last,
                    "first_quarter_s": first,
                    "last_quarter_s": last,
                    "rise": last / first,
                },
                request=request,
            )

    def _rises(self, values: list[float]) -> bool:
        """A first quarter in which all the time went by in line for a core says nothing."""
        first, *_, last = quarters(values)
        return last >= self.least_rise * first > 0 and steadiness(values) >= self.steady

    def _grown_part(self, marks: list[_Progress]) -> str | None:
        """The part of the step whose time grew most, if it is most of what grew, and grew against another part
        as well: where all of them do, the machine has got slower."""
        quarter = max(1, len(marks) // 4)
        early = {part: marks[quarter].pace_of(part, marks[0]) for part in _WORDS}
        late = {part: marks[-1].pace_of(part, marks[-1 - quarter]) for part in _WORDS}
        part = max(_WORDS, key=lambda each: late[each] - early[each])
        whole_s = sum(max(0.0, late[each] - early[each]) for each in _WORDS)
        others = [each for each in _WORDS if each != part and early[each] >= self.least_share * sum(early.values())]
        if self._awaits_ranks and part in _WITH_COLLECTIVES:
            return None
        if not others or late[part] - early[part] < self.explained * whole_s:
            return None
        steady = min(others, key=lambda each: late[each] / early[each])
        ratios = [
            later.pace_of(part, earlier) / max(later.pace_of(steady, earlier), 1e-9)
            for earlier, later in pairwise(marks)
        ]
        return part if self._rises(ratios) else None

    def _grown_line(self) -> Place:
        """By samples of the later half of the run against those of the first half, for each step."""
        if len(self._stacks) < 2 or self._stacks[0].samples < LEAST_SAMPLES:
            return self._profiled
        earlier, later = self._stacks
        before = {(line.place.file, line.place.line): line.samples for line in hot_lines(earlier)}
        grown: list[tuple[float, Place]] = []
        for line in hot_lines(later):
            old = before.get((line.place.file, line.place.line), 0)
            new = (line.samples - old) / max(1, later.step - earlier.step)
            grown.append((new - old / max(1, earlier.step), line.place))
        return max(grown, key=lambda each: each[0], default=(0.0, self._profiled))[1]


@dataclass(frozen=True)
class _Seen:
    look: MemoryLook
    container: HeldByVariable
    passes: int  # that had ended before its step


@dataclass
class _GrowingContainer:
    seen: list[_Seen] = field(default_factory=list)  # the first ones, and the last
    reported: bool = False


class TensorsPileUp(Check):
    """A container gets more tensors with every step, over several passes through the data.

    Symptom:
        Memory grows steadily though no autograd graph is kept; the run slows down or ends in "out of memory"
        after many epochs.
    Evidence:
        On each of several looks the container had grown and its first tensor was still the same. Training
        passes over the data ended in between, so it is not the list of one epoch. Its bytes are those of its
        tensors, each storage counted once, as a share of what was in use at the fullest look.
    Fix:
        Empty it when an epoch is over (`features.clear()`), or keep what you compute of the tensors instead of
        the tensors; on a GPU, append `.cpu()` of them at least.
    Known limits:
        Of long containers a few entries are measured. A loop that uses no DataLoader has no passes and is not
        judged, nor is a deque with a `maxlen`. What keeps graphs is told by memory-grows.
    """

    id = "TD760"
    name = "tensors-pile-up"
    title = "a container gets more tensors with every step and is never emptied"
    reads = (MemoryLook, PassFact, KeptGraphs)
    explains = ("out-of-memory", "steps-get-slower")

    looks_needed = 4
    # The outputs of one epoch may be collected for its metrics; what outlives two is not emptied by any.
    passes_outlived = 2
    # Entries that came in for each step between two looks; some loops add on every second step, none less.
    smallest_growth = 0.25
    # Less than this is missed by no machine that trains.
    least_bytes = 32 * 2**20

    def __init__(self) -> None:
        self._variables: dict[tuple[str, str], _GrowingContainer] = {}
        self._passes, self._last_pass = 0, -1  # training passes that have ended; the step of the last one
        self._keeps_graphs: set[str] = set()
        self._most: dict[str, int] = {}  # bytes in use, by device, at the fullest look

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        if isinstance(record, KeptGraphs):
            self._keeps_graphs.add(record.name)
        elif isinstance(record, PassFact):
            self._passes += bool(record.updates)
            self._last_pass = record.step if record.updates else self._last_pass
        elif isinstance(record, MemoryLook):
            self._most[record.device] = max(record.used_bytes, self._most.get(record.device, 0))
            if record.moment == AFTER_UPDATE:
                for container in record.variables:
                    yield from self._follow(record, container)

    def finish(self, state: RunState) -> Iterable[Finding]:
        for variable in self._variables.values():
            if variable.reported and self._is_certain(variable.seen):
                yield from self._judge(variable.seen)

    def _follow(self, look: MemoryLook, container: HeldByVariable) -> Iterable[Finding]:
        variable = self._variables.setdefault((look.device, container.name), _GrowingContainer())
        now = _Seen(look, container, self._passes - (self._last_pass >= look.step))
        if variable.seen and not self._follows(variable.seen[-1], now):
            variable.seen = []
        variable.seen = [*variable.seen[: self.looks_needed], now]
        if not variable.reported and self._is_certain(variable.seen):
            found = list(self._judge(variable.seen))
            variable.reported = bool(found)
            yield from found

    def _follows(self, before: _Seen, now: _Seen) -> bool:
        came = now.container.count - before.container.count
        steps = now.look.step - before.look.step
        return now.container.since == before.container.since and came > 0 and came >= self.smallest_growth * steps

    def _is_certain(self, seen: list[_Seen]) -> bool:
        last = seen[-1]
        return (
            last.container.grown
            and last.container.name not in self._keeps_graphs
            and last.container.size_bytes >= self.least_bytes
            and len(seen) >= self.looks_needed
            and last.passes - seen[0].passes >= self.passes_outlived
        )

    def _judge(self, seen: list[_Seen]) -> Iterable[Finding]:
        first, last = seen[0], seen[-1]
        container, used = last.container, self._most[last.look.device]
        share = container.size_bytes / used
        severity = severity_of(share)
        if severity is None:
            return
        steps = last.look.step - first.look.step
        a_step = (container.size_bytes - first.container.size_bytes) / steps
        passes = last.passes - first.passes
        device, to_host = "the CPU", ""
        if last.look.device != "cpu":
            device = last.look.device
            to_host = (
                f" If all of it is needed, add `{container.added or 'x'}.cpu()`: the memory of the GPU stays free."
            )
        yield self.finding(
            severity=severity,
            confidence=0.9,
            message=f"`{container.name}` holds {container.count:,} tensors of {bytes_text(container.size_bytes)} on "
            f"{device}, {100 * share:.0f} % of all that is in use, and gets {bytes_text(int(a_step))} more with every "
            f"step: {passes} passes over the data have ended and none of it was let go.",
            why="A tensor stays in memory as long as any container holds it. What one step adds is small; "
            "after enough steps it is all the memory there is.",
            fix=f"Empty it when an epoch is over, `{container.name}.clear()`, or keep what you compute of the tensors "
            f"instead of them: that frees {bytes_text(container.size_bytes)} now and "
            f"{bytes_text(int(1000 * a_step))} with every 1,000 steps to come.{to_host}",
            where=container.place,
            steps=(container.since, last.look.step),
            evidence={
                "variable": container.name,
                "bytes": float(container.size_bytes),
                "bytes_in_use": float(used),
                "bytes_per_step": float(round(a_step)),
                "tensors": float(container.count),
                "passes_outlived": float(passes),
                "expected_gain": round(share, 3),
            },
        )
