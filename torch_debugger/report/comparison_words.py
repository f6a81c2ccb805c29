"""The sentences of a comparison of two runs."""

from __future__ import annotations

from collections.abc import Sequence

from torch_debugger.records.comparison_of_runs import Extent, Gap, Parting, RunsComparison
from torch_debugger.report.printable import one_line

_PLACES = {
    "weights": "in the weights of {}",
    "batch": "in the data, {}",
    "input": "in the input of {}",
    "forward": "in the output of {}",
    "loss": "in the loss {}",
    "backward": "in the gradient at the output of {}",
    "gradients": "in the gradient of {}",
    "rate": "in the learning rate, {}",
    "update": "in the update of {}",
    "evaluation": "in {}",
}
_PHASES = {
    "weights": "the weights",
    "batch": "the batch",
    "input": "the input",
    "forward": "the forward pass",
    "loss": "the loss",
    "backward": "the gradients at the modules' outputs",
    "gradients": "the gradients",
    "rate": "the learning rate",
    "update": "the update",
}
_NUMBERS = {"weight_norm": "norm", "grad_norm": "norm", "change": "norm of the change"}
_MUCH = 0.01  # of a tensor's size: rounding that has grown this far is seen in the curves
_MANY = 4
_GROWN = "It has grown slowly, as rounding does, and no step stands out."


def answer(comparison: RunsComparison) -> str:
    """The one sentence to read."""
    parting = comparison.parting
    return one_line(
        {"same": _same, "rounding": _rounding, "parted": _parted, "unseen": _unseen}[parting.verdict](parting)
    )


def _same(parting: Parting) -> str:
    same = "are the same" if parting.harmless is None else "compute the same"
    extent = f" over {_common_steps(parting)}:" if is_partial(parting) else f": {_steps(parting)},"
    numbers = "1 number" if parting.numbers == 1 else f"{parting.numbers:,} numbers"
    equal = ", bit-equal" if parting.numbers == 1 else ", every one of them bit-equal"
    if parting.harmless is not None:
        equal = f". {_harmless(parting.harmless)}; all else is bit-equal"
    return " ".join([f"The runs {same}{extent} {numbers} compared{equal}.", *_further(parting)])


def _harmless(gap: Gap) -> str:
    return (
        f"The loaders deliver other numbers ({gap.name}, {_change(gap)}), of which the model is given the same"
    )


def _rounding(parting: Parting) -> str:
    steps = _common_steps(parting) if is_partial(parting) else _steps(parting)
    compared = f"over {steps} no number differs by more than rounding explains"
    said = [f"The runs compute the same: {compared}{_idle(parting.idle)}."]
    if parting.harmless is not None:
        said.append(f"{_harmless(parting.harmless)}.")
    if parting.unequal is not None:
        first = parting.unequal
        where = _place(first).removeprefix("in ")
        said.append(f"The first that is not bit-equal is {where} at step {first.step}, by {_size(first)}.")
    return " ".join([*said, *_largest(parting.largest), *_further(parting)])


def _largest(gap: Gap | None) -> list[str]:
    if gap is None:
        return []
    told = f"The largest difference is {_size(gap)}, {_place(gap)} at step {gap.step}."
    return [told, _GROWN] if gap.size > _MUCH else [told]


def _size(gap: Gap) -> str:
    return f"{gap.size:.1g} of its size"


def _idle(gap: Gap | None) -> str:
    if gap is None:
        return ""
    return (
        f", but {_place(gap)} at step {gap.step} ({_change(gap)}), without a trace in what the model computes"
    )


def _unseen(parting: Parting) -> str:
    return "The runs cannot be compared step by step: there is no number that both have at the same step."


def _parted(parting: Parting) -> str:
    gap = parting.gap
    assert gap is not None
    at_start = gap.phase == "weights" and gap.step == parting.first_step
    moment = "differ before the first update" if at_start else f"part at step {gap.step}"
    told = f"The runs {moment}, first {_place(gap)} ({_change(gap)}){_until_then(parting)}."
    kept = f" The weights that step {parting.kept_step} begins with are equal all the same, up to rounding."
    return told + (kept if parting.kept_step else "")


def _until_then(parting: Parting) -> str:
    equal = [_PHASES[phase] for phase in parting.equal_phases if phase in _PHASES]
    manner = "bit-equal" if parting.unequal is None else "equal up to rounding"
    if len(equal) > _MANY:
        return f"; everything before it in that step, {equal[0]} to {equal[-1]}, was {manner}"
    verb = "was" if len(equal) == 1 and equal[0] != "the weights" else "were"
    return f"; {_joined(equal)} {verb} {manner} until then" if equal else ""


def precision(parting: Parting) -> str:
    """How exactly the place of a parting is known; empty where it is."""
    gap = parting.gap
    if gap is None or parting.exact:
        return ""
    seen = f"the last that was is step {parting.near_step}" if parting.near_step else "none before it was"
    began = (
        "where in this step it begins is not known"
        if "weights" in parting.equal_phases
        else f"it came in after what was seen of step {parting.calm_step}, which is equal, and before this"
    )
    return f"Step {gap.step} was not looked at closely in both runs ({seen}): {began}."


def _place(gap: Gap) -> str:
    name = gap.name if gap.name == gap.other_name else f"{gap.name} ({gap.other_name} in the second run)"
    is_plain_loss = gap.phase == "loss" and name == "loss"
    return "in the loss" if is_plain_loss else _PLACES[gap.phase].format(name)


def _change(gap: Gap) -> str:
    number = _NUMBERS.get(gap.number, gap.number)
    first, second = apart(gap.first, gap.second)
    return f"{number} {first} -> {second}".strip()


def apart(first: float, second: float) -> tuple[str, str]:
    """Two numbers with as many digits as it takes to tell them apart."""
    for digits in range(4, 10):
        shown = f"{first:.{digits}g}", f"{second:.{digits}g}"
        if shown[0] != shown[1]:
            return shown
    return f"{first:.9g}", f"{second:.9g}"


def _steps(parting: Parting) -> str:
    return f"{parting.steps:,} step{'' if parting.steps == 1 else 's'}"


def not_compared(comparison: RunsComparison) -> list[str]:
    """What could not be compared besides the steps, and why: once where it is all for one reason."""
    unseen = [topic for topic in comparison.topics if topic.unseen]
    if not comparison.unwatched:
        return [f"Not compared in the {topic.name}: {topic.unseen}." for topic in unseen]
    names, several = _joined(comparison.unwatched), len(comparison.unwatched) > 1
    what, whose = ("are not logs", "their") if several else ("is not the log", "its")
    rest = f"; {_joined([topic.name for topic in unseen])} cannot be" if unseen else ""
    watched = f"of a watched training (torch-debugger run, or Debugger): {whose} scalars are compared, by tag"
    return [f"{names} {what} {watched}{rest}."]


def is_partial(parting: Parting) -> bool:
    """Has one of the runs steps that the other has not?"""
    return any(extent.steps > parting.steps for extent in parting.extents)


def _further(parting: Parting) -> list[str]:
    """What there is of each run besides the steps that were compared."""
    named = zip(("first", "second"), parting.extents, strict=False)
    return [sentence for which, extent in named for sentence in _beyond(which, extent, parting)]


def _beyond(which: str, extent: Extent, parting: Parting) -> list[str]:
    if extent.steps == parting.steps:
        return []
    if extent.last > parting.last_step:
        return [f"The {which} goes on to step {extent.last:,}."]
    if extent.first < parting.first_step:
        return [f"The {which} begins earlier, at step {extent.first:,}."]
    return [f"The {which} has {extent.steps - parting.steps:,} more in between."]


def _common_steps(parting: Parting) -> str:
    return f"the {'one step' if parting.steps == 1 else _steps(parting)} that both have"


def _joined(words: Sequence[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
