"""Reasons of a parting inside the model, the loss, or the way back."""

from __future__ import annotations

from collections import Counter

from torch_debugger.archive.comparing.plain_values import differences
from torch_debugger.archive.comparing.scene import Scene
from torch_debugger.records import LossGraph
from torch_debugger.records.comparison_of_runs import Cause, Difference

_LEAF = "AccumulateGrad"
_ALIKE = 1e-3  # two factors that are one


def _forward(scene: Scene) -> Cause:
    gap, last = scene.gap, scene.parting.last_equal
    modes = _modes(scene)
    if modes:
        return Cause("The models are in different modes.", modes, "Compare the calls of train() and eval().")
    between = (
        f"between the output of {last}, which is equal, and that of {gap.name}" if last else f"in {gap.name}"
    )
    points = (*_about_module(scene), *_operations(scene))
    if not points and "Dropout" in scene.kind_of(gap.name):
        return Cause(
            f"{gap.name} drops other units with the same share: the random state differs there, by other draws "
            "before it or another seed.",
            scene.differences("settings", "seed"),
            "Seed both runs alike right before the training loop.",
        )
    known = "With equal weights and inputs" if "weights" in scene.parting.equal_phases else "As far as was seen"
    return Cause(
        f"{known}, the difference arises {between}: its code, its settings, or what is computed before it.",
        points,
        "" if points else f"Compare the forward code that leads to {gap.name}.",
    )


def _modes(scene: Scene) -> tuple[Difference, ...]:
    root = scene.root_of(scene.gap.name)
    ours = scene.is_training(scene.first, root)
    theirs = scene.is_training(scene.second, scene.matching.roots.get(root, root))
    if ours is None or theirs is None or ours == theirs:
        return ()
    return (Difference(f"mode of {root}", *("train" if mode else "eval" for mode in (ours, theirs))),)


def _about_module(scene: Scene) -> tuple[Difference, ...]:
    gap = scene.gap
    ours, theirs = scene.made(scene.first, gap.name), scene.made(scene.second, gap.other_name)
    made = differences({f"{gap.name} is made by": ours.strip()}, {f"{gap.name} is made by": theirs.strip()})
    settings = scene.differences("model", f"{gap.other_name}: ")
    return (*settings, *(made if settings or _tells(ours, theirs) else ()))


def _tells(ours: str, theirs: str) -> bool:
    """The two lines differ in more than what the attribute is called."""
    return bool(ours and theirs) and ours.partition("=")[2].strip() != theirs.partition("=")[2].strip()


def _operations(scene: Scene) -> tuple[Difference, ...]:
    """Operations that only one of the graphs has, or has more of."""
    ours, theirs = scene.graphs()
    if ours is None or theirs is None or ours.truncated or theirs.truncated:
        return ()
    left, right = _counted(ours), _counted(theirs)
    more, less = left - right, right - left
    return (
        (Difference("operations on the way to the loss", _listed(more), _listed(less)),) if more or less else ()
    )


def _counted(graph: LossGraph) -> Counter[str]:
    return Counter(node.op for node in graph.nodes if _LEAF not in node.op)


def _listed(operations: Counter[str]) -> str:
    return ", ".join(f"{name} x{count}" if count > 1 else name for name, count in operations.items()) or "none"


def _loss(scene: Scene) -> Cause:
    points = (*_about_loss(scene), *_operations(scene))
    if "forward" in scene.parting.equal_phases:
        return Cause("The model's outputs are equal and the loss is not: the loss, or the targets.", points)
    return Cause("The loss is the first number that is seen to differ: the loss, or the forward pass.", points)


def _about_loss(scene: Scene) -> tuple[Difference, ...]:
    ours, theirs = scene.graphs()
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


def _backward(scene: Scene) -> Cause:
    return Cause(
        "Forward pass and loss are equal and the gradients that come back are not: a detach(), a custom "
        "backward, or a factor on what backward() is called on.",
        (*_about_loss(scene), *_operations(scene)),
        "Compare the lines between the loss and backward().",
    )


def _gradients(scene: Scene) -> Cause:
    gap = scene.gap
    if 0.0 in (gap.first, gap.second):
        without = "second" if gap.first else "first"
        return Cause(
            f"{gap.name} gets no gradient in the {without} run: it is frozen there, detached, or not used.",
            scene.differences("model", gap.other_name),
        )
    clips = tuple(each for each in scene.differences("optimizer") if "clipping" in each.name)
    ratios = scene.gradient_ratios()
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
