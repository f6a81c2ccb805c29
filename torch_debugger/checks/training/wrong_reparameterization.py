"""Latent variables that are not sampled from the distribution that the KL term is of."""

from __future__ import annotations

import re
from collections.abc import Iterable

from torch_debugger.checks.base import Check, RunState, at_line
from torch_debugger.checks.call_edits import edit_line, replace_in_line
from torch_debugger.checks.models import (
    FORMULAS,
    RIGHT_USE,
    is_divergence,
    right_reading,
    sampled_reading,
    sampled_right,
    wrong_use,
)
from torch_debugger.records import (
    SAMPLING_ORDERS,
    DivergenceReading,
    Edit,
    Finding,
    LatentSampling,
    NoiseLook,
    Place,
    Record,
)

_STANDARD = {
    "log-variance": "torch.exp(0.5 * log_var)",
    "log-deviation": "torch.exp(log_std)",
    "deviation": "std",
    "variance": "torch.sqrt(var)",
}
_NAMED_DEVIATION = re.compile(r"std|sigma|stdev|deviation|scale")


class WrongReparameterization(Check):
    """A variational autoencoder samples from another distribution than the one that its KL term is of.

    Symptom:
        No error and no NaN. The loss falls, but what is drawn from the prior looks wrong, and reconstructions
        stay blurred.
    Evidence:
        The gradient of the KL term, read from the autograd graph, says what it takes a tensor for: exp(s) - 1
        of a log-variance s, s - 1/s of a standard deviation. The noise is multiplied with another function of
        the same tensor, is not normal, or is what the mean is added to instead of what is scaled.
    Fix:
        z = mean + std * epsilon, with std = exp(0.5 * log_var) and epsilon = torch.randn_like(std).
    Known limits:
        For normal posteriors with a diagonal covariance and a KL term in closed form against the standard
        normal. Divergences that are estimated from the samples, learned priors and normalizing flows are left
        alone, and so is noise that is only scaled by a number.
    """

    id = "TD582"
    name = "wrong-reparameterization"
    title = "a VAE samples from another distribution than its KL term assumes"
    reads = (LatentSampling,)
    explains = ("posterior-collapse", "loss-not-finite", "overflow-ahead", "exploding-gradient")

    looks_needed = 2
    # Of torch.rand: mean 0.5 and deviation 0.289. A normal sample of 64 without a number below 0: never.
    fewest_numbers = 64

    def __init__(self) -> None:
        self._looks: dict[str, list[LatentSampling]] = {}

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        if isinstance(record, LatentSampling) and (fault := self._fault(record)):
            looks = self._looks.setdefault(f"{fault} {record.source}", [])
            looks.append(record)
            if len(looks) >= self.looks_needed:
                yield self._judge(fault, looks, state)

    def finish(self, state: RunState) -> Iterable[Finding]:
        return [self._judge(name.partition(" ")[0], looks, state) for name, looks in self._looks.items()]

    def _fault(self, look: LatentSampling) -> str:
        right, reading = is_divergence(look.agreement), sampled_reading(look)
        if look.order != SAMPLING_ORDERS[0]:
            agrees = abs(look.mean_factor / look.agreement.first - 1) < 0.02 if right else False
            return "order" if agrees else ""
        if not right:
            return "deviation" if reading is not None and wrong_use(reading) else ""
        return "noise" if look.noise is not None and self._is_uniform(look.noise) else ""

    def _is_uniform(self, noise: NoiseLook) -> bool:
        inside = noise.low >= 0.0 and noise.high <= 1.0 and noise.count >= self.fewest_numbers
        return inside and abs(noise.mean - 0.5) < 0.15 and abs(noise.deviation - 0.289) < 0.08

    def _judge(self, fault: str, looks: list[LatentSampling], state: RunState) -> Finding:
        first, last = looks[0], looks[-1]
        say = {"order": _other_order, "noise": _uniform, "deviation": _deviation}[fault]
        message, why, fix, where, edit, evidence = say(first)
        return self.finding(
            severity="error",
            confidence=0.99 if len(looks) >= self.looks_needed else 0.95,  # the numbers are exact
            message=message,
            why=why,
            fix=fix,
            where=where,
            steps=(first.step, max(last.step, state.step)),
            evidence={"fault": fault, "weight_of_the_divergence": look_weight(first), **evidence},
            edit=edit,
        )


Said = tuple[str, str, str, Place, Edit | None, dict[str, float | str]]


def look_weight(look: LatentSampling) -> float:
    reading = right_reading(look)
    return reading.fit.first if reading is not None else look.agreement.first


def _deviation(look: LatentSampling) -> Said:
    reading = sampled_reading(look)
    use = wrong_use(reading) if reading is not None else None
    assert reading is not None and use is not None
    numbers: dict[str, float | str] = {
        "taken_for": reading.form, "used_as": use, "sampled_deviation": look.size,
        "assumed_deviation": reading.size, "misfit": reading.fit.misfit,
    }  # fmt: skip
    if _divergence_is_wrong(reading, use, look.written.deviation):
        return _wrong_divergence(look, reading, use, numbers)
    change, edit = sampled_right(look.written, reading, use)
    where = look.written.deviation_place or look.written.place
    meant = FORMULAS[RIGHT_USE[reading.form]].format(reading.form)
    message = (
        f"{_noise_of(look)} is multiplied with {_called(reading, use)}{at_line(where)}, where the KL term assumes "
        f"{meant}: {look.size:.3g} in place of {reading.size:.3g} on average."
    )
    why = (
        "The KL term pulls one distribution towards the prior, and the decoder learns from samples of another. "
        "So what is drawn from the prior later is nothing that the decoder has seen."
    )
    fix = f"Multiply the noise with the standard deviation, `{change or _STANDARD[reading.form]}`."
    return message, why, fix, where, edit, numbers


def _divergence_is_wrong(reading: DivergenceReading, use: str, written: str) -> bool:
    """Where what multiplies the noise can be nothing but a deviation."""
    if reading.form not in ("log-variance", "log-deviation"):
        return False
    named = _NAMED_DEVIATION.search(written.lower()) is not None and "var" not in written.lower()
    return use in ("softplus", "sigmoid") or (use == "as it is" and (reading.positive)) or (use == "exp" and named)


def _called(reading: DivergenceReading, use: str) -> str:
    """the log-variance itself; exp(<log-variance>), which is the variance"""
    if use == "as it is":
        return f"the {reading.form} itself"
    also = {("log-variance", "exp"): "the variance"}.get((reading.form, use))
    formula = FORMULAS[use].format(reading.form)
    return f"{also}, {formula}," if also else formula


def _noise_of(look: LatentSampling) -> str:
    if not look.source:
        return "The noise of the latent variables"
    return f"The noise that is added to the mean, which `{look.source}` makes,"


def _wrong_divergence(
    look: LatentSampling, reading: DivergenceReading, use: str, numbers: dict[str, float | str]
) -> Said:
    where = look.divergence or look.written.place
    given = {"as it is": "the standard deviation", "exp": "the logarithm of the standard deviation"}
    taken = given.get(use, f"what the layer gives, and {use} makes the standard deviation of,")
    message = (
        f"The KL term{at_line(where)} takes {taken} for the {reading.form}: it assumes a deviation of "
        f"{reading.size:.3g} on average, and samples have {look.size:.3g}."
    )
    why = (
        "The KL term must be that of the distribution that is sampled. As it is, its lowest value lies at "
        "another deviation than the prior's 1."
    )
    fix = (
        "Give the KL term the logarithm of the variance that is sampled, `2 * torch.log(std)`: "
        "`-0.5 * (1 + 2 * torch.log(std) - mean**2 - std**2)`."
    )
    return message, why, fix, where, None, numbers


def _uniform(look: LatentSampling) -> Said:
    noise, written = look.noise, look.written
    assert noise is not None
    place = written.noise_place or written.place
    name = written.noise or "the noise"
    message = (
        f"The noise of the latent variables{at_line(place)} is uniform between 0 and 1: its mean is "
        f"{noise.mean:.3g} and its deviation {noise.deviation:.3g}, but the KL term is that of a normal "
        "distribution, whose noise has 0 and 1."
    )
    why = (
        "rand() and rand_like() draw from 0 to 1; randn() and randn_like() draw normal numbers. Samples never "
        "lie below the mean here, so the decoder does not know half of the space that the prior draws from."
    )
    right = re.sub(r"rand(?!n)", "randn", name)
    fix = f"Draw it with `{right}`." if right != name else "Draw it with `torch.randn_like(std)`."
    edit = replace_in_line(place, f"{name}(", f"{right}(") if right != name else None
    numbers: dict[str, float | str] = {
        "mean": noise.mean, "deviation": noise.deviation, "lowest": noise.low, "highest": noise.high,
    }  # fmt: skip
    return message, why, fix, place, edit, numbers


def _other_order(look: LatentSampling) -> Said:
    written = look.written
    place = written.place
    mean, deviation, noise = written.parts or ("mean", "std", "epsilon")
    message = (
        f"The latent variables{at_line(place)} are {look.order}; the KL term is that of {SAMPLING_ORDERS[0]}, "
        f"with a deviation of {look.size:.3g}."
    )
    of_noise = (
        "Noise that is added as it is has a deviation of 1, whatever the encoder says, and the mean is scaled."
        if look.order == SAMPLING_ORDERS[1]
        else "The mean scales the noise here, and the deviation is where the samples lie around."
    )
    why = f"{of_noise} The decoder learns from samples of another distribution than the one that the KL term is of."
    right = f"{mean} + {deviation} * {noise}"
    edit = edit_line(place, f"{written.around[0]}{right}{written.around[1]}") if len(written.around) == 2 else None
    numbers: dict[str, float | str] = {"deviation": look.size}
    return message, why, f"Write `{right}`.", place, edit, numbers
