"""What is known of schedulers, of an optimizer's steps, of updates and of gradients, over a run."""

from __future__ import annotations

import abc
import math
import statistics
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import ClassVar

from torch_debugger.checks.base import Check, RunState, at_line
from torch_debugger.records import Finding, Place, SchedulerFact, SchedulerLook, StepCycle, Table, TensorRows


@dataclass
class Schedule:
    """The looks at one scheduler, oldest first."""

    fact: SchedulerFact
    looks: list[SchedulerLook] = field(default_factory=list)

    @property
    def last(self) -> SchedulerLook:
        return self.looks[-1]

    @property
    def name(self) -> str:
        return self.last.name or "scheduler"

    @property
    def per_update(self) -> float:
        """Steps of the scheduler for one of the optimizer."""
        return self.last.count / max(1, self.last.updates)

    @property
    def call(self) -> Place:
        """The line that steps it, if there is one such line."""
        return self.last.calls[0] if len(self.last.calls) == 1 else Place()

    @property
    def total(self) -> float | None:
        """The number of steps after which it is at its end, for the kinds that have one."""
        keys = ("total_steps", "T_max", "total_iters")
        return next((self.fact.settings[key] for key in keys if key in self.fact.settings), None)


class Schedules:
    """All schedulers of a run, by number."""

    def __init__(self) -> None:
        self.known: dict[int, Schedule] = {}

    def see(self, look: SchedulerLook, state: RunState) -> Schedule | None:
        if look.number not in self.known:
            facts = [fact for fact in state.schedulers if fact.number == look.number]
            if not facts:
                return None
            self.known[look.number] = Schedule(facts[-1])
        self.known[look.number].looks.append(look)
        return self.known[look.number]


@dataclass
class Streak:
    """An optimizer's steps in a row, as far as they were looked at, in which the same was wrong."""

    first_step: int
    length: int
    last: StepCycle


class Streaks:
    def __init__(self) -> None:
        self._running: dict[str, Streak] = {}

    def count(self, cycle: StepCycle, wrong: bool) -> int:
        """How many steps in a row are wrong by now; the first good one ends the count."""
        if not wrong:
            self._running.pop(cycle.optimizer, None)
            return 0
        before = self._running.get(cycle.optimizer) or Streak(cycle.step, 0, cycle)
        self._running[cycle.optimizer] = Streak(before.first_step, before.length + 1, cycle)
        return before.length + 1

    def of(self, optimizer: str) -> Streak:
        return self._running[optimizer]

    def longer_than(self, length: int) -> list[Streak]:
        return [streak for streak in self._running.values() if streak.length > length]


class StreakCheck(Check):
    """Judged when enough sampled steps in a row were wrong, and again at the end."""

    reads: ClassVar[tuple[type, ...]] = (StepCycle,)

    sampled_steps: ClassVar[int] = 3

    def __init__(self) -> None:
        self._streaks = Streaks()

    @abc.abstractmethod
    def is_wrong(self, cycle: StepCycle) -> bool: ...

    @abc.abstractmethod
    def judge(self, streak: Streak, state: RunState) -> Finding: ...

    def see(self, record: StepCycle, state: RunState) -> Iterable[Finding]:
        if self._streaks.count(record, self.is_wrong(record)) == self.sampled_steps:
            yield self.judge(self._streaks.of(record.optimizer), state)

    def finish(self, state: RunState) -> Iterable[Finding]:
        return [self.judge(streak, state) for streak in self._streaks.longer_than(self.sampled_steps)]


def call_at(place: Place, otherwise: str) -> str:
    """The statement itself, in backquotes, with its line."""
    return f"`{place.code or otherwise}`{at_line(place)}"


def parentheses(place: Place) -> str:
    return f"`{place.code}`{at_line(place)} names the method without calling it: its parentheses are missing."


# How large updates are beside the weights they change.
_LOOKS = 200  # the start of a run tells its learning rate
# More than this is the first update of a weight that started at zero, or no number at all.
_FROM_ZERO = 1e6


class UpdateSizes:
    """The ratio |update| / |weight| over a run: for every look the median over the weights."""

    def __init__(self) -> None:
        self.ratios: list[float] = []
        self.largest = 0.0

    def see(self, rows: TensorRows) -> None:
        if rows.table.kind != "update" or len(self.ratios) >= _LOOKS:
            return
        column = rows.table.columns.index("ratio")
        # A bias starts at or near zero: its first updates are large beside it in any run.
        weights = [index for index, name in enumerate(rows.table.names) if not name.endswith("bias")]
        ratios = [float(rows.values[index, column]) for index in weights]
        known = [ratio for ratio in ratios if ratio <= _FROM_ZERO]
        if known:
            self.ratios.append(statistics.median(known))
            self.largest = max(self.largest, self.ratios[-1])


# How large the gradient is, layer by layer: read from one table of parameters.
@dataclass
class Profile:
    """The gradient's size per layer, first layer first, at one step."""

    step: int
    names: tuple[str, ...]
    rms: tuple[float, ...]

    @property
    def decay(self) -> float:
        """How many times smaller the first layer's gradient is than the last one's."""
        return self.rms[-1] / self.rms[0] if self.rms[0] > 0 else math.inf


def layer_rows(table: Table, state: RunState, needed: int) -> tuple[int, ...]:
    """One row per layer with a weight matrix or kernel: its bias if enough layers have one."""
    shapes = {one.path: one.shape for one in state.parameters}
    kinds = {one.path: one.kind for one in state.modules}
    rows = {name: index for index, name in enumerate(table.names)}
    # An embedding's gradient is zero for every word not in the batch: another scale.
    weights = [
        name
        for name in rows
        if len(shapes.get(name, ())) >= 2 and not kinds.get(module_of(name), "").startswith("Embedding")
    ]
    biases = [rows[bias] for name in weights if (bias := f"{module_of(name)}.bias") in rows]
    # A bias in front of a batch norm has no gradient to speak of.
    normed = any(kind.startswith(("BatchNorm", "InstanceNorm")) for kind in kinds.values())
    return tuple(biases) if len(biases) >= needed and not normed else tuple(rows[name] for name in weights)


def relative_spread(rows: TensorRows, state: RunState) -> float:
    """The median over weight matrices of rms * sqrt(fan-in) = norm / sqrt(fan-out): near 1 is Xavier's
    choice, 0.58 the default of nn.Linear. NaN where no shape is known."""
    norms = rows.by_name("weight_norm")
    spreads = [
        norms[one.path] / math.sqrt(one.shape[0])
        for one in state.parameters
        if len(one.shape) >= 2 and one.shape[0] and one.path in norms
    ]
    return statistics.median(spreads) if spreads else math.nan


def module_of(parameter: str) -> str:
    return parameter.rpartition(".")[0]


def read_profile(rows: TensorRows, layers: tuple[int, ...]) -> Profile:
    columns = rows.table.columns
    norm, elements = columns.index("grad_norm"), columns.index("elements")
    known: list[tuple[str, float]] = []
    for index in layers:
        value, count = float(rows.values[index, norm]), float(rows.values[index, elements])
        if math.isfinite(value) and count > 0:
            known.append((rows.table.names[index], value / math.sqrt(count)))
    return Profile(rows.step, tuple(name for name, _ in known), tuple(rms for _, rms in known))
