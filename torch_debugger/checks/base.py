"""What a check is: one class, records in, findings out.

A check is pure: no torch, no clock, no files. Its docstring has the headings Symptom, Evidence,
Fix and Known limits; `torch-debugger explain NAME` prints exactly that text.
"""

from __future__ import annotations

import abc
import functools
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from torch_debugger.records import (
    AutogradNode,
    Edit,
    EndFact,
    Finding,
    HangFact,
    HangOver,
    LedgerFact,
    LoaderFact,
    LoadingLines,
    LoadingTime,
    LossGraph,
    LossSite,
    ModelFact,
    ModuleFact,
    OptimizerFact,
    ParameterFact,
    Place,
    Record,
    Request,
    RunFact,
    SampledStacks,
    Scalars,
    SchedulerFact,
    SpeedSettings,
    TracedTraining,
)
from torch_debugger.records.ranks import ENDED


class Check(abc.ABC):
    """One entry of the catalog; one object of it judges one run."""

    id: ClassVar[str]  # TD + family digit + two digits; never reused
    name: ClassVar[str]  # kebab-case, names the fault
    title: ClassVar[str]  # the fault in a few words, for lists
    status: ClassVar[str] = "stable"  # preview -> stable -> retired
    reads: ClassVar[tuple[type, ...]]
    last_resort: ClassVar[bool] = False  # asked only about records of which no other check had anything to say
    explains: ClassVar[tuple[str, ...]] = ()  # names of checks whose findings this one causes

    @abc.abstractmethod
    def see(self, record: Any, state: RunState) -> Iterable[Finding] | None:
        """Judge one record of a class named in `reads`. `state` already includes it."""

    def finish(self, state: RunState) -> Iterable[Finding]:
        """Judge what only the end of the run can tell."""
        return ()

    def finding(
        self,
        *,
        severity: str,
        confidence: float,
        message: str,
        why: str,
        fix: str,
        where: Place,
        steps: tuple[int, int],  # the first and the last that show it
        evidence: dict[str, float | str],
        edit: Edit | None = None,
        request: Request | None = None,
    ) -> Finding:
        return Finding(
            check=self.id,
            name=self.name,
            severity=severity,
            confidence=confidence,
            message=message,
            why=why,
            fix=fix,
            where=where,
            first_step=steps[0],
            last_step=steps[1],
            evidence=evidence,
            status=self.status,
            edit=edit,
            request=request,
        )


def at_line(place: Place) -> str:
    """` at train.py:31`, or nothing where the line is not known."""
    return f" at {place.file}:{place.line}" if place.file else ""


def within(place: Place, module: str | None) -> Place:
    """The same line, under the name of a module."""
    return Place(place.file, place.line, module, place.code)


# What the steps of a run spent their time on, as far as it is known; summed up for checks of speed.
_BEFORE, _AFTER = "split/", "_s"
OWN = "torch_debugger"


@dataclass
class StepSplit:
    """Seconds by part: data_wait, copy, forward, backward, optimizer, evaluation, logging, other. What watching
    took is left out: it is no time of the user's."""

    seconds: dict[str, float] = field(default_factory=dict)
    steps: int = 0
    last_step: int = 0
    settled: bool = False  # the steps of a trace: the profiler's schedule has left out the first ones
    queued_s: float = 0.0  # since the thread began, in line for a core that others used

    def add(self, step: int, scalars: Mapping[str, float]) -> None:
        """A record of the split holds the mean over the steps since the last one."""
        parts = {tag[len(_BEFORE) : -len(_AFTER)]: value for tag, value in scalars.items() if tag.startswith(_BEFORE)}
        if not parts:
            return
        self.queued_s = scalars.get("time/queued_s", self.queued_s)
        since = max(1, step - self.last_step) if self.last_step else 1
        self.steps, self.last_step = self.steps + since, step
        for part, seconds in parts.items():
            if part != OWN:
                self.seconds[part] = self.seconds.get(part, 0.0) + seconds * since

    @property
    def total_s(self) -> float:
        return sum(self.seconds.values())

    def share(self, *parts: str) -> float:
        """Of all the time that is known."""
        total_s = self.total_s
        return sum(self.seconds.get(part, 0.0) for part in parts) / total_s if total_s > 0 else 0.0

    def per_step_s(self, *parts: str) -> float:
        return sum(self.seconds.get(part, 0.0) for part in parts) / self.steps if self.steps else 0.0

    def is_enough(self, least_s: float = 1.5, least_steps: int = 10) -> bool:
        """To judge speed by: the first steps, and short runs, are slow for reasons of their own."""
        enough = self.total_s >= least_s and self.steps >= least_steps
        return enough or (self.settled and self.steps > 1)


# What the records seen so far add up to; shared by all checks, changed by the judge alone.
@dataclass
class LossCurve:
    """The losses of one run, oldest first, as (step, value); bounded by thinning."""

    points: list[tuple[int, float]] = field(default_factory=list)
    limit: int = 4096

    def add(self, step: int, value: float) -> None:
        self.points.append((step, value))
        if len(self.points) > self.limit:
            # Keep the first steps and the recent past whole; thin what lies between.
            head, tail = self.points[:256], self.points[-1024:]
            self.points = head + self.points[256:-1024:2] + tail

    def finite(self) -> list[tuple[int, float]]:
        return [point for point in self.points if math.isfinite(point[1])]


@dataclass
class RunState:
    """The facts a check may ask for without reading them itself."""

    run: RunFact | None = None
    models: dict[str, ModelFact] = field(default_factory=dict)
    optimizers: dict[str, OptimizerFact] = field(default_factory=dict)
    schedulers: list[SchedulerFact] = field(default_factory=list)
    ledgers: dict[str, LedgerFact] = field(default_factory=dict)
    loaders: dict[int, LoaderFact] = field(default_factory=dict)
    loading: dict[int, LoadingTime] = field(default_factory=dict)  # by loader; the last holds
    loading_lines: dict[int, LoadingLines] = field(default_factory=dict)
    losses: LossCurve = field(default_factory=LossCurve)
    sites: dict[str, LossSite] = field(default_factory=dict)
    split: StepSplit = field(default_factory=StepSplit)
    sampled: dict[str, SampledStacks] = field(default_factory=dict)  # by whose they are; the last holds
    speed: SpeedSettings | None = None
    hang: HangFact | None = None  # the last, where it did not go on
    step: int = 0
    end: EndFact | None = None

    def see(self, record: Record) -> None:
        match record:
            case Scalars():
                self._see_scalars(record)
            case LedgerFact():
                self.ledgers[record.root] = record
            case ModelFact():
                self.models[record.root] = record
            case OptimizerFact():
                self.optimizers[record.name] = record
            case SchedulerFact():
                self.schedulers.append(record)
            case LoaderFact():
                self.loaders[record.number] = record
            case LoadingTime():
                self.loading[record.loader] = record
            case LoadingLines():
                self.loading_lines[record.loader] = record
            case LossSite():
                self.sites[record.name] = record
            case RunFact():
                self.run = record
            case SampledStacks():
                self.sampled[record.who] = record
            case SpeedSettings():
                self.speed = record
            case TracedTraining():
                self.split = StepSplit(dict(record.seconds), record.steps, record.steps, settled=True)
                self.step = record.steps
            case LossGraph():
                numbers_by_op(record)  # known by the time that checks ask
            case HangFact():
                self.hang = record
            case HangOver():
                self.hang = None
            case EndFact():
                self.end = record
                if self.hang is not None and self.hang.kind != ENDED and record.outcome == "finished":
                    self.hang = None
            case _:
                pass

    def _see_scalars(self, record: Scalars) -> None:
        self.step = max(self.step, record.step)
        self.split.add(record.step, record.values)
        if "loss" in record.values:
            self.losses.add(record.step, record.values["loss"])

    @property
    def modules(self) -> list[ModuleFact]:
        """Of all models, in their order of definition."""
        return [module for model in self.models.values() for module in model.modules]

    @property
    def parameters(self) -> list[ParameterFact]:
        return [parameter for model in self.models.values() for parameter in model.parameters]

    def module(self, path: str) -> ModuleFact | None:
        return next((module for module in self.modules if module.path == path), None)

    def place_of(self, path: str) -> Place:
        """The line that makes a module, under the module's name."""
        module = self.module(path)
        return within(module.place if module else Place(), path)

    @property
    def loss_place(self) -> Place:
        """The first line that calls backward()."""
        return next((site.place for site in self.sites.values()), Place())


# The nodes of a recorded autograd graph by what they do: found once for all checks that ask.
_latest: list[tuple[LossGraph, Mapping[str, list[int]]]] = []  # one at most; a dozen checks ask in turn


def op_of(node: AutogradNode) -> str:
    """Autograd numbers the variants of an op (SumBackward0, SumBackward1); they are one op here."""
    return _without_number(node.op)


@functools.lru_cache(maxsize=1024)
def _without_number(op: str) -> str:
    return op.split("Backward", 1)[0]


def numbers_by_op(graph: LossGraph) -> Mapping[str, list[int]]:
    """Each op with the numbers of its nodes, in their order."""
    if not _latest or _latest[0][0] is not graph:
        found: dict[str, list[int]] = {}
        for number, node in enumerate(graph.nodes):
            found.setdefault(_without_number(node.op), []).append(number)
        _latest[:] = [(graph, found)]
    return _latest[0][1]


def nodes_with(graph: LossGraph, ops: Iterable[str]) -> list[AutogradNode]:
    """The nodes of these ops, in the order of the graph."""
    known = numbers_by_op(graph)
    return [graph.nodes[number] for number in sorted([each for op in ops for each in known.get(op, ())])]
