"""Latent variables that are not sampled from the distribution that the KL term is of."""

from __future__ import annotations

import re

from torch_debugger.checks.base import RunState, at_line
from torch_debugger.checks.call_edits import edit_line, replace_in_line
from torch_debugger.checks.models import (
    FORMULAS,
    RIGHT_USE,
    SamplingCheck,
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
    Place,
)

_STANDARD = {
    "log-variance": "torch.exp(0.5 * log_var)",
    "log-deviation": "torch.exp(log_std)",
    "deviation": "std",
    "variance": "torch.sqrt(var)",
}
_LATENT_NOISE = "The noise of the latent variables"
_NAMED_DEVIATION = re.compile(r"std|sigma|stdev|deviation|scale")


class WrongReparameterization(SamplingCheck):
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
    explains = ("posterior-collapse", "loss-not-finite", "overflow-ahead", "exploding-gradient")

    # Of torch.rand: mean 0.5 and deviation 0.289. A normal sample of 64 without a number below 0: never.
    fewest_numbers = 64

    def fault_in(self, look: LatentSampling) -> tuple[str, ...]:
        right, reading, noise = is_divergence(look.agreement), sampled_reading(look), look.noise
        if look.order != SAMPLING_ORDERS[0]:
            fault = "order" if right and abs(look.mean_factor / look.agreement.first - 1) < 0.02 else ""
        elif not right:
            fault = "deviation" if reading is not None and wrong_use(reading) else ""
        else:
            inside = noise and noise.low >= 0.0 and noise.high <= 1.0 and noise.count >= self.fewest_numbers
            uniform = noise and inside and abs(noise.mean - 0.5) < 0.15 and abs(noise.deviation - 0.289) < 0.08
            fault = "noise" if uniform else ""
        return (fault, look.source) if fault else ()

    def judge(self, fault: str, looks: list[LatentSampling], state: RunState) -> Finding:
        first, last = looks[0], looks[-1]
        explain = {"order": _other_order, "noise": _uniform, "deviation": _deviation}[fault]
        message, why, fix, where, edit, evidence = explain(first)
        reading = right_reading(first)
        weight = reading.fit.first if reading is not None else first.agreement.first
        return self.finding(
            severity="error",
            confidence=0.99 if len(looks) >= self.looks_needed else 0.95,  # the numbers are exact
            message=message,
            why=why,
            fix=fix,
            where=where,
            steps=(first.step, max(last.step, state.step)),
            evidence={"fault": fault, "weight_of_the_divergence": weight, **evidence},
            edit=edit,
        )


_Explained = tuple[str, str, str, Place, Edit | None, dict[str, float | str]]  # message, why, fix, ...


def _deviation(look: LatentSampling) -> _Explained:
    reading = sampled_reading(look)
    use = wrong_use(reading) if reading is not None else None
    assert reading is not None and use is not None
    numbers: dict[str, float | str] = {
        "taken_for": reading.form, "used_as": use, "sampled_deviation": look.size,
        "assumed_deviation": reading.size, "misfit": reading.fit.misfit,
    }  # fmt: skip
    if reading.form in ("log-variance", "log-deviation"):
        # Where what multiplies the noise can be nothing but a deviation, it is the KL term that is wrong.
        written = look.written.deviation.lower()
        named = _NAMED_DEVIATION.search(written) is not None and "var" not in written
        if use in ("softplus", "sigmoid") or (use == "as it is" and reading.positive) or (use == "exp" and named):
            return _wrong_divergence(look, reading, use, numbers)
    change, edit = sampled_right(look.written, reading, use)
    where = look.written.deviation_place or look.written.place
    meant = FORMULAS[RIGHT_USE[reading.form]].format(reading.form)
    source = look.source
    noise = f"The noise that is added to the mean, which `{source}` makes," if source else _LATENT_NOISE
    used = f"the {reading.form} itself" if use == "as it is" else FORMULAS[use].format(reading.form)
    if (reading.form, use) == ("log-variance", "exp"):
        used = f"the variance, {used},"
    message = (
        f"{noise} is multiplied with {used}{at_line(where)}, where the KL term assumes "
        f"{meant}: {look.size:.3g} in place of {reading.size:.3g} on average."
    )
    why = (
        "The KL term pulls one distribution towards the prior, and the decoder learns from samples of another. "
        "So what is drawn from the prior later is nothing that the decoder has seen."
    )
    fix = f"Multiply the noise with the standard deviation, `{change or _STANDARD[reading.form]}`."
    return message, why, fix, where, edit, numbers


def _wrong_divergence(
    look: LatentSampling, reading: DivergenceReading, use: str, numbers: dict[str, float | str]
) -> _Explained:
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


def _uniform(look: LatentSampling) -> _Explained:
    noise, written = look.noise, look.written
    assert noise is not None
    place = written.noise_place or written.place
    name = written.noise or "the noise"
    message = (
        f"{_LATENT_NOISE}{at_line(place)} is uniform between 0 and 1: its mean is {noise.mean:.3g} and its deviation "
        f"{noise.deviation:.3g}, but the KL term is that of a normal distribution, whose noise has 0 and 1."
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


def _other_order(look: LatentSampling) -> _Explained:
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
    return message, why, f"Write `{right}`.", place, edit, {"deviation": look.size}
