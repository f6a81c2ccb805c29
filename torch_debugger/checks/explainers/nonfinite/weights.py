"""Weights that were not finite before the first update, or became so by one."""

from __future__ import annotations

import math
import re

from torch_debugger.checks.explainers.nonfinite.case import Story
from torch_debugger.checks.explainers.nonfinite.wording import line_of, number, share
from torch_debugger.records import Edit, NonFinite, Operand, OptimizerFact, Origin

_NO_EPS = re.compile(r"\beps\s*=\s*0(?:\.0*)?(?=\s*[,)])")
_HUGE_RATE = 1e3
_SMALLEST_HALF = 6e-8  # below half of it a number is 0 in float16
_EMPTY = re.compile(r"torch\.empty\(|torch\.(?:Float)?Tensor\(")


def explain_weights(fact: NonFinite, origin: Origin, optimizer: OptimizerFact | None) -> Story:
    if fact.update or (fact.what == "weight" and fact.optimizer):
        return _by_update(fact, origin, optimizer)
    if fact.step <= 1:
        return _from_the_start(fact, origin)
    why = "An earlier update, or the script itself, wrote them; the step that did so was not seen."
    fix = (
        "Run again with `torch-debugger run --on-nan stop`, which looks at every update. If the loss grew "
        "before, lower the learning rate."
    )
    return Story(f"{names_of(fact)} not finite before this step", why, fix)


def names_of(fact: NonFinite) -> str:
    """`net.fc.weight` was, `net.fc.weight` and 3 more parameters were"""
    if not fact.parameters:
        return "some weights were"
    more = len(fact.parameters) - 1
    if not more:
        return f"`{fact.parameters[0]}` was"
    return f"`{fact.parameters[0]}` and {more} more parameter{'s' if more > 1 else ''} were"


def _from_the_start(fact: NonFinite, origin: Origin) -> Story:
    made = line_of(origin.place)
    held = _held(origin.operands[0], fact) if origin.operands else ""
    proof = f"{names_of(fact)} not finite before the first update{held}"
    name = fact.parameters[0].rpartition(".")[2] if fact.parameters else "weight"
    if _EMPTY.search(origin.place.code or ""):
        why = (
            f"It is made{made} without values: `torch.empty` reserves memory and leaves what was in it before."
        )
        fix = f"Fill it there: `nn.init.xavier_uniform_(self.{name})` for a matrix, `torch.zeros` for a bias."
        return Story(proof, why, fix)
    why = f"No update had been made: the values it was given{made} at the start are not finite."
    fix = "Look at how it is initialised: `torch.empty` without a fill, a checkpoint with NaN, a division by 0."
    return Story(proof, why, fix)


def _held(operand: Operand, fact: NonFinite) -> str:
    name = f"`{operand.parameter or operand.name or fact.parameters[0]}`" if fact.parameters else "it"
    kinds = [(count, word) for count, word in ((operand.nans, "NaN"), (operand.infs, "Inf")) if count]
    told = " and ".join(share(count, operand, name, word) for count, word in kinds)
    return f": {told}" if told else ""


def _by_update(fact: NonFinite, origin: Origin, optimizer: OptimizerFact | None) -> Story:
    name = f"`{fact.optimizer}`" if fact.optimizer else "the optimizer"
    kind = f" ({optimizer.kind})" if optimizer else ""
    proof = f"the update of {name}{kind}{line_of(fact.site)} made it, from finite gradients"
    setting, why, fix = _blamed_setting(fact, origin, name)
    edit = _with_eps(optimizer) if setting == "eps" else None
    told = f", with {setting} = {number(fact.update[setting])}" if setting else ""
    return Story(proof + told, why, fix, edit)


def _blamed_setting(fact: NonFinite, origin: Origin, name: str) -> tuple[str, str, str]:
    """The setting that makes such an update; its mathematics; what to do."""
    broken = next((key for key, value in fact.update.items() if not math.isfinite(value)), None)
    if broken is not None:
        why = f"The step is multiplied by {broken}, which is {number(fact.update[broken])}."
        return broken, why, f"Find out where `{broken}` of {name} is computed; a schedule may divide by 0."
    half = any(operand.dtype == "float16" for operand in origin.operands)
    if fact.update.get("eps") == 0 or (half and 0 < fact.update.get("eps", 1.0) < _SMALLEST_HALF / 2):
        zero = "eps is 0" if fact.update["eps"] == 0 else "eps is 0 in float16"
        why = f"The step divides by sqrt(v) + eps, v a mean of squared gradients; {zero}. Where v is 0 too, "
        value = "1e-4" if half else "1e-8"
        return (
            "eps",
            f"{why}0 / 0 is NaN.",
            f"Give {name} `eps={value}`" + (", or keep the weights in float32." if half else "."),
        )
    if abs(fact.update.get("lr", 0.0)) >= _HUGE_RATE:
        why = (
            "The step is multiplied by the learning rate: with one this large it leaves the range of the dtype."
        )
        return "lr", why, f"Lower `lr` of {name}; usual rates lie between 1e-5 and 1."
    why = (
        "The gradients were finite, the weights are not: the step was too large for the dtype, or divided by 0."
    )
    fix = f"Look at the settings of {name} and what a schedule makes of them; lower `lr`, raise `eps` to 1e-8."
    return "", why, fix


def _with_eps(optimizer: OptimizerFact | None) -> Edit | None:
    place = optimizer.place if optimizer else None
    if (
        place is None
        or place.file is None
        or place.line is None
        or not place.code
        or not _NO_EPS.search(place.code)
    ):
        return None
    return Edit(place.file, place.line, place.code, _NO_EPS.sub("eps=1e-8", place.code))
