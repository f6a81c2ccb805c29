"""A parting, and what is known of the two runs there."""

from __future__ import annotations

from dataclasses import dataclass

from torch_debugger.archive.comparing.batches import VALUES, batch_numbers
from torch_debugger.archive.comparing.evidence import RunEvidence
from torch_debugger.archive.comparing.matching import Matching
from torch_debugger.archive.comparing.plain_values import differences
from torch_debugger.records import LossGraph, ModelFact, ModuleFact, OptimizerFact, PhaseFact, SchedulerFact
from torch_debugger.records.comparison_of_runs import Difference, Gap, Parting, Topic


@dataclass(frozen=True, slots=True)
class Scene:
    parting: Parting
    gap: Gap
    first: RunEvidence
    second: RunEvidence
    matching: Matching
    topics: dict[str, Topic]

    def differences(self, topic: str, beginning: str = "") -> tuple[Difference, ...]:
        found = self.topics[topic].differences if topic in self.topics else ()
        return tuple(each for each in found if each.name.startswith(beginning))

    def elements(self, parameter: str) -> float:
        for rows in self.first.rows.get(("parameter", self.gap.step), []):
            if parameter in rows.table.names:
                return rows.by_name("elements")[parameter]
        return 0.0

    def gradient_ratios(self) -> list[float]:
        """Of each parameter's gradients, those of the second run to those of the first."""
        ours, theirs = (self._gradients(run) for run in (self.first, self.second))
        names = ((name, self.matching.other(name)) for name, norm in ours.items() if norm > 0)
        return [theirs[other] / ours[name] for name, other in names if other in theirs]

    def _gradients(self, run: RunEvidence) -> dict[str, float]:
        norms: dict[str, float] = {}
        for rows in run.rows.get(("parameter", self.gap.step), []):
            norms |= rows.by_name("grad_norm")
        return norms

    def batch_values(self) -> tuple[dict[str, float], dict[str, float], float] | None:
        """Mean and std of the batch in both runs, and how many numbers it holds."""
        name = self.gap.name
        ours, theirs = (batch_numbers(run, self.gap.step).get(name, {}) for run in (self.first, self.second))
        if VALUES not in ours or VALUES not in theirs:
            return None
        return ours[VALUES], theirs[VALUES], ours["shape"]["elements"]

    def root_of(self, module: str) -> str:
        """The first run's model that a module belongs to: self.policy of self.policy.fc1."""
        return next((root for root in self.matching.roots if f"{module}.".startswith(f"{root}.")), "")

    def is_training(self, run: RunEvidence, root: str) -> bool | None:
        phases = [fact for fact in run.facts(PhaseFact) if fact.root == root and fact.step <= self.gap.step]
        return next((fact.training for fact in reversed(phases) if fact.grad), None)

    def graphs(self) -> tuple[LossGraph | None, LossGraph | None]:
        """Of both runs the loss's graph at the gap's step, or the last one before."""
        ours, theirs = (
            [graph for graph in run.facts(LossGraph) if graph.step <= self.gap.step]
            for run in (self.first, self.second)
        )
        return (ours[-1] if ours else None), (theirs[-1] if theirs else None)

    def made(self, run: RunEvidence, module: str) -> str:
        """The line that makes a module."""
        return next((each.place.code or "" for each in _modules(run) if each.path == module), "")

    def kind_of(self, module: str) -> str:
        return next((each.kind for each in _modules(self.first) if each.path == module), "")

    def sources_of_optimizers(self) -> tuple[Difference, ...]:
        return self._texts(OptimizerFact)

    def sources_of_rates(self) -> tuple[Difference, ...]:
        return self._texts(SchedulerFact)

    def _texts(self, kind: type[OptimizerFact] | type[SchedulerFact]) -> tuple[Difference, ...]:
        ours, theirs = ([fact.source for fact in run.facts(kind)[:1]] for run in (self.first, self.second))
        return differences({"made by": "".join(ours)}, {"made by": "".join(theirs)})


def _modules(run: RunEvidence) -> list[ModuleFact]:
    return [module for fact in run.facts(ModelFact) for module in fact.modules]
