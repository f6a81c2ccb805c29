"""TD583: a KL term that is written with a wrong sign, or without one of its parts."""

from __future__ import annotations

import math
from collections.abc import Iterable

from torch_debugger.checks.base import Check
from torch_debugger.checks.latent_forms import LARGEST_MISFIT, right_reading
from torch_debugger.checks.schedules import at_line
from torch_debugger.checks.state import RunState
from torch_debugger.records import SAMPLING_ORDERS, Finding, LatentSampling, Record

_FAULTS = {
    "no logarithm": (
        "has no logarithm of the variance: it is lowest where the deviation is 0",
        "Add it: the model drives the noise to 0 and becomes an autoencoder without a prior.",
    ),
    "no variance": (
        "has no variance: it falls without end as the deviation grows",
        "Add it: only the reconstruction keeps the noise from growing.",
    ),
    "sign of the logarithm": (
        "has the logarithm of the variance with a plus: it falls without end as the deviation goes to 0",
        "Turn the sign of the logarithm: it keeps the deviation away from 0.",
    ),
    "sign of the variance": (
        "has the variance with a minus: it falls without end as the deviation grows",
        "Turn the sign of the variance: it keeps the deviation from growing.",
    ),
    "sign of the mean": (
        "has the squared mean with a minus: it falls without end as the means move away from 0",
        "Turn the sign of the squared mean: it keeps the means near 0.",
    ),
}


class WrongKlTerm(Check):
    """The KL term of a variational autoencoder is written with a wrong sign, or a part of it is missing.

    Symptom:
        The loss falls steadily or goes below zero, the latent variables grow or lose their noise, and samples
        from the prior look like nothing.
    Evidence:
        The gradient of the KL term by mean and deviation, read from the autograd graph. That of a divergence
        to the standard normal is (weight * mean, weight * (deviation - 1 / deviation)); here one of the three
        parts has the other sign or is missing, and the others have one and the same weight.
    Fix:
        -0.5 * torch.sum(1 + log_var - mean.pow(2) - log_var.exp())
    Known limits:
        For normal posteriors with a diagonal covariance and a term in closed form. Where all signs are turned,
        it is `loss-sign`. A mean that the term leaves out is not told: that may be on purpose.
    """

    id = "TD583"
    name = "wrong-kl-term"
    title = "the KL term of a VAE has a wrong sign or lacks a part"
    reads = (LatentSampling,)
    explains = ("posterior-collapse", "loss-not-finite", "overflow-ahead", "exploding-gradient", "lr-too-high")

    looks_needed = 2
    # Between the weights of the parts, as a share.
    largest_difference = 0.01

    def __init__(self) -> None:
        self._looks: dict[str, list[LatentSampling]] = {}

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        if isinstance(record, LatentSampling) and (fault := self._fault(record)):
            looks = self._looks.setdefault(fault, [])
            looks.append(record)
            if len(looks) >= self.looks_needed:
                yield self._judge(fault, looks, state)

    def finish(self, state: RunState) -> Iterable[Finding]:
        return [self._judge(fault, looks, state) for fault, looks in self._looks.items()]

    def _fault(self, look: LatentSampling) -> str:
        first, second, mean = look.agreement.first, look.agreement.second, look.mean_factor
        if (
            look.order != SAMPLING_ORDERS[0]
            or look.agreement.misfit > LARGEST_MISFIT / 10
            or not math.isfinite(first + second + mean)
        ):
            return ""
        weight = max(abs(first), abs(second))
        signs = tuple(
            0 if abs(part) < self.largest_difference * weight else part for part in (first, -second, mean)
        )
        sizes = [abs(part) for part in signs if part]
        if not weight or max(sizes) - min(sizes) > self.largest_difference * weight:
            return ""
        known: dict[tuple[int, ...], str] = {
            (1, 0, 1): "no logarithm", (0, 1, 1): "no variance", (1, -1, 1): "sign of the logarithm",
            (-1, 1, 1): "sign of the variance", (1, 1, -1): "sign of the mean",
        }  # fmt: skip
        fault = known.get(tuple(int(math.copysign(1, part)) if part else 0 for part in signs), "")
        # What is sampled may be wrong instead: a tensor that the divergence takes for something else.
        return fault if fault == "sign of the mean" or right_reading(look) is None else ""

    def _judge(self, fault: str, looks: list[LatentSampling], state: RunState) -> Finding:
        last, (what, fix) = looks[-1], _FAULTS[fault]
        where = last.divergence or last.written.place
        return self.finding(
            severity="error" if fault.startswith("sign") else "warning",
            confidence=0.94 if fault.startswith("sign") else 0.85,
            message=(
                f"The KL term{at_line(where)} {what}. Its gradient by the deviation is "
                f"{last.agreement.first:.3g} * deviation {_signed(last.agreement.second)} / deviation, and "
                f"{last.mean_factor:.3g} * mean by the mean."
            ),
            why=(
                "The divergence of a normal distribution from the standard normal is 0.5 * (mean**2 + variance "
                "- log(variance) - 1); each part holds another one back."
            ),
            fix=f"{fix} `-0.5 * torch.sum(1 + log_var - mean.pow(2) - log_var.exp())`.",
            where=where,
            first_step=looks[0].step,
            last_step=max(last.step, state.step),
            evidence={
                "fault": fault,
                "by_deviation": last.agreement.first,
                "by_inverse_deviation": last.agreement.second,
                "by_mean": last.mean_factor,
                "misfit": last.agreement.misfit,
            },
        )


def _signed(number: float) -> str:
    return f"{'-' if number < 0 else '+'} {abs(number):.3g}"
