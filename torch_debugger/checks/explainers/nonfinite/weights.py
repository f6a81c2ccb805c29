"""Weights that were not finite before the first update, or became so by one."""

from __future__ import annotations

import math
import re

from torch_debugger.checks.explainers.calls import calls_of, rewritten, with_argument
from torch_debugger.checks.explainers.nonfinite.case import Story
from torch_debugger.checks.explainers.nonfinite.wording import line_of, number, parameters_text, share
from torch_debugger.records import Edit, NonFinite, Operand, OptimizerFact, Origin

_EPS = re.compile(r"\beps\s*=\s*[0-9][0-9.eE+-]*")
_HUGE_RATE = 1e3
_SMALLEST_HALF = 6e-8  # below half of it a number is 0 in float16
_EMPTY = re.compile(r"torch\.empty\(|torch\.(?:Float)?Tensor\(")


def explain_weights(fact: NonFinite, origin: Origin, optimizer: OptimizerFact | None) -> Story:
    if (fact.update or (fact.what == "weight" and fact.optimizer)) and _is_sure(fact, origin):
        return _by_update(fact, origin, optimizer)
    if fact.step == 1:
        return _from_the_start(fact, origin)
    why = "An earlier update, or the script itself, wrote them; the step that did so was not seen."
    fix = (
        "Run again with `torch-debugger run --on-nan stop`, which looks at every update. If the loss grew "
        "before, lower the learning rate."
    )
    return Story(f"{were(fact)} not finite before this step", why, fix)


def _is_sure(fact: NonFinite, origin: Origin) -> bool:
    """That it was the update, and not a gradient that nobody looked at."""
    return fact.gradients_seen or bool(_blamed_setting(fact, origin, "")[0])


def were(fact: NonFinite) -> str:
    """`net.fc.weight` was; `net.fc.weight` and 3 more parameters were"""
    return f"{parameters_text(fact.parameters)} {'was' if len(fact.parameters) == 1 else 'were'}"


def _from_the_start(fact: NonFinite, origin: Origin) -> Story:
    made = line_of(origin.place)
    held = _held(origin.operands[0], fact) if origin.operands and len(fact.parameters) == 1 else ""
    proof = f"{held or f'{were(fact)} not finite'} before the first update"
    if _EMPTY.search(origin.place.code or ""):
        name = fact.parameters[0].rpartition(".")[2] if fact.parameters else "weight"
        why = f"It is made{made} without values: `torch.empty` reserves memory and leaves in it what was."
        fix = f"Fill it there: `nn.init.xavier_uniform_(self.{name})` for a matrix, `torch.zeros` for a bias."
        return Story(proof, why, fix)
    why = f"No update had been made: the values that were given{made} at the start are not finite."
    fix = "Look at how they are made: `torch.empty` without a fill, a checkpoint with NaN, a division by 0."
    return Story(proof, why, fix)


def _held(operand: Operand, fact: NonFinite) -> str:
    kinds = [(count, word) for count, word in ((operand.nans, "NaN"), (operand.infs, "Inf")) if count]
    return " and ".join(share(count, operand, f"`{fact.parameters[0]}`", word) for count, word in kinds)


def _by_update(fact: NonFinite, origin: Origin, optimizer: OptimizerFact | None) -> Story:
    name = f"`{fact.optimizer}`" if fact.optimizer else "the optimizer"
    kind = f" ({optimizer.kind})" if optimizer else ""
    left = f"left {parameters_text(fact.parameters)} {origin.made or 'not finite'}"
    made = "made it" if fact.what == "weight" else left
    at = (
        line_of(fact.site) if fact.what == "weight" else ""
    )  # seen by the loss of the next step, it is that one's
    proof = f"the update of {name}{kind}{at} {made}{', from finite gradients' if fact.gradients_seen else ''}"
    setting, why, fix = _blamed_setting(fact, origin, name)
    edit = _with_eps(optimizer, _eps_for(origin)) if setting == "eps" and optimizer else None
    told = f", with {setting} = {number(fact.update[setting])}" if setting else ""
    return Story(proof + told, why, fix, edit)


def _blamed_setting(fact: NonFinite, origin: Origin, name: str) -> tuple[str, str, str]:
    """The setting that makes such an update; its mathematics; what to do."""
    broken = next((key for key, value in fact.update.items() if not math.isfinite(value)), None)
    if broken is not None:
        why = f"Every step is computed with `{broken}`, and that is {number(fact.update[broken])}."
        return broken, why, f"Find out where `{broken}` of {name} is computed; a schedule may divide by 0."
    half = _eps_for(origin) != "1e-8"
    if fact.update.get("eps") == 0 or (half and 0 < fact.update.get("eps", 1.0) < _SMALLEST_HALF / 2):
        zero = "eps is 0" if fact.update["eps"] == 0 else "eps is 0 in float16"
        why = f"The step divides by sqrt(v) + eps, v a mean of squared gradients; {zero}. Where v is 0 too, "
        fix = f"Give {name} `eps={_eps_for(origin)}`{', or keep the weights in float32' if half else ''}."
        return "eps", f"{why}0 / 0 is NaN.", fix
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


def _eps_for(origin: Origin) -> str:
    return "1e-4" if any(operand.dtype == "float16" for operand in origin.operands) else "1e-8"


def _with_eps(optimizer: OptimizerFact, eps: str) -> Edit | None:
    """The line that makes the optimizer, with another eps or with one at all."""
    code = optimizer.place.code or ""
    if _EPS.search(code):
        return rewritten(optimizer.place, code, _EPS.sub(f"eps={eps}", code))
    calls = calls_of(code, optimizer.kind)
    changed = with_argument(calls[0], f"eps={eps}") if len(calls) == 1 else ""
    return rewritten(optimizer.place, calls[0], changed) if changed else None
