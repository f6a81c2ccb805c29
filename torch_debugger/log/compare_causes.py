"""What the place of a parting tells about its reason, and which known differences fit it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from torch_debugger.log.compare_divergence import VALUES, batch_numbers
from torch_debugger.log.compare_records import Matching, RunEvidence
from torch_debugger.log.compare_settings import differences
from torch_debugger.records import BatchLook, LossGraph, ModelFact, ModuleFact, OptimizerFact, PhaseFact, SchedulerFact
from torch_debugger.records.findings import Cause, Difference, Gap, Parting, Topic

_DRAWS = 5.0  # standard deviations by which two draws of one distribution may differ


def find_cause(
    parting: Parting, first: RunEvidence, second: RunEvidence, matching: Matching, topics: Sequence[Topic]
) -> Cause | None:
    if parting.gap is None:
        return None
    runs = ComparedRuns(parting, parting.gap, first, second, matching, {topic.name: topic for topic in topics})
    return {**_CAUSES, **GRAPH_CAUSES}[parting.gap.phase](runs)


def _weights(runs: ComparedRuns) -> Cause:
    gap = runs.gap
    if gap.step > runs.parting.first_step:
        return Cause(
            f"The gradients of step {gap.step - 1} were equal and the weights after it are not: the update, or code "
            "that writes to the weights itself (an average of weights, a clip, load_state_dict).",
            runs.differences("optimizer"),
            "Look at what runs between optimizer.step() and the next forward pass.",
        )
    seeds = runs.differences("settings", "seed")
    elements = runs.elements(gap.name)
    ratio = gap.second / gap.first if gap.first else math.inf
    if elements and abs(ratio - 1.0) * math.sqrt(elements) < _DRAWS:
        return Cause(
            "The weights differ before the first update, as two draws of one distribution do: another seed, or "
            "other random numbers drawn before the model was made.",
            seeds,
            "Seed both runs alike, right before the model is made, and compare again.",
        )
    times = f"{ratio:.3g} times" if math.isfinite(ratio) else "not a multiple of"
    return Cause(
        f"{gap.name} starts with {times} the norm, which another seed does not explain: another "
        "initialisation, or another checkpoint.",
        seeds,
        "Compare the lines that fill or load the weights.",
    )


def _batch(runs: ComparedRuns) -> Cause:
    if runs.gap.number == "elements":
        return Cause("The batches have another size.", runs.differences("data"))
    ours, theirs = (_samples(run) for run in (runs.first, runs.second))
    if ours & theirs:
        shared = len(ours & theirs) / min(len(ours), len(theirs))
        return Cause(
            f"The loaders deliver the same samples in another order ({shared:.0%} of those that were looked at "
            "are in both runs): another seed of the shuffle, or another sampler.",
            (*runs.differences("data", "loader"), *runs.differences("settings", "seed")),
            "Give both DataLoaders a generator with the same seed.",
        )
    if _are_other_draws(runs):
        return Cause(
            "The batches hold other samples with like numbers: another order, split or augmentation.",
            (*runs.differences("data", "loader"), *runs.differences("settings", "seed")),
        )
    return Cause(
        "The batches hold other values: another normalisation, another preparation or another dataset.",
        runs.differences("data", "loader"),
        "Compare how the dataset makes a sample.",
    )


def _samples(run: RunEvidence) -> set[int]:
    looks = [each for kind, step in run.looks if kind is BatchLook for each in run.looks_at(BatchLook, step)]
    return {sample for look in looks for tensor in look.tensors for sample in tensor.samples}


def _are_other_draws(runs: ComparedRuns) -> bool:
    """Mean and std differ by no more than samples of one distribution do."""
    groups = (batch_numbers(run, runs.gap.step).get(runs.gap.name, {}) for run in (runs.first, runs.second))
    first, second = groups
    if VALUES not in first or VALUES not in second:
        return False
    ours, theirs, count = first[VALUES], second[VALUES], first["shape"]["elements"]
    std = max(ours["std"], theirs["std"])
    apart = abs(ours["mean"] - theirs["mean"]) * math.sqrt(count)
    return apart <= _DRAWS * std and abs(ours["std"] - theirs["std"]) * math.sqrt(count) <= _DRAWS * std


def _input(runs: ComparedRuns) -> Cause:
    if runs.gap.number == "elements":
        return Cause(
            "The model is given another number of samples in a call: the size of batches, or a step made of "
            "parts (accumulated gradients).",
            runs.differences("data"),
        )
    same = "The batches are equal, but t" if "batch" in runs.parting.equal_phases else "T"
    return Cause(
        f"{same}he model is given other numbers: what is done to them on the way to the model "
        "(normalisation, augmentation, type, device).",
        runs.differences("data"),
        "Compare the lines between the loader and the call of the model.",
    )


def _rate(runs: ComparedRuns) -> Cause:
    return Cause(
        "All that the step computes is equal and the learning rate is not: the schedule, or the rate itself.",
        runs.differences("optimizer") or runs.sources(SchedulerFact),
    )


def _update(runs: ComparedRuns) -> Cause:
    return Cause(
        "Forward pass, loss and gradients are equal and the update is not: the optimizer or its settings.",
        runs.differences("optimizer") or runs.sources(OptimizerFact),
    )


def _evaluation(runs: ComparedRuns) -> Cause:
    computed = "the training is equal" if runs.parting.equal_phases else "the training shows no difference"
    return Cause(
        f"{computed.capitalize()} and this number is not: how it is evaluated (train or eval mode, the data, "
        "the metric).",
        runs.differences("data", "loader"),
    )


_CAUSES = {
    "weights": _weights,
    "batch": _batch,
    "input": _input,
    "rate": _rate,
    "update": _update,
    "evaluation": _evaluation,
}


# Reasons of a parting inside the model, the loss, or the way back.
_LEAF = "AccumulateGrad"
_ALIKE = 1e-3  # two factors that are one


def _forward(runs: ComparedRuns) -> Cause:
    gap, last = runs.gap, runs.parting.last_equal
    modes = _modes(runs)
    if modes:
        return Cause("The models are in different modes.", modes, "Compare the calls of train() and eval().")
    between = f"between the output of {last}, which is equal, and that of {gap.name}" if last else f"in {gap.name}"
    ours, theirs = runs.made(runs.first, gap.name), runs.made(runs.second, gap.other_name)
    settings = runs.differences("model", f"{gap.other_name}: ")
    # The two lines differ in more than what the attribute is called.
    others = ours and theirs and ours.partition("=")[2].strip() != theirs.partition("=")[2].strip()
    made = f"{gap.name} is made by"
    lines = differences({made: ours.strip()}, {made: theirs.strip()}) if settings or others else ()
    points = (*settings, *lines, *_operations(runs))
    if not points and "Dropout" in runs.kind_of(gap.name):
        return Cause(
            f"{gap.name} drops other units with the same share: the random state differs there, by other draws "
            "before it or another seed.",
            runs.differences("settings", "seed"),
            "Seed both runs alike right before the training loop.",
        )
    known = "With equal weights and inputs" if "weights" in runs.parting.equal_phases else "As far as was seen"
    return Cause(
        f"{known}, the difference arises {between}: its code, its settings, or what is computed before it.",
        points,
        "" if points else f"Compare the forward code that leads to {gap.name}.",
    )


def _modes(runs: ComparedRuns) -> tuple[Difference, ...]:
    root = runs.root_of(runs.gap.name)
    ours = runs.is_training(runs.first, root)
    theirs = runs.is_training(runs.second, runs.matching.roots.get(root, root))
    if ours is None or theirs is None or ours == theirs:
        return ()
    return (Difference(f"mode of {root}", *("train" if mode else "eval" for mode in (ours, theirs))),)


def _operations(runs: ComparedRuns) -> tuple[Difference, ...]:
    """Operations that only one of the graphs has, or has more of."""
    ours, theirs = runs.graphs()
    if ours is None or theirs is None or ours.truncated or theirs.truncated:
        return ()
    left, right = (Counter(node.op for node in graph.nodes if _LEAF not in node.op) for graph in (ours, theirs))
    more, less = left - right, right - left
    return (Difference("operations on the way to the loss", _listed(more), _listed(less)),) if more or less else ()


def _listed(operations: Counter[str]) -> str:
    return ", ".join(f"{name} x{count}" if count > 1 else name for name, count in operations.items()) or "none"


def _loss(runs: ComparedRuns) -> Cause:
    points = (*_about_loss(runs), *_operations(runs))
    if "forward" in runs.parting.equal_phases:
        return Cause("The model's outputs are equal and the loss is not: the loss, or the targets.", points)
    return Cause("The loss is the first number that is seen to differ: the loss, or the forward pass.", points)


def _about_loss(runs: ComparedRuns) -> tuple[Difference, ...]:
    ours, theirs = runs.graphs()
    if ours is None or theirs is None:
        return ()
    lines = differences({"loss is made by": _line(ours)}, {"loss is made by": _line(theirs)})
    same = ours.nodes and theirs.nodes and ours.nodes[0].op == theirs.nodes[0].op
    return (*lines, *(differences(_saved(ours), _saved(theirs)) if same else ()))


def _line(graph: LossGraph) -> str:
    return (graph.computed.code or graph.made.code or "").strip()


def _saved(graph: LossGraph) -> dict[str, object]:
    """The settings of the loss function itself: the graph's first node."""
    head = graph.nodes[0] if graph.nodes else None
    return {f"{head.op}: {key}": value for key, value in head.saved.items()} if head else {}


def _backward(runs: ComparedRuns) -> Cause:
    return Cause(
        "Forward pass and loss are equal and the gradients that come back are not: a detach(), a custom "
        "backward, or a factor on what backward() is called on.",
        (*_about_loss(runs), *_operations(runs)),
        "Compare the lines between the loss and backward().",
    )


def _gradients(runs: ComparedRuns) -> Cause:
    gap = runs.gap
    if 0.0 in (gap.first, gap.second):
        without = "second" if gap.first else "first"
        return Cause(
            f"{gap.name} gets no gradient in the {without} run: it is frozen there, detached, or not used.",
            runs.differences("model", gap.other_name),
        )
    clips = tuple(each for each in runs.differences("optimizer") if "clipping" in each.name)
    ours, theirs = (runs.gradients(run) for run in (runs.first, runs.second))
    names = ((name, runs.matching.other(name)) for name, norm in ours.items() if norm > 0)
    ratios = [theirs[other] / ours[name] for name, other in names if other in theirs]
    if ratios and max(ratios) - min(ratios) <= _ALIKE * abs(max(ratios)):
        return Cause(
            f"All gradients of the second run are {ratios[0]:.4g} times those of the first: clipping, a scaled "
            "loss, or an average over devices or accumulated batches.",
            clips,
        )
    return Cause(
        "What comes back through the modules is equal and the parameters' gradients are not: gradients left "
        "over from the step before (zero_grad), clipping, or weights used more than once.",
        clips,
        "Compare the calls of zero_grad() and clip_grad_norm_().",
    )


GRAPH_CAUSES = {"forward": _forward, "loss": _loss, "backward": _backward, "gradients": _gradients}


# A parting, and what is known of the two runs there.
@dataclass(frozen=True, slots=True)
class ComparedRuns:
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

    def gradients(self, run: RunEvidence) -> dict[str, float]:
        norms: dict[str, float] = {}
        for rows in run.rows.get(("parameter", self.gap.step), []):
            norms |= rows.by_name("grad_norm")
        return norms

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

    def sources(self, kind: type[OptimizerFact] | type[SchedulerFact]) -> tuple[Difference, ...]:
        ours, theirs = ([fact.source for fact in run.facts(kind)[:1]] for run in (self.first, self.second))
        return differences({"made by": "".join(ours)}, {"made by": "".join(theirs)})


def _modules(run: RunEvidence) -> list[ModuleFact]:
    return [module for fact in run.facts(ModelFact) for module in fact.modules]
