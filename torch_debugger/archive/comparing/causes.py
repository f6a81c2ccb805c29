"""What the place of a parting tells about its reason, and which known differences fit it."""

from __future__ import annotations

import math
from collections.abc import Sequence

from torch_debugger.archive.comparing.evidence import RunEvidence
from torch_debugger.archive.comparing.graph_causes import GRAPH_CAUSES
from torch_debugger.archive.comparing.matching import Matching
from torch_debugger.archive.comparing.scene import Scene
from torch_debugger.records import BatchLook
from torch_debugger.records.comparison_of_runs import Cause, Parting, Topic

_DRAWS = 5.0  # standard deviations by which two draws of one distribution may differ


def find_cause(
    parting: Parting, first: RunEvidence, second: RunEvidence, matching: Matching, topics: Sequence[Topic]
) -> Cause | None:
    if parting.gap is None:
        return None
    scene = Scene(parting, parting.gap, first, second, matching, {topic.name: topic for topic in topics})
    return {**_CAUSES, **GRAPH_CAUSES}[parting.gap.phase](scene)


def _weights(scene: Scene) -> Cause:
    gap = scene.gap
    if gap.step > scene.parting.first_step:
        return _between_steps(scene)
    seeds = scene.differences("settings", "seed")
    elements = scene.elements(gap.name)
    ratio = gap.second / gap.first if gap.first else math.inf
    if elements and abs(ratio - 1.0) * math.sqrt(elements) < _DRAWS:
        return Cause(
            "The weights differ before the first update, as two draws of one distribution do: another seed, or "
            "other random numbers drawn before the model was made.",
            seeds,
            "Seed both runs alike, right before the model is made, and compare again.",
        )
    return Cause(
        f"{gap.name} starts with {_times(ratio)} the norm, which another seed does not explain: another "
        "initialisation, or another checkpoint.",
        seeds,
        "Compare the lines that fill or load the weights.",
    )


def _between_steps(scene: Scene) -> Cause:
    before = scene.gap.step - 1
    return Cause(
        f"The gradients of step {before} were equal and the weights after it are not: the update, or code that "
        "writes to the weights itself (an average of weights, a clip, load_state_dict).",
        scene.differences("optimizer"),
        "Look at what runs between optimizer.step() and the next forward pass.",
    )


def _times(ratio: float) -> str:
    return f"{ratio:.3g} times" if math.isfinite(ratio) else "not a multiple of"


def _batch(scene: Scene) -> Cause:
    if scene.gap.number == "elements":
        return Cause("The batches have another size.", scene.differences("data"))
    shared = _shared_samples(scene)
    if shared:
        return Cause(
            f"The loaders deliver the same samples in another order ({shared:.0%} of those that were looked at "
            "are in both runs): another seed of the shuffle, or another sampler.",
            (*scene.differences("data", "loader"), *scene.differences("settings", "seed")),
            "Give both DataLoaders a generator with the same seed.",
        )
    if _are_other_draws(scene):
        return Cause(
            "The batches hold other samples with like numbers: another order, split or augmentation.",
            (*scene.differences("data", "loader"), *scene.differences("settings", "seed")),
        )
    return Cause(
        "The batches hold other values: another normalisation, another preparation or another dataset.",
        scene.differences("data", "loader"),
        "Compare how the dataset makes a sample.",
    )


def _shared_samples(scene: Scene) -> float:
    ours, theirs = _samples(scene.first, scene.gap.step), _samples(scene.second, scene.gap.step)
    return len(ours & theirs) / min(len(ours), len(theirs)) if ours and theirs else 0.0


def _samples(run: RunEvidence, last: int) -> set[int]:
    """Up to a few batches behind the gap: what is shuffled comes back soon in a small dataset."""
    looks = [each for kind, step in run.looks if kind is BatchLook for each in run.looks_at(BatchLook, step)]
    return {sample for look in looks for tensor in look.tensors for sample in tensor.samples}


def _are_other_draws(scene: Scene) -> bool:
    """Mean and std differ by no more than samples of one distribution do."""
    values = scene.batch_values()
    if values is None:
        return False
    ours, theirs, count = values
    std = max(ours["std"], theirs["std"])
    apart = abs(ours["mean"] - theirs["mean"]) * math.sqrt(count)
    return apart <= _DRAWS * std and abs(ours["std"] - theirs["std"]) * math.sqrt(count) <= _DRAWS * std


def _input(scene: Scene) -> Cause:
    if scene.gap.number == "elements":
        return Cause(
            "The model is given another number of samples in a call: the size of batches, or a step made of "
            "parts (accumulated gradients).",
            scene.differences("data"),
        )
    same = "The batches are equal, but t" if "batch" in scene.parting.equal_phases else "T"
    return Cause(
        f"{same}he model is given other numbers: what is done to them on the way to the model "
        "(normalisation, augmentation, type, device).",
        scene.differences("data"),
        "Compare the lines between the loader and the call of the model.",
    )


def _rate(scene: Scene) -> Cause:
    return Cause(
        "All that the step computes is equal and the learning rate is not: the schedule, or the rate itself.",
        scene.differences("optimizer") or scene.sources_of_rates(),
    )


def _update(scene: Scene) -> Cause:
    return Cause(
        "Forward pass, loss and gradients are equal and the update is not: the optimizer or its settings.",
        scene.differences("optimizer") or scene.sources_of_optimizers(),
    )


def _evaluation(scene: Scene) -> Cause:
    computed = "the training is equal" if scene.parting.equal_phases else "the training shows no difference"
    return Cause(
        f"{computed.capitalize()} and this number is not: how it is evaluated (train or eval mode, the data, "
        "the metric).",
        scene.differences("data", "loader"),
    )


_CAUSES = {
    "weights": _weights,
    "batch": _batch,
    "input": _input,
    "rate": _rate,
    "update": _update,
    "evaluation": _evaluation,
}
