"""What the records seen so far add up to; shared by all checks, changed by the judge alone."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from torch_debugger.checks.graph_ops import numbers_by_op
from torch_debugger.checks.step_split import StepSplit
from torch_debugger.records import (
    EndFact,
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
    Record,
    RunFact,
    SampledStacks,
    Scalars,
    SchedulerFact,
    SpeedSettings,
    TracedTraining,
)
from torch_debugger.records.hangs import ENDED


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

    def module(self, path: str) -> ModuleFact | None:
        for model in self.models.values():
            for module in model.modules:
                if module.path == path:
                    return module
        return None
