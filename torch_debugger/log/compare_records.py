"""The records of one run, sorted by what they are compared with."""

from __future__ import annotations

import difflib
import re
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TypeVar, cast

from torch_debugger.log.run import Run
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
from torch_debugger.records.run import HparamValue

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


# Which module and parameter of one run is which of the other: by name, else by order and shape.
_Kinds = Mapping[str, Hashable]  # by name what else tells a module or a parameter


class Matching:
    """Names of the first run to names of the second."""

    def __init__(self, first: RunEvidence, second: RunEvidence) -> None:
        self.names: dict[str, str] = {}
        self.unmatched_first: list[str] = []
        self.unmatched_second: list[str] = []
        self.roots = paired([*_models(first)], [*_models(second)])
        self.optimizers = paired(_optimizers(first), _optimizers(second))
        for ours, theirs in self.roots.items():
            self._match_models(_models(first)[ours], _models(second)[theirs])

    def other(self, name: str) -> str:
        """The second run's name for it; the same one where nothing is known of it."""
        return self.names.get(name, name)

    @property
    def renamed(self) -> tuple[tuple[str, str], ...]:
        return tuple((ours, theirs) for ours, theirs in self.names.items() if ours != theirs)

    def _match_models(self, first: ModelFact, second: ModelFact) -> None:
        self.names[first.root] = second.root
        ours = {module.path: (module.kind, module.parameters) for module in first.modules[1:]}
        theirs = {module.path: (module.kind, module.parameters) for module in second.modules[1:]}
        self._match(ours, theirs, first.root, second.root)
        self._match(
            {parameter.path: parameter.shape for parameter in first.parameters},
            {parameter.path: parameter.shape for parameter in second.parameters},
            first.root,
            second.root,
        )

    def _match(self, ours: _Kinds, theirs: _Kinds, root: str, other: str) -> None:
        found = {name: self._carried(name, root, other) for name in ours}
        pairs = {name: to for name, to in found.items() if to in theirs and theirs[to] == ours[name]}
        pairs |= _aligned(ours, theirs, pairs)
        taken = set(pairs.values())
        pairs |= {name: to for name, to in found.items() if name not in pairs and to in theirs and to not in taken}
        self.names |= pairs
        self.unmatched_first += [name for name in ours if name not in pairs]
        self.unmatched_second += [name for name in theirs if name not in set(pairs.values())]

    def _carried(self, name: str, root: str, other: str) -> str:
        """The name that follows from its module's: net.fc1.weight is model.layers.0.weight."""
        owner, _, last = name.rpartition(".")
        known = self.names.get(owner)
        return f"{known}.{last}" if known else other + name.removeprefix(root)


def paired(first: Sequence[str], second: Sequence[str]) -> dict[str, str]:
    """Equal names to each other, the rest in order."""
    rest = [name for name in second if name not in first]
    others = zip([name for name in first if name not in second], rest, strict=False)
    return {name: name for name in first if name in second} | dict(others)


def _aligned(ours: _Kinds, theirs: _Kinds, pairs: dict[str, str]) -> dict[str, str]:
    left = [name for name in ours if name not in pairs]
    right = [name for name in theirs if name not in set(pairs.values())]
    kinds = [ours[name] for name in left]
    matcher = difflib.SequenceMatcher(None, kinds, [theirs[name] for name in right], autojunk=False)
    return {
        left[block.a + offset]: right[block.b + offset]
        for block in matcher.get_matching_blocks()
        for offset in range(block.size)
    }


def _models(run: RunEvidence) -> dict[str, ModelFact]:
    return {fact.root: fact for fact in run.facts(ModelFact)}


def _optimizers(run: RunEvidence) -> list[str]:
    return list(dict.fromkeys(fact.name for fact in run.facts(OptimizerFact)))


# What a scalar's tag says about it: ours by definition, those of other tools by their words.
_PLACES = {"weight_norm": "weights", "grad_norm": "gradients"}
_OF_THE_MACHINE = re.compile(
    r"(^|[/_. -])(time|timing|speed|fps|throughput|runtime|elapsed|duration|seconds?|memory|mem|gpu|cpu|system|"
    r"it_s|per_sec(ond)?|eta|flops|total_flos)([/_. -]|$)",
    re.IGNORECASE,
)
_RATE = re.compile(r"(^|[/_. -])(lr|learning[_ -]?rate)([/_. -]|\d*$)", re.IGNORECASE)
_HELD_OUT = re.compile(r"(^|[/_. -])(val|valid|validation|eval|evaluation|test|dev)([/_. -]|$)", re.IGNORECASE)
_LOSS = re.compile(r"loss", re.IGNORECASE)


def shared_tags(*runs: RunEvidence) -> list[str]:
    """Those that all runs have. Where losses have names, the plain one is one of them."""
    tags = [tag for tag in runs[0].curves if all(tag in run.curves for run in runs)]
    named = any(tag.startswith("loss/") for tag in tags)
    return [tag for tag in tags if tag != "loss"] if named else tags


def unshared_tags(run: RunEvidence, other: RunEvidence) -> list[str]:
    """Those that the other run has not; clocks and machines aside."""
    return [tag for tag in run.curves if tag not in other.curves and phase_of(tag)]


def phase_of(tag: str) -> str:
    """The part of a training step that the number belongs to; empty for clocks and machines."""
    if tag.partition("/")[0] in _PLACES:
        return _PLACES[tag.partition("/")[0]]
    if _OF_THE_MACHINE.search(tag):
        return ""
    if _RATE.search(tag):
        return "rate"
    if tag.startswith(("eval/", "user/")) or _HELD_OUT.search(tag):
        return "evaluation"
    return "loss" if _LOSS.search(tag) else "evaluation"
