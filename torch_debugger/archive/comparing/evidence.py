"""The records of one run, sorted by what they are compared with."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import TypeVar, cast

from torch_debugger.archive.run import Run
from torch_debugger.records import (
    BatchFact,
    BatchLook,
    ClipFact,
    EndFact,
    Finding,
    HparamsFact,
    InputLook,
    LoaderFact,
    LossGraph,
    ModelFact,
    OptimizerFact,
    PhaseFact,
    Record,
    RootInput,
    RunFact,
    Scalars,
    SchedulerFact,
    SeedFact,
    Surroundings,
    TensorRows,
)
from torch_debugger.records.surroundings import HparamValue

_READ = (
    RunFact, EndFact, Surroundings, HparamsFact, SeedFact, ModelFact, OptimizerFact, SchedulerFact, ClipFact,
    LossGraph, PhaseFact, LoaderFact, BatchFact, BatchLook, InputLook, RootInput, TensorRows,
)  # fmt: skip
_Fact = TypeVar("_Fact")
_OF_A_STEP = (BatchFact, BatchLook, InputLook, RootInput)
_TIMES = ("time/", "split/")  # no two runs agree in these


class RunEvidence:
    """What is known of a run. Of a step that a tag tells of twice, the last value holds."""

    def __init__(self, name: str, records: Iterable[Record]) -> None:
        self.name = name
        self.curves: defaultdict[str, dict[int, float]] = defaultdict(dict)
        self.rows: defaultdict[tuple[str, int], list[TensorRows]] = defaultdict(list)  # by kind and step
        self.looks: defaultdict[tuple[type, int], list[Record]] = defaultdict(list)  # by class and step
        self._facts: defaultdict[type, list[Record]] = defaultdict(list)
        self.hparams: dict[str, HparamValue] = {}  # those that were given to the log by hand
        self.metrics: dict[str, float] = {}  # those that were given beside them
        self.damage: list[str] = []  # what could not be read of the log
        self.findings: list[Finding] = []  # ranked
        self.verdict: Finding | None = None
        for record in records:
            self._keep(record)

    @staticmethod
    def of_run(run: Run, name: str) -> RunEvidence:
        """The first rank's: the others do the same on other data."""
        ranks = run.ranks
        part = ranks[min(ranks)] if ranks else run
        evidence = RunEvidence(name, part.records(*_READ))
        for tag in part.tags.get("scalars", []):
            if tag.startswith(_TIMES):
                continue
            curve = part.scalars(tag)
            evidence.curves[tag] = dict(zip(curve.steps.tolist(), curve.values.tolist(), strict=True))
        evidence.hparams, evidence.metrics = part.hparams, part.hparam_metrics
        evidence.damage = run.damage
        return evidence

    def _keep(self, record: Record) -> None:
        if isinstance(record, Scalars):
            for tag, value in record.values.items():
                if not tag.startswith(_TIMES):
                    self.curves[tag][record.step] = value
        elif isinstance(record, TensorRows):
            self.rows[record.table.kind, record.step].append(record)
        elif isinstance(record, _OF_A_STEP):
            self.looks[type(record), record.step].append(record)
        else:
            self._facts[type(record)].append(record)

    def facts(self, kind: type[_Fact]) -> list[_Fact]:
        return cast("list[_Fact]", self._facts.get(kind, []))

    def looks_at(self, kind: type[_Fact], step: int) -> list[_Fact]:
        return cast("list[_Fact]", self.looks.get((kind, step), []))

    @property
    def run(self) -> RunFact | None:
        return next(iter(self.facts(RunFact)), None)

    @property
    def end(self) -> EndFact | None:
        return next(iter(self.facts(EndFact)[-1:]), None)

    @property
    def surroundings(self) -> Surroundings | None:
        return next(iter(self.facts(Surroundings)), None)

    @property
    def steps(self) -> set[int]:
        """Those of which there is any number."""
        scalars = {step for curve in self.curves.values() for step in curve}
        return scalars | {step for _, step in self.rows}

    @property
    def is_foreign(self) -> bool:
        """Written by a SummaryWriter, ours or another's: scalars, and nothing that we know more of."""
        return self.run is None and not self.rows
